"""Guards what threads share; `sharing_c.pxd` has the types of fields that are read and written without a guard.

With the interpreter lock, the guards of both builds do nothing, but those of plain Python on CPython 3.10.
"""

from __future__ import annotations

import os
import sys
import threading
from functools import wraps
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TypeVar

    _F = TypeVar("_F", bound=Callable[..., Any])

# An object's lock is found by its address, so that no object needs a field for it. A thread that waits for one of them
# holds another only if a finalizer ran under it.
_LOCKS: Final = [threading.RLock() for _ in range(256)]
_BEHIND_ALIGNMENT: Final = 4


def _after_fork() -> None:
    """Replace the locks that threads of the parent hold: this child process has not those that would release them."""
    for place, lock in enumerate(_LOCKS):
        if lock.acquire(blocking=False):
            lock.release()
        else:
            _LOCKS[place] = threading.RLock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


def _exclusive(function: _F) -> _F:
    @wraps(function)
    def alone(guarded: object, *others: object) -> object:
        with _LOCKS[id(guarded) >> _BEHIND_ALIGNMENT & 255]:
            return function(guarded, *others)

    return alone  # type: ignore[return-value]  # of the same signature


def _as_it_is(function: _F) -> _F:
    return function


# Decorates a function: no two threads run such functions with the same first argument at the same time. The build hook
# replaces it with Cython's decorator of this name, a critical section of CPython: it is left while the thread waits for
# a lock, so a function checks and writes without a call in between that may wait. Changing a dict or a list waits for
# whoever is reading it, so it is read in a section, too, until it no longer changes.
# With the interpreter lock, such functions need no guard: between a check and the store that depends on it they have
# nothing at which CPython switches threads. CPython 3.10 does so at conditional jumps, too, and runs signal handlers
# there.
IS_INTERRUPTED_AT_JUMPS: Final = sys.version_info < (3, 11)
critical_section = _exclusive if IS_INTERRUPTED_AT_JUMPS or "free-threading build" in sys.version else _as_it_is
