"""Wrappers of the methods of a session and a cluster: the shortest path, taken by each request."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any, Final

from otel_fastpath.compiled import hot
from otel_fastpath.db import call_wrappers
from otel_fastpath.db.cassandra import statements
from otel_fastpath.db.cassandra.query_plans import CASSANDRA, DATABASE, address_of, own_of
from otel_fastpath.db.cassandra.stock_telemetry import StockConventions
from otel_fastpath.db.conventions import PREPARE
from otel_fastpath.db.queries import parameters as query_parameters
from otel_fastpath.db.server_attributes import Server
from otel_fastpath.db.steps import around_steps
from otel_fastpath.patching.outcome import call_guarded_during, never_raises
from otel_fastpath.wrapping import call as skeleton

if TYPE_CHECKING:
    from otel_fastpath.db.call_wrappers import Opening

CONNECT: Final = "CONNECT"
_CONNECTING: Final = "the connect of cassandra"
_ATTRIBUTES: Final = {"db.operation.name": CONNECT}


def make_execute(original: Any) -> Any:
    """Wrap the method that submits a request."""
    statements.readers()
    return _around_submission(DATABASE.entrance("request", lambda _: hot.db_cassandra_requests.enter), original)


def make_page(original: Any) -> Any:
    """Wrap the method of a future that asks for the next page."""
    entrance = DATABASE.entrance("page", lambda _: hot.db_cassandra_requests.enter_page)
    return _around_submission(entrance, original, is_page=True)


def _around_submission(entrance: Any, original: Any, *, is_page: bool = False) -> Any:
    after_submit = hot.db_cassandra_requests.after_submit

    @functools.wraps(original)
    def method(*args: Any, **kwargs: Any) -> Any:
        call = entrance.new()
        if call is None:
            return original(*args, **kwargs)
        try:
            if not entrance.enter(call, args, kwargs):
                return original(*args, **kwargs)
            if DATABASE.is_curious and call.recording and not is_page:
                call_guarded_during(call, DATABASE.place, _look, call, args, kwargs)
            result = original(*args, **kwargs)
        except BaseException as error:
            try:
                call.end_failed(error)
            finally:
                # See `wrapping.call`: the first may have been interrupted.
                call.end_failed(error)
            raise
        after_submit(call, args[0] if is_page else result)
        return result

    return method


def _look(call: Any, args: Any, kwargs: Any) -> None:
    """Add what the options ask for, or what the stock instrumentation was asked for."""
    active = call.connection_plan.active
    convention = call.connection_plan.plans.convention
    if isinstance(convention, StockConventions):
        if convention.captures:
            call.span.set_attributes(convention.of_text(str(statements.statement_of(args, kwargs))))
        if call.is_timed:
            call.parameters = statements.parameters_of(args, kwargs)
        return
    parameters = statements.parameters_of(args, kwargs)
    if active.reads_parameters and isinstance(parameters, (list, tuple, dict)):
        query_parameters.put_parameters(call, call.connection_plan, parameters, None)


def make_prepare(original: Any) -> Any:
    """Wrap the method that prepares a statement."""
    return call_wrappers.around_sync(DATABASE, _of_preparation, call_wrappers.no_rows, original)


def _of_preparation(args: Any, kwargs: Any) -> Opening:
    connection_plan = DATABASE.connection_plan(args[0])
    return (
        connection_plan,
        connection_plan.plans.plan(statements.statement_of(args, kwargs), PREPARE, has_arguments=True),
        None,
        None,
        None,
    )


def make_connect(original: Any) -> Any:
    """Wrap the method of a cluster that makes a session."""
    return around_steps(_connect, _after_connect, _not_connected, original)


@never_raises(_CONNECTING)
def _connect(begun: list[Any], args: Any, kwargs: Any) -> None:
    active = DATABASE.active
    if active is None:
        return
    keyspace = args[1] if len(args) > 1 else kwargs.get("keyspace")
    server = Server(CASSANDRA, address_of(args[0]), keyspace if isinstance(keyspace, str) else None)
    # The plans are those of the session that is made.
    plan = active.plans_of(server, own_of(args[0], server.namespace)).special(CONNECT, _ATTRIBUTES)
    call = skeleton.new()
    begun.append(call)
    skeleton.begin(call, active.telemetry, plan.name, plan.attributes, plan.series)


@never_raises(_CONNECTING)
def _after_connect(begun: list[Any], _args: Any, _session: Any) -> None:
    call, *_ = [*begun, None]
    if call is not None:
        call.end()


@never_raises(_CONNECTING)
def _not_connected(begun: list[Any], _args: Any, error: BaseException) -> None:
    call, *_ = [*begun, None]
    if call is not None:
        call.fail(error)
