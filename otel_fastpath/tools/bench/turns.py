"""Runs a service of the user's in each way, with requests to it and a receiver of its telemetry."""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections import Counter
from dataclasses import replace
from importlib import metadata
from typing import TYPE_CHECKING, Final, NamedTuple

from otel_fastpath.tools.common import cpu
from otel_fastpath.tools.common.load import Load, load
from otel_fastpath.tools.common.loopback import Loopback
from otel_fastpath.tools.common.program import BARE, FASTPATH, STOCK, Program, ProgramError, last_lines, why_not_loaded
from otel_fastpath.tools.common.receiver import Receiver, of_requests

if TYPE_CHECKING:
    import argparse
    import subprocess
    from collections.abc import Iterator, Mapping
    from types import TracebackType
    from typing import IO

WAYS: Final = (BARE, STOCK, FASTPATH)
# The run that finds out whether the service sets OpenTelemetry up by itself.
_ALONE: Final = "alone"
# Imports, pools and caches are filled.
WARM_UP_S: Final = 1.0
# More failed requests than this share, and there is no figure.
_MOST_FAILURES: Final = 0.01
_INSTRUMENTORS: Final = "opentelemetry_instrumentor"


class Turn(NamedTuple):
    """One measurement of one way.

    Attributes:
        rate: Requests a second.
        microseconds: CPU time of the service a request.
        failed: Requests that failed.
        received: Spans, metrics and log records that were received, by signal, without those of the process.
        requests: All requests that were answered.
    """

    rate: float
    microseconds: float
    failed: int
    received: dict[str, int]
    requests: int


class Turns:
    """Runs the service, while it is used in a `with` statement.

    Args:
        options: Those of the command.
        command: Starts the service.

    Raises:
        AllowError: See `Loopback`.
    """

    def __init__(self, options: argparse.Namespace, command: tuple[str, ...]) -> None:
        self._options = options
        self._loops = {way: Loopback(options.allow) for way in (_ALONE, *WAYS)}
        self._receiver = Receiver()
        self.program = Program(self._loops[_ALONE], command, ready=options.url)

    def __enter__(self) -> Turns:  # noqa: PYI034  # Self is not in Python 3.10
        """Nothing has to begin."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Close what was opened."""
        self._receiver.__exit__(kind, error, traceback)
        for loop in self._loops.values():
            loop.__exit__(kind, error, traceback)

    def look(self) -> None:
        """Find out whether the service sets OpenTelemetry up by itself, and whether it does so with otel-fastpath.

        Raises:
            ProgramError: It does not run, or does not answer.
        """
        if self.program.is_launched:
            return
        self.program = replace(self.program, is_as_it_is=True)
        self._run(STOCK, _ALONE, 0.0)
        is_own = bool(of_requests(self._receiver.counts(_ALONE)))
        is_added = is_own and not self._loops[_ALONE].imports_fastpath()
        self.program = replace(self.program, is_as_it_is=is_own or self._options.as_is, is_added=is_added)

    def turn(self, way: str) -> Turn:
        """Measure one way.

        Raises:
            ProgramError: The service does not run or does not answer; or what was received says that this is not the
                way that is to be measured.
        """
        before, found, seconds, printed = self._run(way, way, self._options.seconds)
        counts = of_requests(self._receiver.counts(way))
        if way != BARE:
            self.check_received(way, printed)
        if way == BARE and counts:
            raise ProgramError(
                f"OTEL_SDK_DISABLED=true does not turn this service's telemetry off: {_summary(counts)} were received, "
                "so that it cannot be said what telemetry costs"
            )
        if way == FASTPATH and not self._loops[way].imports_fastpath():
            raise ProgramError(f"otel-fastpath was not loaded in the service: {why_not_loaded()}{printed}")
        received: Counter[str] = Counter()
        for (signal, _), number in counts.items():
            received[signal] += number
        return Turn(
            found.requests / found.seconds,
            seconds / found.requests * 1e6,
            found.failed,
            dict(received),
            before.requests + found.requests,
        )

    def check_received(self, way: str, printed: str = "") -> None:
        """Raise a `ProgramError` if the last run of a way with telemetry has sent none of requests.

        Args:
            way: One of `WAYS`.
            printed: What the service printed at the end, as `last_lines` has it.
        """
        if not of_requests(self._receiver.counts(way)):
            raise ProgramError(f"no telemetry of requests was received: {next(self._reasons(way))}{printed}")

    @contextlib.contextmanager
    def serving(
        self, way: str, name: str, environ: Mapping[str, str] | None = None, output: IO[bytes] | None = None
    ) -> Iterator[subprocess.Popen[bytes]]:
        """Run the service in one way during the block; what was received before is dropped.

        Args:
            way: One of `WAYS`.
            name: Of the run, as for `bodies`.
            environ: See `Program`.
            output: What it prints goes there.
        """
        self._receiver.forget()
        program = replace(self.program, loopback=self._loops[name], environ=environ)
        with contextlib.ExitStack() as opened:
            file = opened.enter_context(tempfile.TemporaryFile()) if output is None else output
            yield opened.enter_context(program.started(way, self._receiver.endpoint(name), file))

    def bodies(self, name: str, signal: str) -> list[bytes]:
        """What the last run of this name has sent: see `Receiver.bodies`."""
        return self._receiver.bodies(name, signal)

    def notes(self) -> tuple[str, ...]:
        """What was refused, and what telemetry was on without telemetry."""
        notes = [note for loop in self._loops.values() for note in loop.notes()]
        if self._loops[BARE].refusals():
            notes.append(
                "some of these were tried without telemetry, too: OTEL_SDK_DISABLED=true does not turn them off"
            )
        return tuple(dict.fromkeys(notes))

    def _run(self, way: str, name: str, seconds: float) -> tuple[Load, Load, float, str]:
        """Run the service once; returns the requests before and in the measurement, its CPU time, its last lines."""
        options = self._options
        with tempfile.TemporaryFile() as output:
            with self.serving(way, name, output=output) as process:
                before = load(options.url, options.clients, WARM_UP_S, options.status)
                self._check(before, process.poll(), output)
                start = cpu.group_seconds(process.pid)
                found = load(options.url, options.clients, seconds, options.status) if seconds else before
                used = cpu.group_seconds(process.pid) - start
                self._check(found, process.poll(), output)
                # Not what it says about being stopped.
                printed = last_lines(output)
            return before, found, used, printed

    def _check(self, found: Load, status: int | None, output: IO[bytes]) -> None:
        if status is not None:
            raise ProgramError(f"the service ended with exit status {status}{last_lines(output)}")
        if found.failed <= _MOST_FAILURES * found.requests:
            return
        what = ", ".join(f"{count} x {name}" for name, count in found.failures.most_common(3))
        if any(name.startswith("status ") for name in found.failures):
            what += " (--status CODE if that is the answer to measure)"
        if not found.requests:
            raise ProgramError(f"{self._options.url} does not answer as expected: {what}{last_lines(output)}")
        raise ProgramError(f"{found.failed} of {found.failed + found.requests} requests failed: {what}")

    def _reasons(self, way: str) -> Iterator[str]:
        if os.environ.get("OTEL_SDK_DISABLED", "").strip().lower() == "true":
            yield "OTEL_SDK_DISABLED is true"
        if not self.program.is_as_it_is and not self.program.is_launched:
            why = why_not_installed()
            if why:
                yield why
        places = sorted({each.place for each in self._loops[way].refusals()})
        if places:
            yield (
                f"the service did not send it by OTLP to OTEL_EXPORTER_OTLP_ENDPOINT, and {', '.join(places)} "
                "was refused"
            )
        yield "neither the service nor opentelemetry-instrument has set up OpenTelemetry and an instrumentation"


def why_not_installed() -> str:
    """What opentelemetry-instrument does not find in this environment; empty if nothing is missing."""
    if os.environ.get("OTEL_PYTHON_DISABLED_INSTRUMENTATIONS", "").strip() == "*":
        return "OTEL_PYTHON_DISABLED_INSTRUMENTATIONS is *"
    if not metadata.entry_points(group="opentelemetry_configurator"):
        return "no distro is installed, which sets up OpenTelemetry: pip install opentelemetry-distro"
    exporters = {each.name for each in metadata.entry_points(group="opentelemetry_traces_exporter")}
    if not exporters & {"otlp", "otlp_proto_http"}:
        return "no exporter is installed: pip install opentelemetry-exporter-otlp-proto-http"
    if not {each.name for each in metadata.entry_points(group=_INSTRUMENTORS)} - {"fastpath"}:
        return "no instrumentation is installed: opentelemetry-bootstrap --action=install"
    return ""


def _summary(counts: Counter[tuple[str, str]]) -> str:
    signals: Counter[str] = Counter()
    for (signal, _), number in counts.items():
        signals[signal] += number
    return ", ".join(f"{number} items of {signal}" for signal, number in signals.items())
