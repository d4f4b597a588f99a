"""The requests in progress: a call is kept on the driver's `ResponseFuture` from its submission to its result.

The result arrives in another thread or greenlet, maybe before the method that submitted the request has returned. Who
takes the call from the future, which happens once, ends it: the one who brings the result, or the one who submitted it.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any, Final

from otel_fastpath.libraries.db.cassandra import statements
from otel_fastpath.libraries.db.cassandra.plans import DATABASE, LINK
from otel_fastpath.patching import faults
from otel_fastpath.patching.outcome import guarded, never_raises

if TYPE_CHECKING:
    from collections.abc import Mapping

# Attributes of a future: its call in progress; the plan, for its further pages; the number of speculative executions;
# the number of retries before this page.
CALL: Final = "_otel_fastpath_call"
_PLAN: Final = "_otel_fastpath_plan"
_SPECULATIVE: Final = "_otel_fastpath_speculative"
_RETRIES: Final = "_otel_fastpath_retries"
# An attribute of an exception that interrupted waiting for a result: the future.
_WAITED_FOR: Final = "_otel_fastpath_waited_for"


def submitted(call: Any, future: Any) -> None:
    """Keep the call until the result is there. Never raises.

    Args:
        call: The call, which is no longer current.
        future: The `ResponseFuture`.
    """
    if not guarded(DATABASE.place, _keep, call, future):
        call.end()


def _keep(call: Any, future: Any) -> bool:
    held = future.__dict__
    held[_PLAN] = call.plan
    held[CALL] = call
    if future._event.is_set() and held.pop(CALL, None) is not None:
        if future._final_exception is None:
            _succeeded(call, future, future._final_result)
        else:
            _failed(call, future, future._final_exception)
    return True


def make_result(original: Any) -> Any:
    """Wrap the method that sets the result of a future, or of its next page."""

    @functools.wraps(original)
    def _set_final_result(self: Any, response: Any, *args: Any, **kwargs: Any) -> Any:
        try:
            call = self.__dict__.pop(CALL, None)
            if call is not None:
                _succeeded(call, self, response)
        except Exception as error:
            faults.report(DATABASE.place, error)
        return original(self, response, *args, **kwargs)

    return _set_final_result


def make_exception(original: Any) -> Any:
    """Wrap the method that sets its exception."""

    @functools.wraps(original)
    def _set_final_exception(self: Any, response: Any, *args: Any, **kwargs: Any) -> Any:
        try:
            call = self.__dict__.pop(CALL, None)
            if call is not None:
                _failed(call, self, response)
        except Exception as error:
            faults.report(DATABASE.place, error)
        return original(self, response, *args, **kwargs)

    return _set_final_exception


def _succeeded(call: Any, future: Any, response: Any) -> None:
    if call.recording:
        guarded(DATABASE.place, _tell, call, future)
    # A list, unless the row factory of the application makes something else.
    if type(response) is list and (call.plan.rows is not None or call.link.active.options.rows):
        guarded(DATABASE.place, call.told, len(response))
    call.done(response)


def _failed(call: Any, future: Any, error: Any) -> None:
    if call.recording:
        guarded(DATABASE.place, _tell, call, future)
    call.failed(error)


def _tell(call: Any, future: Any) -> None:
    if not call.link.active.is_same:
        call.span.set_attributes(_end_of(call, future))


def _end_of(call: Any, future: Any) -> Mapping[str, Any]:
    """The attributes that are known at the end of a request."""
    host, message = future.coordinator_host, future.message
    plans = call.link.plans
    key = (id(host), message.consistency_level, getattr(message, "fetch_size", None), future.query.is_idempotent)
    found = plans.ends.get(key)
    if found is not None and found[0] is host:
        made: dict[str, Any] = found[1]
    else:
        made = _end(host, future._current_host, key)
        if host is not None:
            plans.keep_end(key, host, made)
    held = future.__dict__
    if _SPECULATIVE in held:
        made = {**made, "cassandra.speculative_execution.count": held[_SPECULATIVE]}
    if future._query_retries:
        retries = future._query_retries - held.get(_RETRIES, 0)
        if retries:
            made = {**made, "cassandra.retry.count": retries}
    return made


def _end(coordinator: Any, contacted: Any, key: Any) -> dict[str, Any]:
    from cassandra import ConsistencyLevel  # noqa: PLC0415  # a wrapper does not import its library: it is there by now

    _, level, fetch_size, is_idempotent = key
    found: dict[str, Any] = {"cassandra.query.idempotent": bool(is_idempotent)}
    name = ConsistencyLevel.value_to_name.get(level)
    if name is not None:
        found["cassandra.consistency.level"] = name.lower()
    if isinstance(fetch_size, int):
        found["cassandra.page.size"] = fetch_size
    if coordinator is not None:
        found["cassandra.coordinator.id"] = str(coordinator.host_id)
        found["cassandra.coordinator.dc"] = str(coordinator.datacenter)
    host = coordinator or contacted
    if host is not None:
        found["network.peer.address"] = str(host.endpoint.address)
        found["network.peer.port"] = int(host.endpoint.port)
    return found


def make_speculative(original: Any) -> Any:
    """Wrap the method that executes a request speculatively, on another host: counted if it was sent."""

    @functools.wraps(original)
    def _on_speculative_execute(self: Any, *args: Any, **kwargs: Any) -> Any:
        before = guarded(DATABASE.place, _attempts, self)
        result = original(self, *args, **kwargs)
        guarded(DATABASE.place, _count, self, before)
        return result

    return _on_speculative_execute


def _attempts(future: Any) -> int | None:
    return len(future.attempted_hosts) if CALL in future.__dict__ else None


def _count(future: Any, before: int | None) -> None:
    if before is not None and len(future.attempted_hosts) > before:
        future.__dict__[_SPECULATIVE] = future.__dict__.get(_SPECULATIVE, 0) + 1


def make_page(original: Any) -> Any:
    """Wrap the method that asks for the next page."""

    @functools.wraps(original)
    def start_fetching_next_page(self: Any, *args: Any, **kwargs: Any) -> Any:
        call = _enter_page(self)
        if call is None:
            return original(self, *args, **kwargs)
        try:
            result = original(self, *args, **kwargs)
        except BaseException as error:
            call.failed(error)
            raise
        call.leave()
        submitted(call, self)
        return result

    return start_fetching_next_page


@never_raises(DATABASE.place)
def _enter_page(future: Any) -> Any:
    """Begin the request for a page; None if it is not instrumented, or there is none."""
    active = DATABASE.active
    if active is None or active.hot.is_suppressed() or not future._paging_state:
        return None
    session, held = future.session, future.__dict__
    link = getattr(session, LINK, None)
    if link is None or link.active is not active:
        link = DATABASE.new_link(session)
        held.pop(_PLAN, None)
    plan = held.get(_PLAN)
    if plan is None:
        plan = link.plans.plan(*statements.of_any(future.query, None))
    held[_RETRIES] = future._query_retries
    held.pop(_SPECULATIVE, None)
    call = active.hot.open_query(link, plan, 0, None)
    link.call = None
    return call


def make_wait(original: Any) -> Any:
    """Wrap the method that waits for the result: an exception that is not the request's interrupted it."""

    @functools.wraps(original)
    def result(self: Any, *args: Any, **kwargs: Any) -> Any:
        try:
            return original(self, *args, **kwargs)
        except BaseException as error:
            guarded(DATABASE.place, _interrupted, self, error)
            raise

    return result


def _interrupted(future: Any, error: BaseException) -> None:
    if error is not future._final_exception:
        setattr(error, _WAITED_FOR, future)


def make_blocking(original: Any) -> Any:
    """Wrap a method that submits a request and waits: if that is interrupted, nobody will see the result."""

    @functools.wraps(original)
    def method(*args: Any, **kwargs: Any) -> Any:
        try:
            return original(*args, **kwargs)
        except BaseException as error:
            guarded(DATABASE.place, _abandoned, error)
            raise

    return method


def _abandoned(error: BaseException) -> None:
    future = getattr(error, _WAITED_FOR, None)
    if future is None:
        return
    delattr(error, _WAITED_FOR)
    call = future.__dict__.pop(CALL, None)
    if call is not None:
        _failed(call, future, error)
