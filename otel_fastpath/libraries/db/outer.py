"""Queries of a library above a driver: the driver's queries and connects inside of one are part of it, not its own.

The driver's wrapper needs to do nothing for its queries (`call_span.open_query`); where it begins a call otherwise, it
asks `call_span.outer_call`. Compiled as `outer_c`.
"""

from __future__ import annotations

from typing import Any

from otel_fastpath.compiled.helpers import get_item
from otel_fastpath.libraries.call_span import Link, Query, _begin, _metered, is_suppressed, outer_call, watch
from otel_fastpath.libraries.starting import start_if_kept
from otel_fastpath.patching import faults

# The position of SQLAlchemy's execution context among the arguments of its method.
_CONTEXT = 2


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


class Statements:
    """Begins the statements of SQLAlchemy's `Connection._exec_single_context`: the shortest path, taken by most calls.

    Args:
        active: The set-up: links for another are made again.
        database: The library's `Database`, which makes links.
        name: The attribute of an engine with its `Link`.
    """

    __slots__ = ("_active", "_database", "_is_simple", "_name")

    def __init__(self, active: Any, database: Any, name: Any) -> None:
        self._active = active
        self._database = database
        self._is_simple = not active.options.drivers
        self._name = name

    def enter(self, args: Any, kwargs: Any) -> Any:
        """Begin a statement with one set of parameters, given the method's arguments.

        Returns:
            The `Query`; None if it is not instrumented; `NotImplemented` if it is another statement, or the options
            ask for more.
        """
        try:
            if is_suppressed():
                return None
            context = args[_CONTEXT] if len(args) > _CONTEXT else kwargs["context"]
            if context.executemany or not self._is_simple or self._database.is_curious:
                return NotImplemented
            connection = args[0]
            found = getattr(connection.engine, self._name, None)
            link = found if type(found) is Link else self._database.new_link(connection)
            own = link.plans.own
            # A link that was made for a connect lacks what the official instrumentation reads of a connection.
            if link.active is not self._active or (own is not None and not own.is_whole):
                link = self._database.new_link(connection)
            text = context.statement
            has_arguments = bool(context.parameters[0])
            found = get_item(link.queries_with_arguments if has_arguments else link.queries, text)
            if found is None:
                found = link.plans.plan(text, "", has_arguments)
            return open_outer(link, found, None)
        except Exception as fault:
            faults.report(self._database.place, fault)
            return None
