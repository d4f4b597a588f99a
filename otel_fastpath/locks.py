"""The lock of what is set up rarely: one that a thread never waits for itself for, and that a forked child finds free.

A signal handler or a finalizer runs in the middle of what its thread does: it must get a lock that the thread holds. A
child process has one thread of its parent's, and the locks that the others held: nobody is left to release them.

Whoever holds one calls nothing that is not ours: no import, no log handler, no function of the user's own.
"""

from __future__ import annotations

import os
import threading
import weakref
from collections import deque
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable


class Lock:
    """Reentrant, and free in a forked child unless the thread that forked holds it; used by `with`."""

    __slots__ = ("__weakref__", "_held")

    def __init__(self) -> None:
        self._held = threading.RLock()
        _locks.add(self)

    def __enter__(self) -> None:
        self._held.acquire()

    def __exit__(self, *exception: object) -> None:
        self._held.release()

    def renew(self) -> None:
        """Be free, unless this thread holds it."""
        if self._held.acquire(blocking=False):
            self._held.release()
        else:
            self._held = threading.RLock()


_locks: Final[weakref.WeakSet[Lock]] = weakref.WeakSet()


def _forked() -> None:
    for lock in tuple(_locks):
        lock.renew()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forked)


class Agenda:
    """Jobs of one object, done one at a time and in order by whoever comes when none is being done.

    No lock is held meanwhile. Whoever comes then, be it the same thread from within a job, leaves the job and returns.
    """

    def __init__(self) -> None:
        self._jobs: deque[Callable[[], object]] = deque()
        self._lock = Lock()
        # Who is at work; thread 0: nobody.
        self._process = self._thread = 0

    def do(self, job: Callable[[], object]) -> None:
        """Do the job, and what others leave meanwhile, or leave it to who is at work.

        Raises:
            Exception: What the job raises. Those after it are done when somebody comes again.
        """
        process, thread = os.getpid(), threading.get_ident()
        with self._lock:
            self._jobs.append(job)
            # In a forked child no other thread is still at work.
            if self._thread and (self._process == process or self._thread == thread):
                return
            self._process, self._thread = process, thread
        try:
            while (next_job := self._next()) is not None:
                next_job()
        except BaseException:
            self._thread = 0
            raise

    def _next(self) -> Callable[[], object] | None:
        with self._lock:
            if self._jobs:
                return self._jobs.popleft()
            self._thread = 0
            return None


class Tally(dict[str, int]):
    """Counts by name; any thread, signal handler or finalizer may count.

    Args:
        most: How many names there are at most. What comes under another name then counts as `REST`.
    """

    REST: Final = "_other"

    def __init__(self, most: int = 1000) -> None:
        super().__init__()
        self._most = most
        self._lock = Lock()

    def add(self, name: str) -> bool:
        """Count one; whether it is the first of its name."""
        with self._lock:
            if name not in self and len(self) >= self._most:
                name = self.REST
            # No call between a look at a count and its change.
            if name in self:
                self[name] += 1
                return False
            self[name] = 1
            return True
