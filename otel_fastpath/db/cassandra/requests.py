"""A request, from its submission to its result: the shortest path, taken by each of them. Compiled as `requests_c`.

A call is kept on the driver's `ResponseFuture`. The result arrives in another thread or greenlet, maybe before the
method that submitted the request has returned. So the outcome is kept there, too: who submits stores the call and then
looks for an outcome, who brings the outcome stores it and then looks for a call. One of them at least finds both. Who
takes the call from the future, which happens once, ends it.
"""

from __future__ import annotations

from typing import Any

from otel_fastpath.compiled.helpers import get_item
from otel_fastpath.db.cassandra import statements
from otel_fastpath.db.cassandra.query_plans import CALL, CONNECTION_PLAN, DATABASE, OUTCOME, PLAN, RETRIES, SPECULATIVE
from otel_fastpath.db.queries import parameters as query_parameters
from otel_fastpath.patching import faults
from otel_fastpath.wrapping.call_span import ConnectionPlan, open_query

# self and the statement
_BEFORE_PARAMETERS = 2
# There is no outcome yet; a result may be None.
_PENDING = object()


def enter(call: Any, args: Any, kwargs: Any) -> bool:
    """Begin the request of a session's method, that `try_new_query` made; returns whether it is instrumented."""
    has_begun = False
    try:
        active = DATABASE.active
        if active is None:
            return False
        session = args[0]
        found = getattr(session, CONNECTION_PLAN, None)
        connection_plan = found if type(found) is ConnectionPlan else DATABASE.new_connection_plan(session)
        if (
            connection_plan.active is not active
            or connection_plan.plans.server.namespace != session.keyspace
            # Its plans are of this request only: what stock's functions return may be, too.
            or active.replacements.exist()
        ):
            connection_plan = DATABASE.new_connection_plan(session)
        statement = args[1] if len(args) > 1 else kwargs.get("query")
        reader = statements.READERS.get(type(statement))
        if reader is None:
            if hasattr(statement, "_statements_and_parameters"):
                batch = statements.of_batch(statement, session.cluster._prepared_statements)
                has_begun = _open(call, connection_plan, connection_plan.plans.of_batch(batch))
                if has_begun and call.recording:
                    query_parameters.put_parameters(call, connection_plan, None, batch.size)
                return has_begun
            reader = statements.of_any
        text, has = reader(statement, args[2] if len(args) > _BEFORE_PARAMETERS else kwargs.get("parameters"))
        try:
            plan = get_item(connection_plan.queries_with_arguments if has else connection_plan.queries, text)
        except TypeError:
            # A list, for example: the driver raises an error.
            plan = None
        if plan is None:
            plan = connection_plan.plans.plan(text, "", has)
        has_begun = _open(call, connection_plan, plan)
    except Exception as error:
        faults.absorb_any(DATABASE.place, error)
    return has_begun


def _open(call: Any, connection_plan: Any, plan: Any) -> bool:
    has_begun = open_query(call, connection_plan, plan, 0, None)
    # A session is used by many threads and greenlets: a request inside of another is told in any case.
    connection_plan.call = None
    return has_begun


def enter_page(call: Any, args: Any, _kwargs: Any) -> bool:
    """Begin the request for the next page of a future; returns whether it is instrumented, and there is one."""
    try:
        future = args[0]
        active = DATABASE.active
        if active is None or not future._paging_state:
            return False
        session, held = future.session, future.__dict__
        found = getattr(session, CONNECTION_PLAN, None)
        connection_plan = found if type(found) is ConnectionPlan else DATABASE.new_connection_plan(session)
        plan = held.get(PLAN)
        if connection_plan.active is not active:
            connection_plan = DATABASE.new_connection_plan(session)
            plan = None
        if plan is None:
            plan = connection_plan.plans.plan(*statements.of_any(future.query, None))
        held[RETRIES] = future._query_retries
        held.pop(SPECULATIVE, None)
        # That of the page before.
        held.pop(OUTCOME, None)
        return _open(call, connection_plan, plan)
    except Exception as error:
        faults.absorb_any(DATABASE.place, error)
        return False


def after_submit(call: Any, future: Any) -> None:
    """Make a call no longer current, and keep it until the result is there."""
    call.leave()
    try:
        held = future.__dict__
        held[PLAN] = call.plan
        if held.setdefault(CALL, call) is not call:
            # Another page of this future is in flight, and their results look the same.
            call.end()
            return
        # Not `in`: without the interpreter lock, reading could overtake the store before it, and `pop` takes a lock.
        outcome = held.pop(OUTCOME, _PENDING)
        if outcome is not _PENDING and held.pop(CALL, None) is not None:
            if isinstance(outcome, BaseException):
                end_failed(call, future, outcome)
            else:
                _end_succeeded(call, future, outcome)
    except Exception as error:
        faults.absorb_any(DATABASE.place, error)
        call.end()


def end_with_response(future: Any, response: Any) -> None:
    """End the call of a future, or of its next page, whose result is there."""
    try:
        held = future.__dict__
        held[OUTCOME] = response
        call = held.pop(CALL, None)
        if call is not None:
            _end_succeeded(call, future, response)
    except Exception as error:
        # In the driver's thread: it must bring the result, whatever a processor raises.
        faults.raise_interruption(error)
        faults.report_any(DATABASE.place, error)


def end_with_error(future: Any, error: Any) -> None:
    """End the call of a future whose exception is there."""
    try:
        held = future.__dict__
        held[OUTCOME] = error
        call = held.pop(CALL, None)
        if call is not None:
            end_failed(call, future, error)
    except Exception as fault:
        faults.raise_interruption(fault)
        faults.report_any(DATABASE.place, fault)


def _end_succeeded(call: Any, future: Any, response: Any) -> None:
    try:
        _put_end(call, future)
        # A list, unless the row factory of the application makes something else.
        if type(response) is list and (call.plan.rows is not None or call.connection_plan.active.options.rows):
            call.record_rows(len(response))
    finally:
        call.done(response)


def end_failed(call: Any, future: Any, error: Any) -> None:
    """End a call that was taken from its future, with an exception."""
    try:
        _put_end(call, future)
    finally:
        call.end_failed(error)


def _put_end(call: Any, future: Any) -> None:
    """Tell what is known at the end of a request."""
    if call.recording and not call.connection_plan.active.is_same:
        # A copy: other code's method may add to what it is given, which many calls have.
        call.span.set_attributes({**_end_of(call, future)})


def _end_of(call: Any, future: Any) -> Any:
    host, message = future.coordinator_host, future.message
    plans = call.connection_plan.plans
    key = (id(host), message.consistency_level, getattr(message, "fetch_size", None), future.query.is_idempotent)
    found = plans.ends.get(key)
    made = found[1] if found is not None and found[0]() is host else plans.end(host, future._current_host, key)
    held = future.__dict__
    if SPECULATIVE in held:
        made = {**made, "cassandra.speculative_execution.count": held[SPECULATIVE]}
    if future._query_retries:
        retries = future._query_retries - held.get(RETRIES, 0)
        if retries:
            made = {**made, "cassandra.retry.count": retries}
    return made
