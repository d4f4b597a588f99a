"""What the guard itself costs: calls that are counted, one of 1024 that is timed, and new traces while they are shed.

    otel-fastpath budget check --file benchmarks/budgets.toml --only 'guard*'

Without a limit, none of this code runs. tests/shedding/test_cost.py adds the counts up to the guard's share of
telemetry.
"""

from __future__ import annotations

from typing import Any

import bench_http_asgi
import bench_span
import setups

# So many calls are counted and none of them is timed.
_NEVER = 1 << 40


class Given:
    """The objects that the callables of this file use.

    Args:
        core: "c" or "py".
    """

    def __init__(self, core: str) -> None:
        from opentelemetry.sdk.trace import Tracer  # noqa: PLC0415  # only where it is measured
        from opentelemetry.sdk.trace.sampling import DEFAULT_ON  # noqa: PLC0415  # likewise

        from otel_fastpath.shedding import droppers, thresholds, timed_hooks  # noqa: PLC0415  # likewise
        from otel_fastpath.shedding.shed import Shed  # noqa: PLC0415  # likewise

        setups.instrument(core)
        kept, dropped = Shed(), Shed()
        kept.threshold, dropped.threshold = 1, thresholds.MOST - 1
        whole = bench_span.batching(droppers.before(DEFAULT_ON, kept, sheds_messages=False, sheds_traces=True))
        shed = bench_span.batching(droppers.before(DEFAULT_ON, dropped, sheds_messages=False, sheds_traces=True))
        self.tracer = bench_span.batching().get_tracer("bench")
        self.keeping, self.shedding = whole.get_tracer("bench"), shed.get_tracer("bench")
        # The same tracer, with and without a layer: the core asks for the very class, so it is not a subclass.
        span = Tracer.start_as_current_span
        Tracer.counted = _layer(span, timed_hooks._time_manager, _NEVER)  # type: ignore[attr-defined]
        Tracer.timed = _layer(span, timed_hooks._time_manager, 0)  # type: ignore[attr-defined]
        self.plain_request = _middleware()
        request = type(self.plain_request).__call__
        self.counted_request = _middleware(_layer(request, timed_hooks._time_asgi, _NEVER))
        self.timed_request = _middleware(_layer(request, timed_hooks._time_asgi, 0))


def _layer(function: Any, time: Any, left: int) -> Any:
    """The layer of the guard over a hook; each call is timed if none is `left`."""
    from otel_fastpath.shedding import layer, timed_hooks  # noqa: PLC0415  # only where it is measured

    hook = timed_hooks.CountedHook(function, lambda hook, args, kwargs: time(function, hook, args, kwargs))

    def timed(args: Any, kwargs: Any) -> Any:
        try:
            return hook._time_this(args, kwargs)
        finally:
            counter.left = left

    made, counter = layer.lay(function, timed, left)
    return made


def _middleware(call: Any = None) -> Any:
    from opentelemetry.instrumentation.asgi import OpenTelemetryMiddleware  # noqa: PLC0415  # only where it is measured

    kind = OpenTelemetryMiddleware
    if call is not None:
        kind = type("Guarded", (kind,), {"__call__": call})
    return kind(bench_http_asgi.APPLICATION, **bench_http_asgi.providers(sampled=True))


def compiled() -> Given:
    """With the compiled core."""
    return Given("c")


def pure() -> Given:
    """With the pure core."""
    return Given("py")


def span(given: Given) -> None:
    """A span."""
    with given.tracer.start_as_current_span("span"):
        pass


def counted_span(given: Given) -> None:
    """The same, counted."""
    with given.tracer.counted("span"):  # type: ignore[attr-defined]  # see above
        pass


def timed_span(given: Given) -> None:
    """The same, timed."""
    with given.tracer.timed("span"):  # type: ignore[attr-defined]  # see above
        pass


def request(given: Given) -> None:
    """A request of an ASGI application with stock's middleware."""
    bench_http_asgi.serve(given.plain_request)


def counted_request(given: Given) -> None:
    """The same, counted."""
    bench_http_asgi.serve(given.counted_request)


def timed_request(given: Given) -> None:
    """The same, timed."""
    bench_http_asgi.serve(given.timed_request)


def root(given: Given) -> None:
    """A root span while nothing is shed: the user's sampler is in place."""
    given.tracer.start_span("span").end()


def kept(given: Given) -> None:
    """A root span that is kept while traces are shed."""
    given.keeping.start_span("span").end()


def nothing(_given: Given) -> None:
    """No span."""


def shed(given: Given) -> None:
    """A root span that is shed."""
    given.shedding.start_span("span").end()
