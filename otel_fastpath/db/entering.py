"""Begins the query of a method that executes one: the shortest path, taken by most calls. Compiled as `entering_c`."""

from __future__ import annotations

from types import CoroutineType
from typing import Any

from otel_fastpath.compiled.helpers import drop_finalizer, get_item
from otel_fastpath.db.conventions import plain
from otel_fastpath.db.queries import parameters as query_parameters
from otel_fastpath.patching import faults
from otel_fastpath.patching.outcome import call_guarded, call_guarded_during
from otel_fastpath.wrapping.call_span import ConnectionPlan, is_suppressed, new_query, open_query
from otel_fastpath.wrapping.starting import drops, metered

# The first of a method's arguments: the connection or cursor, and the text.
_BEFORE_PARAMETERS = 2


def _leave_more(call: Any) -> bool:
    """Leave more to do to the wrapper than to call the method: what `enter` returns then."""
    call.has_more = True
    return False


class QueryMaker:
    """Makes the queries of a set-up, unless telemetry is suppressed, or the sampler drops one query after another.

    Args:
        active: The set-up.
        place: The name of a call of the library for `faults.report`.

    Attributes:
        is_dropping: Whether the last query was dropped: then the next one is only made if it would not be.
    """

    __slots__ = ("_durations", "_has_meter", "_place", "_replacements", "_tracer", "is_dropping")

    def __init__(self, active: Any, place: Any) -> None:
        self._durations, self._has_meter = active.durations, active.telemetry.has_meter
        self._place = place
        self.is_dropping = False
        self._replacements = active.replacements
        self._tracer = active.telemetry.tracer

    def new(self) -> Any:
        """Make a query that has not begun, see `call_span.new_query`; None: none is to begin.

        Its `has_more` says that one of stock's functions is replaced, so that stock's code is to run.
        """
        try:
            has_more = self._replacements.exist()
            if not has_more:
                if is_suppressed():
                    return None
                if self.is_dropping:
                    if metered(self._has_meter, self._durations) is None and drops(self._tracer):
                        return None
                    self.is_dropping = False
        except Exception as fault:
            faults.absorb_any(self._place, fault)
            return None
        call = new_query()
        call.has_more = has_more
        return call


class Connections:
    """Begins the queries of the methods of connections to which parameters are passed one by one.

    Args:
        active: The set-up: connection plans for another are made again.
        database: The library's `Database`, which makes connection plans.
        keeper: The attribute of a connection with the object that stores its `ConnectionPlan`; None: itself.
        name: The attribute with the `ConnectionPlan`; without one, it is missing or has a value of another type.
        kind: How the rows of the result are counted.
    """

    __slots__ = ("_active", "_database", "_is_curious", "_keeper", "_kind", "_name")

    def __init__(self, active: Any, database: Any, keeper: Any, name: Any, kind: Any) -> None:
        self._active = active
        self._is_curious = active.is_curious
        self._database = database
        self._keeper = keeper
        self._name = name
        self._kind = kind

    def enter(self, call: Any, args: Any, kwargs: Any) -> bool:
        """Begin the query of a method of a connection.

        Args:
            call: The query, which has not begun: what `QueryMaker.new` made.
            args: The method's arguments: the connection, then the text.
            kwargs: The method's keyword arguments; `query` may be the text.

        Returns:
            Whether it has begun, and only the method is left to be called. Otherwise, `call.has_more` says whether
            there is more to do: a query that has begun looks at its arguments, one that has not runs in stock's code.
        """
        has_begun = False
        try:
            if call.has_more:
                return False
            connection = args[0]
            try:
                found = getattr(connection if self._keeper is None else getattr(connection, self._keeper), self._name)
            except AttributeError:
                found = None
            connection_plan = found if type(found) is ConnectionPlan else self._database.new_connection_plan(connection)
            if connection_plan.active is not self._active:
                connection_plan = self._database.new_connection_plan(connection)
            text = args[1] if len(args) > 1 else kwargs.get("query")
            # Only arguments that are passed show that the values are not in the text; the text itself shows nothing.
            has_arguments = len(args) > _BEFORE_PARAMETERS
            if type(text) is not str:
                # A list, for example: the library raises an error.
                text = plain(text)
            found = get_item(connection_plan.queries_with_arguments if has_arguments else connection_plan.queries, text)
            if found is None:
                found = connection_plan.plans.new(text, "", has_arguments)
            has_begun = open_query(call, connection_plan, found, self._kind, None)
            return has_begun and (not self._is_curious or _leave_more(call))
        except Exception as fault:
            faults.absorb_any(self._database.place, fault)
            return has_begun


class Cursors:
    """Begins the queries of the `execute` of cursors, whose parameters are one argument.

    Args:
        active: The set-up: connection plans for another are made again.
        database: The library's `Database`, which makes connection plans.
        connection: The attribute of a cursor with its connection; empty: the method is one of a connection.
        name: The attribute of a connection with its `ConnectionPlan`; without one, it is missing or another value.
        query: The name of the method's parameter that is the query.
        parameters: The name of the one for the query's parameters.
        text_of: Returns the text of a query that is no plain `str`, given it, the connection plan and the connection.
    """

    __slots__ = (*("_active", "_connection", "_database", "_is_curious", "_name", "_parameters", "_query", "_text_of"),)

    def __init__(
        self,
        active: Any,
        database: Any,
        connection: Any,
        name: Any,
        query: Any,
        parameters: Any,
        text_of: Any,
    ) -> None:
        self._active = active
        self._is_curious = active.is_curious
        self._database = database
        self._connection = connection
        self._name = name
        self._query = query
        self._parameters = parameters
        self._text_of = text_of

    def enter(self, call: Any, args: Any, kwargs: Any) -> bool:
        """Begin the query of `execute`, given what `QueryMaker.new` made and its arguments; see `Connections.enter`."""
        has_begun = False
        try:
            if call.has_more:
                return False
            connection = getattr(args[0], self._connection) if self._connection else args[0]
            if connection is None:
                # The cursor is closed: the driver reports it.
                return False
            found = getattr(connection, self._name, None)
            connection_plan = found if type(found) is ConnectionPlan else self._database.new_connection_plan(connection)
            if connection_plan.active is not self._active:
                connection_plan = self._database.new_connection_plan(connection)
            text = args[1] if len(args) > 1 else kwargs.get(self._query)
            parameters = args[2] if len(args) > _BEFORE_PARAMETERS else kwargs.get(self._parameters)
            try:
                # The values of a template string are in it, and are not passed in the text.
                has_arguments = bool(parameters) or (
                    type(text) is not str and bool(getattr(text, "interpolations", None))
                )
            except Exception as error:
                faults.raise_interruption(error)
                # Raised by an object of the application, which the driver may use otherwise.
                has_arguments = True
            if type(text) is not str:
                text = self._text_of(text, connection_plan, connection)
            found = get_item(connection_plan.queries_with_arguments if has_arguments else connection_plan.queries, text)
            if found is None:
                found = connection_plan.plans.new(text, "", has_arguments)
            has_begun = open_query(call, connection_plan, found, 0, None)
            return has_begun and (not self._is_curious or _leave_more(call))
        except Exception as fault:
            faults.absorb_any(self._database.place, fault)
            return has_begun


class Commands:
    """Begins the commands of a library whose commands are the first argument of a method, and have plans by that.

    Args:
        active: The set-up: connection plans for another are made again.
        database: The library's `Database`, which makes connection plans.
        holder_of: Returns the object that stores the `ConnectionPlan`, given the one that has the method.
        name: The attribute with the `ConnectionPlan`.
    """

    __slots__ = ("_active", "_database", "_holder_of", "_name")

    def __init__(self, active: Any, database: Any, holder_of: Any, name: Any) -> None:
        self._active = active
        self._database = database
        self._holder_of = holder_of
        self._name = name

    def enter(self, call: Any, args: Any, kwargs: Any) -> bool:  # noqa: ARG002  # as that of the others
        """Begin the command, given what `QueryMaker.new` made and the method's arguments; see `Connections.enter`."""
        has_begun = False
        try:
            if call.has_more:
                return False
            holder = self._holder_of(args[0])
            found = getattr(holder, self._name, None)
            connection_plan = found if type(found) is ConnectionPlan else self._database.new_connection_plan(holder)
            if connection_plan.active is not self._active:
                connection_plan = self._database.new_connection_plan(holder)
            try:
                found = connection_plan.queries.get((args[1], len(args)))
            except Exception as error:
                faults.raise_interruption(error)
                # The library says itself that this is no command, or the application's own object raises.
                return False
            if found is None:
                found = connection_plan.plans.of_command(args)
            has_begun = open_query(call, connection_plan, found, 0, None)
            # One plan serves all connections of the pool: a command inside of a pipeline is recorded in any case.
            connection_plan.call = None
        except Exception as fault:
            faults.absorb_any(self._database.place, fault)
        return has_begun


class Openings:
    """Begins the queries of methods whose query an opener finds: see `call_wrappers.Opener`.

    Args:
        active: The set-up.
        database: The library's `Database`.
        opener: Returns what a query is begun with, given the method's arguments.
        is_curious: Whether the wrapper looks at the arguments of a query that has begun.
    """

    __slots__ = ("_database", "_is_curious", "_opener", "_replacements")

    def __init__(self, active: Any, database: Any, opener: Any, is_curious: Any) -> None:
        self._database = database
        self._is_curious = is_curious
        self._opener = opener
        self._replacements = active.replacements

    def enter(self, call: Any, args: Any, kwargs: Any) -> bool:
        """Begin a query that `Database.new_query` made; see `Connections.enter`."""
        has_begun = False
        try:
            if self._replacements.exist():
                return _leave_more(call)
            opening = self._opener(args, kwargs)
            if opening is None:
                return False
            connection_plan, plan, start_ns, parameters, size = opening
            if plan is not None:
                has_begun = not is_suppressed() and open_query(call, connection_plan, plan, 0, start_ns)
                if has_begun and call.recording:
                    reads = connection_plan.active.reads_parameters
                    if size is not None or (reads and query_parameters.has_any(parameters)):
                        put = query_parameters.put_parameters
                        call_guarded_during(call, self._database.place, put, call, connection_plan, parameters, size)
                return has_begun and (not self._is_curious or _leave_more(call))
        except Exception as fault:
            faults.absorb_any(self._database.place, fault)
            if has_begun:
                return True
        # It has no plan, or could not be begun because of a fault of ours.
        return bool(call_guarded(self._database.place, self._database.enter_unrecorded, call, args))


class Started:
    """The host's coroutine, which ours awaits. As `trace.context.scope.Scope`, it has no finalizer."""

    __slots__ = ("_coroutine",)

    def __init__(self, coroutine: Any) -> None:
        self._coroutine = coroutine

    def start(self) -> None:
        """Leave the coroutine to ours, which has started."""
        drop_finalizer(self, Started)


class Closing(Started):
    """Closes the host's coroutine when ours, which has this object among its locals, is released.

    If ours never starts, because its task is cancelled before, Python would warn that the host's was never awaited.
    """

    __slots__ = ()

    def __del__(self) -> None:  # noqa: D105  # the class says it
        try:
            coroutine = self._coroutine
        except AttributeError:
            # In plain Python: an interrupt came before it was set.
            return
        # Not anything else that another wrapper may return.
        if type(coroutine) is CoroutineType:
            coroutine.close()
