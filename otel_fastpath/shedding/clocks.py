"""What telemetry has cost: the exact CPU time of its threads, and the counted and timed calls of its hooks."""

from __future__ import annotations

import sys
import threading
import time
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping

    from otel_fastpath.shedding.timed_hooks import TimedHooks

HOOKS: Final = "hooks"
GUARD: Final = "guard"
# The beginning of a thread's name -> the part that its CPU time belongs to.
_THREADS: Final = {
    "OtelBatchSpan": "spans",
    "OtelBatchLog": "logs",
    "OtelPeriodicExportingMetricReader": "metrics",
    "otel-fastpath-guard": GUARD,
}
PARTS: Final = (HOOKS, *_THREADS.values())


class Cost(NamedTuple):
    """What an interval has cost.

    Attributes:
        seconds: Its length.
        process: CPU seconds of the process.
        parts: One of `PARTS` -> CPU seconds of telemetry.
    """

    seconds: float
    process: float
    parts: Mapping[str, float]

    @property
    def telemetry(self) -> float:
        """CPU seconds of all parts."""
        return sum(self.parts.values())


def why_not() -> str:
    """Why CPU time cannot be measured here, or an empty string."""
    if sys.platform != "linux":
        return "the CPU time of a thread can be read on Linux only"
    try:
        _thread_seconds(threading.get_native_id())
    except OSError as error:
        return f"the CPU time of a thread cannot be read ({error})"
    return ""


def _thread_seconds(native_id: int) -> float:
    """The CPU time of a thread of this process; an OSError if there is none of this id.

    The clock's number is made as in Linux's `posix-timers_types.h`: `pthread_getcpuclockid` is undefined for a thread
    that has ended, and this is an error.
    """
    return time.clock_gettime(~native_id << 3 | 6)


class Clocks:
    """Reads the clocks of this process."""

    def __init__(self, hooks: TimedHooks) -> None:
        self._hooks = hooks
        self._threads: dict[int, float] = {}
        self._now, self._process = time.monotonic(), time.process_time()
        self.read()

    def read(self) -> Cost:
        """What the interval since the last reading has cost."""
        parts = dict.fromkeys(PARTS, 0.0)
        parts[HOOKS] = self._hooks.take()
        threads: dict[int, float] = {}
        main = threading.main_thread().native_id
        for thread in threading.enumerate():
            part = next((part for name, part in _THREADS.items() if thread.name.startswith(name)), None)
            # With gevent, a thread may be a greenlet of the main thread.
            if part is None or thread.native_id is None or thread.native_id == main:
                continue
            try:
                now = _thread_seconds(thread.native_id)
            except OSError:
                continue
            threads[thread.native_id] = now
            parts[part] += now - self._threads.get(thread.native_id, now)
        self._threads = threads
        now, process = time.monotonic(), time.process_time()
        cost = Cost(now - self._now, process - self._process, parts)
        self._now, self._process = now, process
        return cost
