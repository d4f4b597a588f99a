"""Queries of a library above a driver: the driver's queries and connects inside of one are part of it, not its own.

The driver's wrapper needs to do nothing for its queries (`call_span.open_query`); where it begins a call otherwise, it
asks `call_span.outer_call`. Compiled as `outer_c`.
"""

from __future__ import annotations

from typing import Any

from otel_fastpath.compiled.helpers import get_item
from otel_fastpath.db.conventions import plain
from otel_fastpath.patching import faults
from otel_fastpath.wrapping.call_span import ConnectionPlan, _begin, outer_call, watch
from otel_fastpath.wrapping.starting import metered, start_if_kept

# The position of SQLAlchemy's execution context among the arguments of its method.
_CONTEXT = 2


def open_outer(call: Any, connection_plan: Any, plan: Any, start_ns: Any) -> bool:
    """Begin a query that is not suppressed.

    Args:
        call: What `new_query` made.
        connection_plan: The `ConnectionPlan` of the engine.
        plan: The `Plan` of the text; a quiet one has no telemetry, and neither has the driver for it.
        start_ns: When it began, in nanoseconds since the epoch; None: now.

    Returns:
        Whether it has begun; False if it is part of another one on the same server, or nothing is recorded.
    """
    around = outer_call()
    if around is not None and around.connection_plan.plans.server == connection_plan.plans.server:
        return False
    span: Any = None
    series: Any = None
    call.connection_plan = connection_plan
    call.plan = plan
    call.kind = 0
    call._telemetry = connection_plan.telemetry
    if not plan.is_quiet:
        series = metered(connection_plan.has_meter, plan.series)
        # As in `call_span.begin_call`.
        call._is_ours = True
        kind = connection_plan.telemetry.kind
        call.span = span = start_if_kept(connection_plan.tracer, kind, plan.name, plan.attributes, start_ns)
        if span is None:
            call._is_ours = False
            if series is None:
                call._telemetry = None
                return False
    _begin(call, span, series, start_ns, True)  # noqa: FBT003  # the hot module takes no keywords
    if (connection_plan.slow or connection_plan.count is not None) and call.recording:
        watch(call, start_ns)
    return True


def connection_plan_of(active: Any, database: Any, name: Any, connection: Any) -> Any:
    """The connection plan of a connection's engine."""
    found = getattr(connection.engine, name, None)
    connection_plan = found if type(found) is ConnectionPlan else database.new_connection_plan(connection)
    own = connection_plan.plans.own
    # A connection plan that was made for a connect lacks what the stock instrumentation reads of a connection.
    if connection_plan.active is not active or (own is not None and not own.is_whole):
        connection_plan = database.new_connection_plan(connection)
    return connection_plan


class Statements:
    """Begins the statements of SQLAlchemy's `Connection._exec_single_context`: the shortest path, taken by most calls.

    Args:
        active: The set-up: connection plans for another are made again.
        database: The library's `Database`, which makes connection plans.
        name: The attribute of an engine with its `ConnectionPlan`.
        others: Begins the other statements, and all of them if the options ask for more; it must not raise.
    """

    __slots__ = ("_active", "_database", "_is_simple", "_name", "_others")

    def __init__(self, active: Any, database: Any, name: Any, others: Any) -> None:
        self._active = active
        self._database = database
        self._is_simple = not active.options.drivers
        self._name = name
        self._others = others

    def enter(self, call: Any, args: Any, kwargs: Any) -> bool:
        """Begin a statement, given what `try_new_query` made and the arguments; returns whether it has begun."""
        try:
            if call.has_more:
                return False
            context = args[_CONTEXT] if len(args) > _CONTEXT else kwargs["context"]
            if context.executemany or not self._is_simple or self._database.is_curious:
                return bool(self._others(call, args, kwargs))
            connection_plan = connection_plan_of(self._active, self._database, self._name, args[0])
            text = context.statement
            if type(text) is not str:
                # The driver raises an error.
                text = plain(text)
            has_arguments = bool(context.parameters[0])
            found = get_item(connection_plan.queries_with_arguments if has_arguments else connection_plan.queries, text)
            if found is None:
                found = connection_plan.plans.new(text, "", has_arguments)
            return open_outer(call, connection_plan, found, None)
        except Exception as fault:
            faults.absorb_any(self._database.place, fault)
            return False


class Transactions:
    """Begins the commits or the rollbacks of SQLAlchemy's `Connection`.

    Args:
        active: The set-up: connection plans for another are made again.
        database: The library's `Database`, which makes connection plans.
        name: The attribute of an engine with its `ConnectionPlan`.
        command: "COMMIT" or "ROLLBACK".
        is_recorded_by_driver: Whether the driver's wrapper records what the connection given does; None: it never does.
    """

    __slots__ = ("_active", "_attributes", "_command", "_database", "_is_recorded_by_driver", "_is_unrecorded", "_name")

    def __init__(self, active: Any, database: Any, name: Any, command: Any, is_recorded_by_driver: Any) -> None:
        self._active = active
        self._attributes = {"db.operation.name": command}
        self._command = command
        self._database = database
        self._is_recorded_by_driver = is_recorded_by_driver
        self._is_unrecorded = active.is_same or not active.options.transactions
        self._name = name

    def enter(self, call: Any, args: Any, _kwargs: Any) -> bool:
        """Begin the end of a transaction, as `Statements.enter`."""
        try:
            connection = args[0]
            if self._is_recorded_by_driver is not None and self._is_recorded_by_driver(connection):
                return False
            # Of a connection that is lost, nothing is sent.
            if self._command == "ROLLBACK" and not connection._still_open_and_dbapi_connection_is_valid:
                return False
            connection_plan = connection_plan_of(self._active, self._database, self._name, connection)
            level = connection._execution_options.get("isolation_level")
            if level is None:
                level = connection.dialect._on_connect_isolation_level
            if self._is_unrecorded or level == "AUTOCOMMIT":
                # No query is sent or recorded here, so the driver must not create a span either.
                plan = connection_plan.plans.quiet
            else:
                plan = get_item(connection_plan.plans.ends, self._command)
                if plan is None:
                    plan = connection_plan.plans.special(self._command, self._attributes)
                    connection_plan.plans.ends[self._command] = plan
            return open_outer(call, connection_plan, plan, None)
        except Exception as fault:
            faults.absorb_any(self._database.place, fault)
            return False
