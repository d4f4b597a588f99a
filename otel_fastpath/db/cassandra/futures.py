"""Wrappers of the methods of a future, which bring results and exceptions, and of those that wait for them."""

from __future__ import annotations

import functools
import gc
import sys
from typing import TYPE_CHECKING, Any, Final

from otel_fastpath.compiled import hot
from otel_fastpath.db.cassandra.query_plans import CALL, DATABASE, SPECULATIVE
from otel_fastpath.patching.outcome import call_guarded

if TYPE_CHECKING:
    from types import CodeType


def make_result(original: Any) -> Any:
    """Wrap the method that sets the result of a future, or of its next page."""
    end_with_response = hot.db_cassandra_requests.end_with_response

    @functools.wraps(original)
    def _set_final_result(self: Any, response: Any, *args: Any, **kwargs: Any) -> Any:
        end_with_response(self, response)
        return original(self, response, *args, **kwargs)

    return _set_final_result


def make_exception(original: Any) -> Any:
    """Wrap the method that sets its exception."""
    end_with_error = hot.db_cassandra_requests.end_with_error

    @functools.wraps(original)
    def _set_final_exception(self: Any, response: Any, *args: Any, **kwargs: Any) -> Any:
        end_with_error(self, response)
        return original(self, response, *args, **kwargs)

    return _set_final_exception


def make_speculative(original: Any) -> Any:
    """Wrap the method that executes a request speculatively, on another host: counted if it was sent."""

    @functools.wraps(original)
    def _on_speculative_execute(self: Any, *args: Any, **kwargs: Any) -> Any:
        before = call_guarded(DATABASE.place, _attempts, self)
        result = original(self, *args, **kwargs)
        call_guarded(DATABASE.place, _count, self, before)
        return result

    return _on_speculative_execute


def _attempts(future: Any) -> int | None:
    return len(future.attempted_hosts) if CALL in future.__dict__ else None


def _count(future: Any, before: int | None) -> None:
    if before is not None and len(future.attempted_hosts) > before:
        future.__dict__[SPECULATIVE] = future.__dict__.get(SPECULATIVE, 0) + 1


def make_wait(original: Any) -> Any:
    """Wrap the method that waits for the result: an exception that is not the request's interrupted it."""

    @functools.wraps(original)
    def result(self: Any, *args: Any, **kwargs: Any) -> Any:
        try:
            return original(self, *args, **kwargs)
        except BaseException as error:
            call_guarded(DATABASE.place, _end_interrupted, self, error)
            # The exception keeps this frame.
            del self
            raise

    return result


def _end_interrupted(future: Any, error: BaseException) -> None:
    """End the call of a future that nobody can wait for again; the exception, the application's, is left as it is."""
    if error is future._final_exception or not _is_within(_BLOCKING):
        return
    call = future.__dict__.pop(CALL, None)
    if call is not None:
        hot.db_cassandra_requests.end_failed(call, future, error)


def _is_within(code: CodeType) -> bool:
    """Whether a function with this code is waiting for this one to return."""
    frame: Any = sys._getframe()
    while frame is not None and frame.f_code is not code:
        frame = frame.f_back
    return frame is not None


def make_blocking(original: Any) -> Any:
    """Wrap a method that submits a request and waits: if that is interrupted, nobody will see the result.

    The wrapper does nothing but to be found by `_end_interrupted`, so that it costs nothing but its call.
    """

    @functools.wraps(original)
    def method(*args: Any, **kwargs: Any) -> Any:
        return original(*args, **kwargs)

    return method


# The code of all these wrappers.
_BLOCKING: Final[CodeType] = make_blocking(len).__code__


def stop() -> None:
    """Instrument no further request, and end the calls of those in flight: nothing of ours will see their results.

    They are looked for among all objects, because to keep a list of them would cost each request more.
    """
    was_active = DATABASE.active is not None
    DATABASE.stop()
    module = sys.modules.get("cassandra.cluster")
    if not was_active or module is None:
        return
    for future in gc.get_referrers(module.ResponseFuture):
        call = future.__dict__.pop(CALL, None) if type(future) is module.ResponseFuture else None
        if call is not None:
            call.end()
