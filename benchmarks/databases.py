"""What the benchmarks of the databases share: one library is instrumented, by us, with traces or also with metrics.

A mode is "ours", with options after a comma: "metrics", "not sampled", "no SDK", and "slow=1m" or "repeats=1000", which
are options of the library.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable


def providers(mode: str) -> dict[str, Any]:
    """The keyword arguments of an instrumentor in this mode."""
    if "no SDK" in mode:
        return {}
    import bench_span  # noqa: PLC0415  # it imports the SDK
    from opentelemetry.sdk.metrics import MeterProvider  # noqa: PLC0415  # likewise
    from opentelemetry.sdk.metrics.export import InMemoryMetricReader  # noqa: PLC0415  # likewise
    from opentelemetry.sdk.trace.sampling import ALWAYS_OFF, ALWAYS_ON, ParentBased  # noqa: PLC0415  # likewise

    provider = bench_span.batching(ParentBased(ALWAYS_OFF if "not sampled" in mode else ALWAYS_ON))
    found: dict[str, Any] = {"tracer_provider": provider}
    if "metrics" in mode:
        found["meter_provider"] = MeterProvider([InMemoryMetricReader()])
    return found


def instrument(library: str, mode: str, core: str | None = None) -> None:
    """Instrument a library with otel-fastpath in this mode.

    Args:
        library: Its name in the settings.
        mode: See above.
        core: "py" or "c"; None: the one that otel-fastpath chooses.

    Raises:
        RuntimeError: The core is not available, so that something else would be measured.
    """
    from otel_fastpath import FastpathInstrumentor, compiled  # noqa: PLC0415  # not where nothing of ours is measured

    options = [part.strip() for part in mode.split(",") if "=" in part]
    if "metrics" not in mode and "no SDK" not in mode:
        options.append("no-metrics")
    settings: dict[str, Any] = {library: "on", f"{library}_options": options}
    FastpathInstrumentor().instrument(core=core, **settings, **providers(mode))
    if core and compiled.implementation()[0] != core:
        raise RuntimeError(f"the {core!r} core is not there: {compiled.implementation()[1]}")


def set_ups(given: Callable[[str, str], Any]) -> tuple[partial[Any], ...]:
    """The set-ups of a benchmark: compiled, pure, and compiled with metrics, not sampled, and without an SDK.

    Args:
        given: Makes what the callables use; called with a mode and a core.
    """
    modes = (("ours", "c"), ("ours", "py"), ("ours, metrics", "c"), ("ours, not sampled", "c"), ("ours, no SDK", "c"))
    return tuple(partial(given, *mode) for mode in modes)
