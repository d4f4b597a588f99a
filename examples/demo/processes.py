"""Processes that are gone when the demo is, however it ends."""

import asyncio
import contextlib
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Coroutine, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Any, TypeVar

import uvloop

T = TypeVar("T")
STOP_S = 20.0
# On a machine that is busy with other things, seven services that start together take minutes.
START_S = 300.0
SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class StartError(RuntimeError):
    """A process that did not come up."""


class Interrupts:
    """Raises KeyboardInterrupt on a signal, but never inside a shielded block.

    A process that was started but not yet noted would be left behind, and so would those that a clean-up had not come
    to yet; so an interrupt waits for the end of such a block.
    """

    def __init__(self) -> None:
        self._shields = 0
        self._pending = False
        self._wake: Callable[[], object] | None = None

    def handle(self, _number: int, _frame: FrameType | None) -> None:
        """Take a signal."""
        if not self._shields:
            raise KeyboardInterrupt
        self._pending = True
        if self._wake is not None:
            self._wake()

    @contextlib.contextmanager
    def shield(self) -> Iterator[None]:
        """Hold interrupts back until the block is done."""
        self._shields += 1
        try:
            yield
        finally:
            self._shields -= 1
            if self._pending and not self._shields:
                self._pending = False
                raise KeyboardInterrupt

    def run(self, coroutine: Coroutine[Any, Any, T]) -> T:
        """Run a coroutine to its end; an interrupt cancels it, and is not raised amid the event loop's own work."""

        async def cancellable() -> T:
            loop, task = asyncio.get_running_loop(), asyncio.ensure_future(coroutine)
            self._wake = lambda: loop.call_soon_threadsafe(task.cancel)
            try:
                return await task
            finally:
                self._wake = None

        with self.shield():
            return uvloop.run(cancellable())


@contextlib.contextmanager
def interrupts() -> Iterator[Interrupts]:
    """Turn SIGINT, SIGTERM and SIGHUP into KeyboardInterrupt for the length of the block."""
    made = Interrupts()
    before = {number: signal.signal(number, made.handle) for number in SIGNALS}
    try:
        yield made
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@dataclass
class Child:
    """A process, where it logs to, and the signal on which it stops in good order."""

    name: str
    process: subprocess.Popen[bytes]
    log: Path
    stop_signal: signal.Signals
    asked: bool = False
    stopped: bool = False

    def ask_to_stop(self) -> None:
        """Ask it to stop, once: a second signal ends some servers before they have flushed."""
        if not self.asked and self.process.poll() is None:
            self.process.send_signal(self.stop_signal)
        self.asked = True

    def stop(self) -> None:
        """Ask it to stop, wait for it, and end whatever is left of its process group."""
        if self.stopped:  # its id may be another process's by now
            return
        self.ask_to_stop()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(STOP_S)
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait(STOP_S)
        self.stopped = True

    def state(self, patience: float = 0.0) -> str:
        """What became of it, and the end of its log; a process that crashes may take a moment to be over."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            return f"ended with {self.process.wait(patience)}:\n{self.last_lines()}"
        return f"is still running:\n{self.last_lines()}"

    def last_lines(self, count: int = 15) -> str:
        """The end of its log."""
        return "\n".join(self.log.read_text(encoding="utf-8", errors="replace").splitlines()[-count:])


class Processes:
    """Starts processes, each with a log of its own; `running` stops them."""

    def __init__(self, logs: Path, scratch: Path, interrupts: Interrupts) -> None:
        self.logs = logs
        self.scratch = scratch
        self.interrupts = interrupts
        self._children: list[Child] = []

    def start(
        self, name: str, command: Sequence[str], *, stop_signal: signal.Signals = signal.SIGINT, **options: Any
    ) -> Child:
        """Start a process in a process group of its own, so that Ctrl-C reaches it only through us.

        Args:
            name: What to call it and its log.
            command: The program and its arguments.
            stop_signal: Sent when it is to stop. uvicorn ends itself by the signal that it was stopped with, and of
                these only SIGINT lets Python flush the telemetry on its way out.
            options: Passed to `subprocess.Popen`.

        Returns:
            The running process.
        """
        log = self.logs / f"{name}.log"
        with log.open("wb") as output, self.interrupts.shield():
            process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=output, stderr=output, start_new_session=True, **options
            )
            child = Child(name, process, log, stop_signal)
            self._children.append(child)
        return child

    def stop(self) -> None:
        """Stop them all, the last one first, and forget their scratch folder."""
        # An interrupt that comes now has nothing left to interrupt.
        with contextlib.suppress(KeyboardInterrupt), self.interrupts.shield(), contextlib.ExitStack() as stack:
            stack.callback(shutil.rmtree, self.scratch, ignore_errors=True)
            for child in self._children:
                stack.callback(child.stop)


@contextlib.contextmanager
def running(logs: Path, interrupts: Interrupts) -> Iterator[Processes]:
    """Give processes a folder for their logs, and a scratch folder that goes away with them.

    Args:
        logs: Where each of them logs to a file of its own.
        interrupts: Kept away from what may not be cut in two.

    Yields:
        What starts them; all are stopped at the end of the block, however it ends.
    """
    logs.mkdir(parents=True, exist_ok=True)
    with interrupts.shield():
        processes = Processes(logs, Path(tempfile.mkdtemp(prefix="otel-fastpath-demo-")), interrupts)
    try:
        yield processes
    finally:
        processes.stop()


def wait_until(ready: Callable[[], bool], child: Child, seconds: float = START_S) -> None:
    """Wait until `ready` says so; say what the process logged if it ends or takes too long."""
    deadline = time.monotonic() + seconds
    while not ready():
        if child.process.poll() is not None:
            raise StartError(f"{child.name} {child.state()}")
        if time.monotonic() > deadline:
            raise StartError(f"{child.name} did not come up within {seconds:.0f} s and {child.state()}")
        time.sleep(0.05)


def listening(port: int) -> bool:
    """Whether something accepts connections on this port of loopback; sends nothing."""
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def free_port() -> int:
    """A port of loopback that nothing listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def clean_environment(extra: Mapping[str, str]) -> dict[str, str]:
    """Our environment without OpenTelemetry's variables, with `extra`; otel-fastpath's own settings are the user's."""
    kept = {
        key: value
        for key, value in os.environ.items()
        if not key.startswith("OTEL_") or key.startswith("OTEL_FASTPATH_")
    }
    return {**kept, "NO_PROXY": "127.0.0.1", "no_proxy": "127.0.0.1", **extra}
