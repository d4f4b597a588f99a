"""What the guard itself costs: a call that is counted, one of 128 that is timed, and a new trace while traces are shed.

    otel-fastpath budget check --file benchmarks/budgets.toml --only 'guard*'

Without a limit, none of this code runs.
"""

from __future__ import annotations

from typing import Any

import bench_span

# So many calls are counted and none of them is timed.
_NEVER = 1 << 40


class Given:
    """The objects that the callables of this file use.

    Args:
        core: "c" or "py".
    """

    def __init__(self, core: str) -> None:
        from opentelemetry.sdk.trace.sampling import DEFAULT_ON  # noqa: PLC0415  # only where it is measured

        from otel_fastpath.guard import hooks, layer, sampler, thresholds  # noqa: PLC0415  # likewise
        from otel_fastpath.guard.shed import Shed  # noqa: PLC0415  # likewise

        bench_span.instrument(core)
        self.plain = _hook
        self.counted, _ = layer.lay(_hook, lambda _args, _kwargs: None, _NEVER)
        self.hook = hooks.Hook(_hook, print)
        self.time = hooks._time_call
        kept, dropped = Shed(), Shed()
        kept.threshold, dropped.threshold = 1, thresholds.MOST - 1
        whole = bench_span.batching(sampler.before(DEFAULT_ON, kept, sheds_messages=False, sheds_traces=True))
        shed = bench_span.batching(sampler.before(DEFAULT_ON, dropped, sheds_messages=False, sheds_traces=True))
        self.tracer = bench_span.batching().get_tracer("bench")
        self.keeping, self.shedding = whole.get_tracer("bench"), shed.get_tracer("bench")


def _hook(one: Any, *, two: Any) -> Any:
    return one or two


def compiled() -> Given:
    """With the compiled core."""
    return Given("c")


def pure() -> Given:
    """With the pure core."""
    return Given("py")


def plain(given: Given) -> None:
    """A hook without a layer."""
    given.plain(1, two=2)


def counted(given: Given) -> None:
    """The same hook, counted."""
    given.counted(1, two=2)


def timed(given: Given) -> None:
    """The same hook, timed: one call of 64."""
    given.time(given.plain, given.hook, (1,), {"two": 2})


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
