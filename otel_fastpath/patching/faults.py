"""Errors in this package's own code: told apart from errors of other code, logged once per place and type, counted.

An exception may also arrive from outside, between two instructions of any code: from a signal handler (time limits of
Celery and RQ), a tracing function, another greenlet, or `PyThreadState_SetAsyncExc`. It is meant for the application,
and is never absorbed.
"""

from __future__ import annotations

import logging
import opcode
import signal
import sys
import threading
from importlib.machinery import ExtensionFileLoader
from typing import TYPE_CHECKING, Any, Final

from otel_fastpath.locks import Tally

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import FrameType, TracebackType

_OWN: Final = "otel_fastpath"
_STOCK: Final = "opentelemetry"
# Whose functions call processors, samplers, id generators and propagators, which may be the application's.
_SIGNALS: Final = ("trace", "logs")
# What a greenlet waits in when another one throws an exception into it.
_GREENLETS: Final = {"gevent", "greenlet", "eventlet"}
# Errors that functions of C raise without arguments.
_BARE: Final = (
    EOFError,
    MemoryError,
    StopAsyncIteration,
    StopIteration,
)
_VARARGS: Final = 0x04
_RAISE: Final = opcode.opmap["RAISE_VARARGS"]
_logger = logging.getLogger(__name__)
_FAULT: Final = "otel-fastpath failed in %s and went on without it. Further such failures are only counted."
_ERROR_OF_OTHERS: Final = "Code that otel-fastpath called in %s raised an exception. Further such ones are not logged."
_counts: Final = Tally()
_counts_of_others: Final = Tally()
# What was logged: a place's first exception must not hide another kind there.
_logged: Final = Tally()
# The attribute of an exception that a value of others caused, although no code of theirs was called.
_OF_OTHERS: Final = "_otel_fastpath_of_others"


def ours(error: BaseException) -> bool:
    """Whether the exception was raised by this package's code, or by standard library code that it called.

    It is not when other code is in between: a user's sampler that misuses a span gets the same exception as from
    stock, and an exception that stock raises is meant for the caller.
    """
    if _is_of_others(error):
        return False
    last = ""
    step = error.__traceback__
    while step is not None:
        top = _top(step.tb_frame)
        if top in {_OWN, _STOCK}:
            last = top
        elif top not in sys.stdlib_module_names:
            return False
        step = step.tb_next
    return last == _OWN and not is_interruption(error)


def is_interruption(error: BaseException) -> bool:
    """Whether the exception arrived between two instructions, instead of being raised by a call that the code made."""
    last = ""
    is_by_statement = False
    step = error.__traceback__
    handlers = _handlers()
    while step is not None:
        last = _top(step.tb_frame)
        if last in _GREENLETS or _name_of(step.tb_frame) in handlers or _is_called_by_interpreter(step.tb_frame):
            return True
        is_by_statement = _is_raised_by_statement(step)
        step = step.tb_next
    # `PyThreadState_SetAsyncExc` raises a class, in the midst of a function. One of an application's, such as RQ's, may
    # make arguments of its own.
    if not _is_known(last) or is_by_statement:
        return False
    home = str(type(error).__module__).partition(".")[0]
    if not (_is_known(home) or _is_compiled(home)):
        return True
    return not error.args and not isinstance(error, _BARE)


def _is_compiled(top: str) -> bool:
    """Whether a package has compiled modules: their functions, such as a driver's, raise its errors without a frame."""
    return any(
        name.partition(".")[0] == top
        and isinstance(getattr(module, "__dict__", {}).get("__loader__"), ExtensionFileLoader)
        for name, module in tuple(sys.modules.items())
    )


def _is_known(top: str) -> bool:
    """Whether code of this package, of OpenTelemetry or of the standard library stands in modules below this one."""
    return top in {_OWN, _STOCK} or top in sys.stdlib_module_names


def _is_raised_by_statement(step: TracebackType) -> bool:
    """Whether the frame raised it itself; so it is in compiled code, where nothing arrives."""
    if isinstance(step.tb_frame.f_globals.get("__loader__"), ExtensionFileLoader):
        return True
    return step.tb_frame.f_code.co_code[step.tb_lasti] == _RAISE


def _is_called_by_interpreter(frame: FrameType) -> bool:
    """Whether it is the frame of a signal handler, or of a function for tracing, profiling or monitoring.

    The interpreter passes them the interrupted frame, or its code object.
    """
    caller, code = frame.f_back, frame.f_code
    if caller is not None:
        count = code.co_argcount + code.co_kwonlyargcount
        values = frame.f_locals
        given = [values.get(name) for name in code.co_varnames[:count]]
        if code.co_flags & _VARARGS:
            given.extend(values.get(code.co_varnames[count]) or ())
        return any(each is caller or each is caller.f_code for each in given)
    return False


def _name_of(frame: FrameType) -> tuple[Any, str]:
    return frame.f_globals.get("__name__"), frame.f_code.co_name


def _handlers() -> list[tuple[Any, Any]]:
    """The modules and names of signal handlers: one may be compiled, or may have deleted its arguments."""
    # They are run in this thread only.
    if threading.get_ident() != threading.main_thread().ident:
        return []
    set_up = [getattr(each, "func", each) for each in map(signal.getsignal, range(1, signal.NSIG)) if callable(each)]
    called = [each if hasattr(each, "__name__") else type(each).__call__ for each in set_up]
    return [(getattr(each, "__module__", None), getattr(each, "__name__", None)) for each in called]


def _is_of_guest(error: BaseException) -> bool:
    """Whether a processor, sampler, id generator or propagator raised it."""
    signals = False
    step = error.__traceback__
    while step is not None:
        name = str(step.tb_frame.f_globals.get("__name__", ""))
        top, _, rest = name.partition(".")
        if top == _OWN:
            signals = rest.partition(".")[0] in _SIGNALS
        elif top == _STOCK:
            signals = not rest.startswith("instrumentation")
        elif top not in sys.stdlib_module_names:
            # Not a special method of an object that was given, such as `__str__`.
            return signals and not step.tb_frame.f_code.co_name.startswith("__")
        step = step.tb_next
    return False


def _top(frame: FrameType) -> str:
    return str(frame.f_globals.get("__name__", "")).partition(".")[0]


def text_of(value: object, function: Callable[[object], str] = str) -> str:
    """The text that `str` or `format` makes of a value of others: what this raises is their error.

    Raises:
        Exception: The exception of the value's own method, or of `str` at what that method returned.
    """
    try:
        return function(value)
    except Exception as error:
        blame_others(error)
        raise


def blame_others(error: BaseException) -> None:
    """Say of an error in code of ours that others caused it, such as by what they put into a request."""
    setattr(error, _OF_OTHERS, True)


def _is_of_others(error: BaseException) -> bool:
    # The exception can be the application's, and answer for any attribute.
    return _OF_OTHERS in object.__getattribute__(error, "__dict__")


def report(place: str, error: BaseException) -> None:
    """Count a fault, and log the first one of each place and type of exception."""
    is_fault = not _is_of_others(error)
    _count_and_log(_counts if is_fault else _counts_of_others, _FAULT if is_fault else _ERROR_OF_OTHERS, place, error)


def report_any(place: str, error: BaseException) -> None:
    """The same where other code may have raised the exception, such as stock's at a client's request: no fault."""
    if ours(error):
        report(place, error)
    else:
        _count_and_log(_counts_of_others, _ERROR_OF_OTHERS, place, error)


def _count_and_log(counts: Tally, message: str, place: str, error: BaseException) -> None:
    try:
        kind = type(error)
        is_first = counts.add(place)
        if _logged.add(f"{message}{place}{kind.__module__}{kind.__qualname__}") or is_first:
            _logger.error(message, place, exc_info=error)
    except Exception as fault:  # raised by a log handler: the host must not see it here
        raise_interruption(fault)


def absorb(place: str, error: BaseException) -> None:
    """In an `except` clause: report the exception if it is ours, otherwise raise it again."""
    try:
        if not isinstance(error, Exception) or not ours(error):
            raise error
        report(place, error)
    finally:
        # An exception and a frame that it came through would refer to each other, and keep what the host's frames hold.
        del error


def absorb_any(place: str, error: BaseException) -> None:
    """The same where objects of the application or of a library are read: what these raise is reported, too.

    Raises:
        BaseException: The error, if it is no `Exception`, arrived between two instructions, or was raised by a
            processor, sampler, id generator or propagator.
    """
    try:
        raise_others(error)
        report_any(place, error)
    finally:
        # As in `absorb`.
        del error


def raise_others(error: BaseException) -> None:
    """In an `except` clause: raise the error again if `absorb_any` would."""
    try:
        if not isinstance(error, Exception) or _is_of_guest(error) or is_interruption(error):
            raise error
    finally:
        # As in `absorb`.
        del error


def raise_interruption(error: BaseException) -> None:
    """In an `except` clause that expects other errors: raise this one again if it arrived between two instructions."""
    try:
        if not isinstance(error, Exception) or is_interruption(error):
            raise error
    finally:
        # As in `absorb`.
        del error


def counts() -> dict[str, int]:
    """The number of faults so far, by place."""
    return dict(_counts)


def forget() -> None:
    """Begin to count anew, and log what is counted again."""
    _counts.clear()
    _counts_of_others.clear()
