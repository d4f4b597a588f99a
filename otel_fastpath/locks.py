"""Locks for rare operations such as set-up: reentrant, and released in a forked child.

A signal handler or a finalizer can interrupt its thread at any point, so it must be able to acquire a lock that this
thread holds. A forked child has only one of its parent's threads, but also the locks that other threads held, which
would never be released.

Code that holds such a lock must call only our own code: no imports, no log handlers, no functions of the user's.
"""

from __future__ import annotations

import os
import threading
import weakref
from collections import deque
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable


class Lock(type(threading.RLock())):  # type: ignore[misc]  # the class has no public name
    """A reentrant lock, released in a forked child unless a thread of that child holds it. Use it with `with`.

    It has no `__enter__` of its own: a signal handler could raise when that has acquired the lock, before it returns.
    """

    # What other threads of a child have time for, in seconds, where they hold the lock.
    _PATIENCE = 0.5

    def __init__(self) -> None:
        super().__init__()
        _locks.add(self)

    def renew(self) -> None:
        """Release the lock in a child if a thread of the parent held it."""
        if self.acquire(timeout=self._PATIENCE):
            self.release()
        else:
            self._at_fork_reinit()


_locks: Final[weakref.WeakSet[Lock]] = weakref.WeakSet()


def _after_fork() -> None:
    for lock in tuple(_locks):
        lock.renew()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


class Agenda:
    """A queue of jobs, run one at a time and in order, without a lock being held.

    The first caller runs the jobs. Other callers, also the same thread from within a job, only add a job and return.
    """

    def __init__(self) -> None:
        self._jobs: deque[Callable[[], object]] = deque()
        self._lock = Lock()
        # The process and thread that run the jobs; 0 if none does.
        self._process = self._thread = 0

    def do(self, job: Callable[[], object]) -> None:
        """Run the job, and those that others add meanwhile; or add it, if a thread is running jobs already.

        Raises:
            Exception: The exception of a job. The jobs after it are run at the next call.
        """
        process, thread = os.getpid(), threading.get_ident()
        with self._lock:
            self._jobs.append(job)
            # In a forked child, the parent's other threads do not run.
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
    """Counts by name. Threads, signal handlers and finalizers may all count.

    Args:
        most: The maximum number of names. Further names are counted as `REST`.
    """

    REST: Final = "_other"

    def __init__(self, most: int = 1000) -> None:
        super().__init__()
        self._most = most
        self._lock = Lock()

    def add(self, name: str) -> bool:
        """Add one to the count of a name, and return whether it is the first."""
        with self._lock:
            if name not in self and len(self) >= self._most:
                name = self.REST
            # No call between reading a count and changing it: a finalizer could count there.
            if name in self:
                self[name] += 1
                return False
            self[name] = 1
            return True
