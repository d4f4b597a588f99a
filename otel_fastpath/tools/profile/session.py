"""One profile of this process, from its start to the written recording: by time, by Ctrl-C, and in forked children."""

from __future__ import annotations

import atexit
import contextlib
import os
import sys
import threading
import time
from typing import TYPE_CHECKING, Final

from otel_fastpath.patching import faults
from otel_fastpath.tools.profile.profile_file import Recording
from otel_fastpath.tools.profile.sampler import RATE, ProfileError, Sampler

if TYPE_CHECKING:
    from pathlib import Path

# A file with this suffix says that a process has begun.
STARTED: Final = ".started"
# This file says to all of them that they are to end.
FINISH: Final = "finish"
_current: ProfileSession | None = None


class ProfileSession:
    """A profile whose recording is written to a folder.

    Args:
        folder: The folder.
        seconds: How long it takes; None: until `finish` is called or the process ends.
        requests: The number of requests after which it ends before that; 0: it does not.
        rate: Samples in a second of CPU time.
        in_children: Whether forked children are profiled, too.
    """

    def __init__(
        self,
        folder: Path,
        seconds: float | None = None,
        requests: int = 0,
        rate: float = RATE,
        *,
        in_children: bool = True,
    ) -> None:
        self.folder = folder
        self.seconds = seconds
        self.requests = requests
        self.rate = rate
        self.in_children = in_children
        self._sampler = Sampler(rate, self._end_in_time)
        self._began = time.monotonic()
        self._process = os.getpid()
        self._is_written = threading.Lock()

    def start(self) -> None:
        """Begin.

        Raises:
            ProfileError: See `Sampler.start`; or another profile of this process is running.
        """
        global _current
        if _current is not None:
            raise ProfileError("this process is being profiled already")
        self._sampler.start()
        _current = self
        with contextlib.suppress(OSError):
            (self.folder / f"{self._process}{STARTED}").touch()
        # Before Python restores the default action of the signal, which ends the process.
        atexit.register(self.finish)

    def finish(self) -> None:
        """End, and write the recording if that was not done; any thread may call this. Never raises."""
        global _current
        if self._process != os.getpid() or not self._is_written.acquire(blocking=False):
            return
        try:
            if threading.current_thread() is threading.main_thread():
                self._sampler.stop()
            else:
                self._sampler.pause()
            recorded(self._sampler).write(self.folder)
        except FileNotFoundError:
            pass  # the command has ended, and nobody wants the recording any more
        except Exception as error:
            faults.report("profile", error)
        finally:
            if _current is self:
                _current = None
            with contextlib.suppress(Exception):
                atexit.unregister(self.finish)

    def _end_in_time(self) -> None:
        """End if the time is over, the requests were served, or the command says so."""
        is_over = self.seconds is not None and time.monotonic() > self._began + self.seconds
        is_served = self.requests and self._sampler.calls.requests() >= self.requests
        if is_over or is_served or not self.folder.exists() or (self.folder / FINISH).exists():
            self.finish()

    def in_child(self) -> None:
        """In a forked child, begin anew: it has none of the parent's timers and threads."""
        global _current
        _current = None
        self._sampler.forget()
        if self.in_children:
            ProfileSession(self.folder, self.seconds, self.requests, self.rate).start()


def is_running() -> bool:
    """Whether this process is being profiled."""
    return _current is not None


def recorded(sampler: Sampler) -> Recording:
    """The recording of a sampler that was stopped, with the state of otel-fastpath's patches in this process."""
    found = Recording.of(sampler)
    instrumentor = sys.modules.get("otel_fastpath.instrumentor")
    compiled = sys.modules.get("otel_fastpath.compiled")
    if instrumentor is not None and compiled is not None:
        status = instrumentor.FastpathInstrumentor()
        if status.is_instrumented_by_opentelemetry:
            found.patches = [(row.name, row.target, row.state.value) for row in status.status()]
            found.core = compiled.implementation()[0]
            names = {target.rpartition(".")[2].rpartition(":")[2] for _, target, _ in found.patches}
            found.compiled = sorted(sampler.native.names() | names)
    return found


def _after_fork() -> None:
    if _current is not None:
        try:
            _current.in_child()
        except Exception as error:
            faults.report("profile", error)


# Not on Windows.
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
