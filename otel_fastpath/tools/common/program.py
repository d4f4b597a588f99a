"""Runs a program: its environment in each leg, the process, and what uses it."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING, Final

from otel_fastpath.tools.common.injected.otel_fastpath_rule import ADD
from otel_fastpath.tools.common.load import status_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from otel_fastpath.tools.common.loopback import Loopback

BARE: Final = "bare"
STOCK: Final = "stock"
FASTPATH: Final = "fastpath"
LAUNCHER: Final = "opentelemetry-instrument"
_DISABLED: Final = "OTEL_PYTHON_DISABLED_INSTRUMENTATIONS"
# What would send telemetry somewhere else.
_REMOVED: Final = tuple(
    f"OTEL_EXPORTER_OTLP_{signal}{name}"
    for signal in ("", "TRACES_", "METRICS_", "LOGS_")
    for name in ("ENDPOINT", "HEADERS", "CERTIFICATE", "CLIENT_KEY", "CLIENT_CERTIFICATE", "INSECURE")
)
_PROTOCOLS: Final = tuple(f"OTEL_EXPORTER_OTLP{signal}_PROTOCOL" for signal in ("", "_TRACES", "_METRICS", "_LOGS"))
_EXPORTERS: Final = tuple(f"OTEL_{signal}_EXPORTER" for signal in ("TRACES", "METRICS", "LOGS"))
# How long a program may take to be ready.
START_S: Final = 60.0
_STOP_S: Final = 10.0
_STEP_S: Final = 0.1
_LAST_LINES: Final = 5
# Bytes; a program may print without end.
_LONGEST_END: Final = 2000
_LONGEST_LINE: Final = 200


class ProgramError(Exception):
    """The program cannot be run; the message is one line, with the end of what was printed."""


@dataclass(frozen=True)
class Program:
    """What is run.

    Attributes:
        loopback: What starts it, so that it reaches this machine only.
        command: The program and its arguments.
        is_as_it_is: Whether it sets OpenTelemetry up by itself; otherwise it is run by `opentelemetry-instrument`.
        seconds: How long it runs at most; None: until it ends.
        ready: The URL that answers once the program, a server, is ready; empty: it is ready at once.
        load: A command that uses the program, which is stopped afterwards; empty for none.
        load_name: What an error calls this command; empty: the command itself.
        is_added: Whether otel-fastpath is added to a program that sets OpenTelemetry up by itself.
        environ: The environment that it would have without this command; None: the one of this process.
    """

    loopback: Loopback
    command: tuple[str, ...]
    is_as_it_is: bool = False
    seconds: float | None = None
    ready: str = ""
    load: tuple[str, ...] = ()
    load_name: str = ""
    is_added: bool = False
    environ: Mapping[str, str] | None = None

    @contextlib.contextmanager
    def started(self, leg: str, endpoint: str, output: IO[bytes]) -> Iterator[subprocess.Popen[bytes]]:
        """Start the program; at the end of the block, stop it and what it has started.

        Args:
            leg: `BARE`, `STOCK` or `FASTPATH`.
            endpoint: Where its telemetry goes.
            output: What it prints goes there.

        Raises:
            ProgramError: It cannot be started, or is not ready in time.
        """
        environment = surroundings(os.environ if self.environ is None else self.environ, leg, endpoint)
        if shutil.which(self.command[0], path=environment["PATH"]) is None:
            # The launcher would fail with a traceback.
            name = self.command[0] or repr("")
            raise ProgramError(f"{name}: no such program")
        if leg == FASTPATH and self.is_added:
            environment[ADD] = "1"
        launcher = [] if leg == BARE else self._launcher(environment)
        with self._started([*launcher, *self.command], environment, output) as process:
            self._wait_until_ready(process, output)
            yield process

    def run(self, leg: str, endpoint: str, output: IO[bytes]) -> int:
        """Run the program once, until it or the load ends.

        Args:
            leg: See `started`.
            endpoint: Likewise.
            output: Likewise.

        Returns:
            Its exit status; 0 if it was stopped because its time or the load had ended.

        Raises:
            ProgramError: A command cannot be started, the program is not ready in time, or the load fails.
        """
        with self.started(leg, endpoint, output) as process:
            if not self.load:
                return self._wait(process)
            with self._started(self.load, os.environ, output) as load:
                status = load.wait(self.seconds)
            if status:
                name = self.load_name or f"--load {' '.join(self.load)}"
                raise ProgramError(f"{name} ended with exit status {status}{last_lines(output)}")
            return 0

    @contextlib.contextmanager
    def _started(
        self, command: Sequence[str], environment: Mapping[str, str], output: IO[bytes]
    ) -> Iterator[subprocess.Popen[bytes]]:
        """Start a process in a group of its own; at the end of the block, stop it and what it has started."""
        try:
            process = self.loopback.popen(
                command,
                environment,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        except OSError as error:
            raise ProgramError(f"{command[0]}: {error.strerror}") from None
        try:
            yield process
        finally:
            stop(process)

    @property
    def is_launched(self) -> bool:
        """Whether the command runs `opentelemetry-instrument` itself."""
        return Path(self.command[0]).stem == LAUNCHER

    def _launcher(self, environment: Mapping[str, str]) -> list[str]:
        if self.is_as_it_is or self.is_launched:
            return []
        found = shutil.which(LAUNCHER, path=environment["PATH"])
        if found is None:
            raise ProgramError(f"{LAUNCHER} is not installed: pip install opentelemetry-distro")
        return [found]

    def _wait(self, process: subprocess.Popen[bytes]) -> int:
        try:
            return process.wait(self.seconds)
        except subprocess.TimeoutExpired:
            return 0

    def _wait_until_ready(self, process: subprocess.Popen[bytes], output: IO[bytes]) -> None:
        end = time.monotonic() + START_S
        while self.ready and status_of(self.ready) is None:
            if process.poll() is not None:
                status = f"exit status {process.returncode}"
                raise ProgramError(f"the program ended with {status} before it was ready{last_lines(output)}")
            if time.monotonic() > end:
                raise ProgramError(f"{self.ready} did not answer within {START_S:g} seconds{last_lines(output)}")
            time.sleep(_STEP_S)


def redirected(environ: Mapping[str, str], endpoint: str) -> dict[str, str]:
    """An environment in which OTLP, over HTTP or gRPC, goes to an endpoint of this machine."""
    found = {name: value for name, value in environ.items() if name not in _REMOVED}
    return {**found, "OTEL_EXPORTER_OTLP_ENDPOINT": endpoint, "OTEL_FASTPATH_START_LINE": "off"}


def surroundings(environ: Mapping[str, str], leg: str, endpoint: str) -> dict[str, str]:
    """The environment of a leg: the given one, with telemetry sent to the endpoint, and otel-fastpath off or on."""
    found = redirected(environ, endpoint)
    # A signal that is off stays off, unless all are; one that goes another way is sent by OTLP.
    off = [name for name in _EXPORTERS if environ.get(name, "").strip() == "none"]
    for name in _EXPORTERS:
        if len(off) == len(_EXPORTERS) or not (name in off or environ.get(name, "").startswith("otlp")):
            found[name] = "otlp"
    found |= {
        **{name: "http/protobuf" for name in _PROTOCOLS if found.get(name, "") not in {"grpc", "http/protobuf"}},
        # A full queue drops spans, and then nothing can be compared.
        "OTEL_BSP_MAX_QUEUE_SIZE": "1000000",
        "OTEL_BLRP_MAX_QUEUE_SIZE": "1000000",
        # Sets have the same order in each run.
        "PYTHONHASHSEED": environ.get("PYTHONHASHSEED", "0"),
        "PATH": os.pathsep.join((str(Path(sys.executable).parent), environ.get("PATH", os.defpath))),
    }
    if leg == BARE:
        # If the program sets OpenTelemetry up by itself, or is started by `opentelemetry-instrument`.
        found["OTEL_SDK_DISABLED"] = "true"
        found[_DISABLED] = "*"
    if leg == STOCK:
        found[_DISABLED] = ",".join(filter(None, (environ.get(_DISABLED), "fastpath")))
    if leg != FASTPATH:
        # If the program instruments explicitly.
        found["OTEL_FASTPATH_DISABLED"] = "*"
    return found


def why_not_loaded() -> str:
    """Why a program that was to be run with otel-fastpath did not load it."""
    disabled = os.environ.get(_DISABLED, "")
    if "fastpath" in disabled or disabled.strip() == "*":
        return f"{_DISABLED} is {disabled}"
    return "it is not installed in the program's environment, or a launcher leaves it out"


def without_dashes(command: Sequence[str]) -> tuple[str, ...]:
    """A command as argparse's REMAINDER has it, without the "--" that may be before it."""
    return tuple(command[1:] if command[:1] == ["--"] else command)


def last_lines(output: IO[bytes]) -> str:
    """The end of what a program has printed, to be appended to an error; empty if there is nothing."""
    lines = [line[-_LONGEST_LINE:] for line in _end_of(output).decode(errors="replace").splitlines() if line.strip()]
    return f": {' / '.join(lines[-_LAST_LINES:])}" if lines else ""


def _end_of(output: IO[bytes]) -> bytes:
    place = max(os.fstat(output.fileno()).st_size - _LONGEST_END, 0)
    if hasattr(os, "pread"):
        # Without moving the place at which the program, whose file it is, too, writes next.
        return os.pread(output.fileno(), _LONGEST_END, place)
    output.seek(place)
    return output.read()


def stop(process: subprocess.Popen[bytes]) -> None:
    """Stop a process, and whatever is left of the group that it leads, if it leads one."""
    try:
        # As Ctrl-C does: the program ends in good order, and its telemetry is exported.
        for number in (signal.SIGINT, signal.SIGTERM):
            if process.poll() is None:
                process.send_signal(number)
                with contextlib.suppress(subprocess.TimeoutExpired):
                    process.wait(_STOP_S)
    finally:
        # Also if somebody who does not want to wait so long interrupts this.
        if hasattr(os, "killpg"):
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(process.pid, signal.SIGKILL)
        process.kill()
        process.wait()
