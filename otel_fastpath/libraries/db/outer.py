"""Queries of a library above a driver: the driver's queries and connects inside of one are part of it, not its own.

The driver's wrapper needs to do nothing for its queries (`call_span.open_query`); where it begins a call otherwise, it
asks `call_span.outer_call`. Compiled as `outer_c`.
"""

from __future__ import annotations

from typing import Any

from otel_fastpath.libraries.call_span import Query, _begin, _metered, outer_call, watch
from otel_fastpath.libraries.starting import start_if_kept


def open_outer(link: Any, plan: Any, start_ns: Any) -> Any:
    """Begin a query that is not suppressed.

    Args:
        link: The `Link` of the engine.
        plan: The `Plan` of the text; a quiet one has no telemetry, and neither has the driver for it.
        start_ns: When it began, in nanoseconds since the epoch; None: now.

    Returns:
        The `Query`; None if it is part of another one on the same server, or nothing is recorded.
    """
    around = outer_call()
    if around is not None and around.link.plans.server == link.plans.server:
        return None
    span: Any = None
    series: Any = None
    if not plan.is_quiet:
        series = _metered(link.has_meter, plan.series)
        span = start_if_kept(link.tracer, link.telemetry.kind, plan.name, plan.attributes, start_ns)
        if span is None and series is None:
            return None
    call: Any = Query.__new__(Query)
    call.link = link
    call.plan = plan
    call.kind = 0
    call.is_timed = False
    _begin(call, link.telemetry, span, series, start_ns, True)  # noqa: FBT003  # the hot module takes no keywords
    if (link.slow or link.count is not None) and call.recording:
        watch(call, start_ns)
    return call
