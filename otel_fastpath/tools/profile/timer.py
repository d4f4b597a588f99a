"""The timer that asks for samples: SIGPROF, so often in a second of CPU time of the thread that starts it.

A timer of the whole process (`signal.ITIMER_PROF`) also runs out while another thread works, such as one that exports.
The main thread is then found where it waits, and what it did since the last sample would be counted there. So the
timer is one of the main thread's own CPU time where there are such timers: Linux. Python has no function for them.
"""

from __future__ import annotations

import importlib
import signal
import sys
import threading
from typing import Any, Final

# Constants of <time.h> and <signal.h>.
_CLOCK_THREAD_CPUTIME_ID: Final = 3
_SIGEV_THREAD_ID: Final = 4
_NS: Final = 1_000_000_000


class Timer:
    """Sends SIGPROF to this process.

    Args:
        rate: How often in a second of CPU time.
    """

    def __init__(self, rate: float) -> None:
        self._seconds = 1 / rate
        self._thread: _ThreadTimer | None = None

    def start(self) -> None:
        """Begin, for the CPU time of this thread where that is possible, otherwise of the process."""
        try:
            self._thread = _ThreadTimer(self._seconds)
        except (ImportError, AttributeError, OSError):
            # Not in every build of Python: ctypes. Not in every C library, and not on every kernel: the functions.
            signal.setitimer(signal.ITIMER_PROF, self._seconds, self._seconds)

    def stop(self) -> None:
        """End. Any thread may call this."""
        timer, self._thread = self._thread, None
        if timer is None:
            signal.setitimer(signal.ITIMER_PROF, 0)
        else:
            timer.delete()


class _ThreadTimer:
    """A POSIX timer of this thread's CPU time, `timer_create`; raises an OSError if there are none."""

    def __init__(self, seconds: float) -> None:
        if sys.platform != "linux":
            raise OSError("no timer of a thread's CPU time")
        ctypes: Any = importlib.import_module("ctypes")
        self._library = _library(ctypes)
        self._timer = ctypes.c_void_p()
        # `struct sigevent`: a value, the signal, how it is sent, and the thread.
        value = (0,) * ctypes.sizeof(ctypes.c_void_p)
        event = (ctypes.c_int * 16)(
            *value[:: ctypes.sizeof(ctypes.c_int)], signal.SIGPROF, _SIGEV_THREAD_ID, threading.get_native_id()
        )
        # `struct itimerspec`: the interval and the first time, each in seconds and nanoseconds.
        whole, rest = divmod(round(seconds * _NS), _NS)
        times = (ctypes.c_long * 4)(whole, rest, whole, rest)
        if self._library.timer_create(_CLOCK_THREAD_CPUTIME_ID, event, ctypes.byref(self._timer)):
            raise OSError("timer_create failed")
        if self._library.timer_settime(self._timer, 0, times, None):
            self.delete()
            raise OSError("timer_settime failed")

    def delete(self) -> None:
        self._library.timer_delete(self._timer)


def _library(ctypes: Any) -> Any:
    """The library with the functions; before glibc 2.34 they have one of their own."""
    found = ctypes.CDLL(None)
    return found if hasattr(found, "timer_create") else ctypes.CDLL("librt.so.1")
