"""Samples of the threads beside the main thread, in proportion to the CPU time that each of them uses.

Python handles signals in the main thread only, so a thread of our own looks at the others. It can look when it has the
interpreter lock, and a thread that works gives the lock up when it waits for input, or after five milliseconds. Where
threads do short pieces of work, they would always be found waiting. So who is working is read from the threads' clocks
at a random moment, before we ask for the lock; and the lock is asked for with a short switch interval, so that a thread
is stopped where it was. What is found is scaled to the exact CPU time of each kind of thread.
"""

from __future__ import annotations

import functools
import importlib
import os
import random
import re
import sys
import threading
import time
from collections import Counter
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from types import FrameType

    # What identifies a stack; see `sampler`.
    Key = tuple[int, ...]
    _Find = Callable[[list[threading.Thread], float], tuple[set[int | None], dict[int, FrameType]]]

# The switch interval of a look, and how long it waits at most before it looks, in seconds.
_PROMPT: Final = 0.00005
_SPREAD: Final = 0.004
# Without the compiled helper: how long to wait between clocks, and the longest that such a wait may become.
_BETWEEN: Final = 0.00003
_LONGEST: Final = 0.0003
# Less CPU time of other threads, in nanoseconds, is not worth a look.
_LEAST: Final = 200_000
# How long to wait after a look that found nothing, in seconds, and which part of the CPU looks may take.
_IDLE: Final = 0.1
_MOST: Final = 0.015
# So many different stacks are kept.
_MOST_STACKS: Final = 40_000
_NUMBERS: Final = re.compile(r"\d+")


class Threads:
    """The other threads of this process.

    Args:
        rate: How many looks in a second, if threads work all the time.
        stack: Makes the key of a frame's stack.

    Attributes:
        seconds: For each second, the kind of thread and the stack -> CPU time in nanoseconds after `end`, and the
            number of samples before. A thread's kind is its name without numbers.
        samples: The number of samples.
    """

    def __init__(self, rate: float, stack: Callable[[FrameType], Key]) -> None:
        self.seconds: list[dict[tuple[str, Key], int]] = [{}]
        self.samples = self._kept = 0
        self._stack = stack
        self._period = 1 / rate
        self._find = _finder()
        self._random = random.Random()  # noqa: S311  # nobody has to guess it
        self._clocks: dict[int, int] = {}
        # The CPU time of each kind, and how often it was found working.
        self._used: Counter[str] = Counter()
        self._found: Counter[str] = Counter()
        self._seen = 0
        self._looked = 0.0
        # The switch interval before a look, and that of the look.
        self._intervals: tuple[float, float] | None = None

    def start(self) -> None:
        """Count from now on."""
        for thread in threading.enumerate():
            self._since(thread)
        self._seen, self._looked = self._others_cpu(), time.monotonic()

    def look(self) -> float:
        """Take samples of the threads that are working.

        Returns:
            How many seconds to wait until the next look.
        """
        now, cpu = time.monotonic(), self._others_cpu()
        used, self._seen = cpu - self._seen, cpu
        past, self._looked = now - self._looked, now
        if used < _LEAST:
            return _IDLE
        began = time.thread_time_ns()
        others = _others()
        working, frames = self._watched(others)
        if working:
            for thread in others:
                self._used[_kind(thread.name)] += self._since(thread)
            self._add([(thread, frames.get(thread.ident or 0)) for thread in others if thread.ident in working])
        # What a look costs is to be a small part of what the threads use meanwhile.
        cost = (time.thread_time_ns() - began) / _MOST * past / used
        return min(max(self._period, cost), _IDLE) * self._random.uniform(0.5, 1.5)

    def _add(self, working: list[tuple[threading.Thread, FrameType | None]]) -> None:
        second = self.seconds[-1]
        for thread, frame in working:
            place = (_kind(thread.name), self._stack(frame)) if frame is not None else None
            if place is None or (place not in second and self._kept >= _MOST_STACKS):
                continue
            self._kept += place not in second
            self.samples += 1
            self._found[place[0]] += 1
            second[place] = second.get(place, 0) + 1

    def _watched(self, others: list[threading.Thread]) -> tuple[set[int | None], dict[int, FrameType]]:
        """The threads that are working at a random moment, and the frames of all threads then."""
        interval = sys.getswitchinterval()
        sys.setswitchinterval(_PROMPT)
        self._intervals = interval, sys.getswitchinterval()
        try:
            return self._find(others, self._random.uniform(0, _SPREAD))
        finally:
            self.restore()

    def restore(self) -> None:
        """Set the switch interval as it was before a look, unless somebody has changed it meanwhile."""
        intervals, self._intervals = self._intervals, None
        if intervals is not None and sys.getswitchinterval() == intervals[1]:
            sys.setswitchinterval(intervals[0])

    def end_second(self) -> None:
        """Begin a new second."""
        self.seconds.append({})

    def end(self) -> None:
        """Give each sample its part of the CPU time; a kind that was not found working is taken for where it is now."""
        others = _others()
        for thread in others:
            self._used[_kind(thread.name)] += self._since(thread)
        frames = sys._current_frames() if any(self._used.values()) else {}
        self._add([(each, frames.get(each.ident or 0)) for each in others if not self._has_sample(each)])
        for second in self.seconds:
            for place, count in second.items():
                # The same for each sample of a kind: one in a second with few would weigh too much.
                second[place] = self._used[place[0]] * count // self._found[place[0]]

    def _has_sample(self, thread: threading.Thread) -> bool:
        kind = _kind(thread.name)
        return not self._used[kind] or bool(self._found[kind])

    def _since(self, thread: threading.Thread) -> int:
        """The CPU time of a thread since this was last asked."""
        now = _clock(thread)
        if not now or thread.native_id is None:
            return 0
        before = self._clocks.get(thread.native_id, 0)
        self._clocks[thread.native_id] = now
        # A new thread may have the id of one that has ended.
        return now - before if now >= before else now

    def _others_cpu(self) -> int:
        return time.process_time_ns() - _clock(threading.main_thread()) - time.thread_time_ns()


@functools.lru_cache(maxsize=1024)
def _kind(name: str) -> str:
    return _NUMBERS.sub("*", name)


def _find_slowly(others: list[threading.Thread], wait: float) -> tuple[set[int | None], dict[int, FrameType]]:
    """Without the compiled helper: those that worked before the frames were read, and again afterwards."""
    time.sleep(wait)
    clocks, began = [_clocks(others)], time.perf_counter()
    time.sleep(_BETWEEN)
    frames = sys._current_frames()
    clocks.append(_clocks(others))
    if clocks[0] == clocks[1]:
        return set(), {}
    time.sleep(_BETWEEN)
    clocks.append(_clocks(others))
    if time.perf_counter() - began > 2 * _LONGEST:
        return set(), frames
    first, second, third = clocks
    least = (time.perf_counter() - began) * 1e9 / 4
    return {
        each for each in first if first[each] and min(second[each] - first[each], third[each] - second[each]) > least
    }, frames


def _find_quickly(helper: Any) -> _Find:
    """With the compiled helper, which looks at the clocks without the interpreter lock."""

    def find(others: list[threading.Thread], wait: float) -> tuple[set[int | None], dict[int, FrameType]]:
        flags = helper.working(tuple(thread.native_id or 0 for thread in others), round(wait * 1e9))
        if not any(flags):
            return set(), {}
        frames = sys._current_frames()
        return {thread.ident for thread, is_working in zip(others, flags, strict=False) if is_working}, frames

    return find


def _finder() -> _Find:
    """How working threads are found here: a thread that has the only processor cannot be seen to work from outside."""
    processors = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else 1
    try:
        # Not in a pure wheel.
        helper = importlib.import_module("otel_fastpath.tools.profile.compiled_code_c")
    except ImportError:
        return _find_slowly
    return _find_quickly(helper) if processors > 1 else _find_slowly


def _others() -> list[threading.Thread]:
    own, main = threading.current_thread(), threading.main_thread()
    return [thread for thread in threading.enumerate() if thread is not main and thread is not own]


def _clocks(threads: Iterable[threading.Thread]) -> dict[int | None, int]:
    return {thread.ident: _clock(thread) for thread in threads}


def _clock(thread: threading.Thread) -> int:
    """The CPU time that a thread has used; 0 if that cannot be said."""
    ident = thread.native_id
    if ident is None or sys.platform != "linux":
        return 0
    try:
        # The clock of a thread by its number: unlike `pthread_getcpuclockid`, this is an error if the thread ended.
        return time.clock_gettime_ns(~ident << 3 | 6)
    except OSError:
        return 0
