"""Pipelines: a call ends when the result of the last command that it queued has arrived.

A pipeline's commands have their results in the order in which they were queued, so a command is identified by its
position. A call's commands are those that were queued while its method ran: the query, and what psycopg sends for it,
such as BEGIN or the preparation of the statement.
"""

from __future__ import annotations

import functools
import sys
from collections import deque
from typing import TYPE_CHECKING, Any, Final

from otel_fastpath.patching.outcome import call_guarded, never_raises

if TYPE_CHECKING:
    from collections.abc import Iterable

_PLACE: Final = "a pipeline of psycopg"
_STATE: Final = "_otel_fastpath"
# libpq's PGRES_TUPLES_OK
_TUPLES_OK: Final = 2
# and CONNECTION_OK
_CONNECTED: Final = 0


class _PipelineState:
    """What is stored for one pipeline.

    Attributes:
        arrived: The number of commands whose results have arrived, since this object was made.
        running: The calls whose methods are running.
        waiting: The calls whose methods have returned, in the order of their commands.
    """

    __slots__ = ("arrived", "running", "waiting")

    def __init__(self) -> None:
        self.arrived = 0
        self.running: list[Submission] = []
        self.waiting: deque[Submission] = deque()

    def process(self, queued: Any, results: Any, error: BaseException | None) -> None:
        """Note that the results of the next command have arrived, and what psycopg raised for them."""
        position = self.arrived
        self.arrived += 1
        for each in self.waiting:
            # Thousands may wait: those that follow have commands that were queued later.
            if each.first > position:
                break
            each.note(position, queued, results, error)
        for each in self.running:
            each.note(position, queued, results, error)
        while self.waiting and self.waiting[0].end <= self.arrived:
            self.waiting.popleft().conclude()

    def abandon(self, error: BaseException | None) -> None:
        """End the calls whose results have not been noted: the pipeline has ended, with this exception or None."""
        while self.waiting:
            self.waiting.popleft().conclude(error)


class Submission:
    """A call that was made in a pipeline: takes the place of the call until its method has returned.

    Args:
        pipeline: The pipeline.
        state: What is stored for it.
        call: The call.
        cursor: The cursor that executes it; None: it has none.

    Attributes:
        first: The position of the call's first command.
        end: The position after its last one.
    """

    __slots__ = ("_call", "_cursor", "_error", "_is_waiting", "_number", "_others", "_queue", "_state", "end", "first")

    def __init__(self, pipeline: Any, state: _PipelineState, call: Any, cursor: Any) -> None:
        self._state = state
        self._call = call
        self._cursor = cursor
        self._queue = pipeline.result_queue
        self.first = state.arrived + len(self._queue)
        self._error: BaseException | None = None
        self._number: int | None = None
        self._is_waiting = False
        # The errors of other calls that arrived while the method was running.
        self._others: list[BaseException] = []
        self.end = sys.maxsize
        state.running.append(self)

    def note(self, position: int, queued: Any, results: Any, error: BaseException | None) -> None:
        """Note the results of the command at this position, which may be another call's."""
        if not self.first <= position < self.end or (queued is not None and queued[0] is not self._cursor):
            if error is not None and self.end == sys.maxsize:
                self._others.append(error)
            return
        self._error = self._error or error
        number = rows_of(results)
        if number is not None:
            self._number = number + (self._number or 0)

    def done(self, result: Any) -> None:
        """The method has returned this."""
        if not call_guarded(_PLACE, self._hold_open):
            self.conclude(None, result)

    def end_failed(self, error: BaseException) -> None:
        """The method has raised this; it may be the error of another call, whose result arrived meanwhile."""
        if self not in self._state.running:
            # Once more, in case that the first was interrupted.
            if not self._is_waiting:
                self._call.end_failed(error)
            return
        call_guarded(_PLACE, self._take, error)
        if not call_guarded(_PLACE, self._hold_open):
            self.conclude(None if self.end > self.first else error)

    def _take(self, error: BaseException) -> None:
        """Keep an error that is not another call's."""
        if not any(error is each for each in self._others):
            self._error = self._error or error

    def _hold_open(self) -> bool:
        """Whether results are still to arrive; then the call goes on, and its context is left."""
        self._state.running.remove(self)
        self._others = []
        self.end = self._state.arrived + len(self._queue)
        if self._error is not None or self.end <= max(self._state.arrived, self.first):
            return False
        if self._call.connection_plan.call is self._call:
            self._call.connection_plan.call = None
        self._call.leave()
        self._is_waiting = True
        self._state.waiting.append(self)
        return True

    def conclude(self, error: BaseException | None = None, result: Any = None) -> None:
        """End the call."""
        error = self._error or error
        if error is not None:
            self._call.end_failed(error)
            return
        if self._number is not None:
            call_guarded(_PLACE, self._call.record_rows, self._number)
        self._call.done(result)


# The classes of pipelines whose results are watched.
_watched: set[Any] = set()


def ending(call: Any, args: Any) -> Any:
    """What ends a call of a cursor: the call itself, if it is in no pipeline whose results are watched."""
    pipeline = args[0]._conn._pipeline
    return call if pipeline is None else call_guarded(_PLACE, _submission, pipeline, call, args[0]) or call


def ending_of_command(call: Any, args: Any) -> Any:
    """Likewise, of a connection."""
    pipeline = args[0]._pipeline
    return call if pipeline is None else call_guarded(_PLACE, _submission, pipeline, call, None) or call


def ending_in_transaction(call: Any, args: Any) -> Any:
    """Likewise, of a transaction."""
    pipeline = args[0]._conn._pipeline
    return call if pipeline is None else call_guarded(_PLACE, _submission, pipeline, call, None) or call


def _submission(pipeline: Any, call: Any, cursor: Any) -> Any:
    if not _watched:
        return None
    state = vars(pipeline).get(_STATE)
    if state is None:
        state = vars(pipeline)[_STATE] = _PipelineState()
    return Submission(pipeline, state, call, cursor)


def rows_of(results: Iterable[Any]) -> int | None:
    """The number of rows in libpq's results; None: they are not results of queries."""
    found = None
    for each in results:
        if each.status == _TUPLES_OK:
            found = each.ntuples + (found or 0)
    return found


def _state_of(pipeline: Any) -> Any:
    return vars(pipeline).get(_STATE)


def make_process(original: Any) -> Any:
    """Wrap the method that is called with the results of each command, in their order."""

    @functools.wraps(original)
    def _process_results(*args: Any, **kwargs: Any) -> Any:
        state = call_guarded(_PLACE, _state_of, args[0])
        if state is None:
            return original(*args, **kwargs)
        try:
            result = original(*args, **kwargs)
        except BaseException as error:
            _process(state, args, error)
            raise
        _process(state, args, None)
        return result

    _watched.add(original)
    return _process_results


@never_raises(_PLACE)
def _process(state: _PipelineState, args: Any, error: BaseException | None) -> None:
    _, queued, results = args
    state.process(queued, results, error)


def make_exit(original: Any) -> Any:
    """Wrap the method that is called when a pipeline ends."""

    @functools.wraps(original)
    def _exit(*args: Any, **kwargs: Any) -> Any:
        try:
            return original(*args, **kwargs)
        finally:
            _after_exit(args)

    return _exit


@never_raises(_PLACE)
def _after_exit(args: Any) -> None:
    state = vars(args[0]).get(_STATE)
    if state is not None and args[0].level == 0:
        error = next((each for each in args[1:] if each is not None), None) or sys.exc_info()[1]
        if error is None and args[0].pgconn.status != _CONNECTED:
            error = ConnectionError("the pipeline has ended without the result")
        state.abandon(error)
