"""Samples of where a process spends its CPU time, taken in the process itself.

A timer of the main thread's CPU time (see `timer`) sends SIGPROF; Python calls the handler in that thread between two
instructions. The handler records the stack and the CPU time that the main thread used since the last sample. The other
threads are looked at by a thread of our own (see `threads`).

A process that waits has no samples, and next to no cost. Nothing of this is active before
`Sampler.start` and after `Sampler.stop`.
"""

from __future__ import annotations

import gc
import os
import signal
import threading
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final

from otel_fastpath.patching import faults
from otel_fastpath.tools.profile.attribution.call_counts import HookCalls
from otel_fastpath.tools.profile.compiled_code import Native
from otel_fastpath.tools.profile.threads import Threads
from otel_fastpath.tools.profile.timer import Timer

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import CodeType, FrameType

    # The index of the compiled module that was running, or -1; then for each frame, the innermost one first, the `id`
    # of its code object and the offset of its instruction.
    from otel_fastpath.tools.profile.threads import Key

# Samples in a second of CPU time. The kernel's tick is often 4 ms; a round number could keep step with the work.
RATE: Final = 97.0
_SECOND: Final = 1.0
# A stack is cut at so many frames, and so many different ones are kept.
_DEEPEST: Final = 250
_MOST_STACKS: Final = 40_000
# How long a signal of the timer may be on its way, in seconds.
_UNDER_WAY: Final = 0.01
THREAD: Final = "otel-fastpath-profile"


class ProfileError(Exception):
    """A profile cannot be taken here; the message is one line."""


class Sampler:
    """Takes samples of this process, from `start` to `stop`.

    Args:
        rate: Samples in a second of CPU time.
        on_turn: Called by the profile's own thread, once a second.

    Attributes:
        codes: The code objects of the samples and the names of their modules, by the `id` of the code object.
        main: The samples of the main thread, one dict for each second: stack -> CPU time in nanoseconds.
        others: The samples of the other threads.
        calls: Counts the calls of hooks.
        native: Knows the compiled modules.
        own_ns: The CPU time of the profile itself.
        collecting_ns: The CPU time of garbage collections in the main thread.
        lost_ns: The CPU time of stacks that were not kept, because there were too many different ones.
    """

    def __init__(self, rate: float = RATE, on_turn: Callable[[], object] | None = None) -> None:
        self.codes: dict[int, tuple[CodeType, str]] = {}
        self.main: list[dict[Key, int]] = [{}]
        self.others = Threads(rate, lambda frame: (-1, *self._stack(frame)))
        self.calls = HookCalls()
        self.native = Native()
        self.samples = self.own_ns = self.collecting_ns = self.lost_ns = 0
        self.wall_ns = self.cpu_ns = 0
        self._timer = Timer(rate)
        self._on_turn = on_turn
        self._last = self._kept = self._collecting_since = 0
        self._is_sampling = False
        self._stopped = threading.Event()
        self._previous: Any = signal.SIG_DFL
        self._exec: dict[str, tuple[Any, Any]] = {}

    def start(self) -> None:
        """Begin to take samples.

        Raises:
            ProfileError: This is not the main thread, the system has no such timer, or something else uses it.
        """
        check()
        present = signal.signal(signal.SIGPROF, self._sample)
        ended = getattr(present, "__self__", None)
        # A profile that another thread ended has left its handler, which does nothing.
        self._previous = ended._previous if isinstance(ended, Sampler) else present
        # System calls of C code that does not expect to be interrupted go on after the signal.
        signal.siginterrupt(signal.SIGPROF, False)  # noqa: FBT003  # the function has no keywords
        self.native.watch()
        self._keep_exec()
        gc.callbacks.append(self._on_gc)
        self._is_sampling = True
        self._began, self._cpu_began = time.perf_counter_ns(), time.process_time_ns()
        self._last = time.thread_time_ns()
        self.others.start()
        self._thread = threading.Thread(target=self._look, name=THREAD, daemon=True)
        self._thread.start()
        self._timer.start()

    def pause(self) -> None:
        """Take no more samples. Any thread may call this; the handler of the signal stays and does nothing."""
        if not self._is_sampling:
            return
        self._is_sampling = False
        self._timer.stop()
        self.wall_ns = time.perf_counter_ns() - self._began
        self.cpu_ns = time.process_time_ns() - self._cpu_began
        self._stopped.set()
        if threading.current_thread() is not self._thread:
            # It may be looking; what it found is to be in the last second.
            self._thread.join(_SECOND)
        self.others.end()
        self._let_go()

    def _let_go(self) -> None:
        """Undo what `start` changed besides the signal."""
        self.calls.stop()
        with suppress(ValueError):
            gc.callbacks.remove(self._on_gc)
        for name, (ours, original) in self._exec.items():
            if getattr(os, name) is ours:
                setattr(os, name, original)

    def stop(self) -> None:
        """Take no more samples, and restore the handler of the signal: the main thread calls this."""
        self.pause()
        if getattr(signal.getsignal(signal.SIGPROF), "__self__", None) is self:
            # A signal that is still on its way would end the process, if its default action were restored at once.
            time.sleep(_UNDER_WAY)
            signal.signal(signal.SIGPROF, self._previous)

    def forget(self) -> None:
        """In a forked child: the timer and the threads are the parent's; the signal does nothing here."""
        self._is_sampling = False
        self._stopped.set()
        self.others.restore()
        self._let_go()
        signal.signal(signal.SIGPROF, self._previous)

    def _sample(self, _number: int, frame: FrameType | None) -> None:
        now = time.thread_time_ns()
        try:
            compiled = self.native.take()
            if self._is_sampling:
                self._add((compiled, *self._stack(frame)), now - self._last)
        except Exception as error:  # raised here, it would be raised in the host
            faults.report("profile", error)
        self._last = time.thread_time_ns()
        self.own_ns += self._last - now

    def _add(self, key: Key, weight: int) -> None:
        self.samples += 1
        stacks = self.main[-1]
        if key in stacks:
            stacks[key] += weight
        elif self._kept < _MOST_STACKS:
            self._kept += 1
            stacks[key] = weight
        else:
            self.lost_ns += weight

    def _stack(self, frame: FrameType | None) -> list[int]:
        found: list[int] = []
        add, codes = found.append, self.codes
        left = _DEEPEST
        while frame is not None and left:
            code = frame.f_code
            key = id(code)
            if key not in codes:
                codes[key] = code, str(frame.f_globals.get("__name__", ""))
            add(key)
            add(frame.f_lasti)
            frame = frame.f_back
            left -= 1
        return found

    def _on_gc(self, phase: str, _facts: Any) -> None:
        if threading.get_ident() != threading.main_thread().ident:
            return
        if phase == "start":
            self._collecting_since = time.thread_time_ns()
        elif self._collecting_since:
            self.collecting_ns += time.thread_time_ns() - self._collecting_since
            self._collecting_since = 0

    def _look(self) -> None:
        """The thread that looks at the other threads."""
        used, wait = 0, 0.0
        turn = time.monotonic() + _SECOND
        while not self._stopped.wait(wait):
            try:
                wait = self.others.look()
                is_second = time.monotonic() >= turn
                if is_second:
                    turn += _SECOND
                    self._end_second()
                now = time.thread_time_ns()
                self.own_ns += now - used
                used = now
                if is_second and self._on_turn is not None:
                    self._on_turn()
            except Exception as error:  # noqa: PERF203  # the next turn may do
                faults.report("profile", error)

    def _end_second(self) -> None:
        self.others.end_second()
        self.calls.count_in([*self.main[-1], *(key for _, key in self.others.seconds[-2])], self.codes)
        self.native.refresh()
        self.main.append({})

    def _keep_exec(self) -> None:
        """Stop before this process becomes another program, which the signal of the timer would end."""
        for name in ("execv", "execve"):
            original = getattr(os, name)
            ours = self._stopping(original)
            self._exec[name] = ours, original
            setattr(os, name, ours)

    def _stopping(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def execute(*args: Any, **keywords: Any) -> Any:
            self.pause()
            return original(*args, **keywords)

        return execute


def check() -> None:
    """Check that a profile can be taken here, and that nothing else uses the timer.

    Raises:
        ProfileError: It cannot.
    """
    if not hasattr(signal, "setitimer"):
        raise ProfileError("this system has no timer of CPU time (signal.setitimer): no profile can be taken")
    if threading.current_thread() is not threading.main_thread():
        raise ProfileError("a profile can be started in the main thread only: Python handles signals there")
    present = signal.getsignal(signal.SIGPROF)
    is_ended = isinstance(getattr(present, "__self__", None), Sampler) and not present.__self__._is_sampling  # type: ignore[union-attr]
    if present not in {signal.SIG_DFL, signal.SIG_IGN} and not is_ended:
        raise ProfileError("this process has a handler for SIGPROF already, as of another profiler: stop that first")
    if any(signal.getitimer(signal.ITIMER_PROF)):
        raise ProfileError("the timer ITIMER_PROF of this process is in use, as by another profiler: stop that first")
