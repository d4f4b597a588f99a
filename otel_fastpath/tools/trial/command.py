"""`otel-fastpath try`: the runs of the service, in the time that there is."""

from __future__ import annotations

import sys
import tempfile
import time
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

from otel_fastpath.status.exchange import complain
from otel_fastpath.tools.bench import saving, service
from otel_fastpath.tools.bench.turns import WARM_UP_S, WAYS, Turns
from otel_fastpath.tools.budget.outputs import UsageError, write
from otel_fastpath.tools.common.exit_codes import Exit
from otel_fastpath.tools.common.load import ask, load
from otel_fastpath.tools.common.loopback import AllowError, Loopback
from otel_fastpath.tools.common.program import FASTPATH, STOCK, Program, ProgramError, without_dashes
from otel_fastpath.tools.common.receiver import Receiver
from otel_fastpath.tools.common.render import progress
from otel_fastpath.tools.profile import analysis
from otel_fastpath.tools.profile import command as profiling
from otel_fastpath.tools.profile.order import Order
from otel_fastpath.tools.trial import addresses, report

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable

    from otel_fastpath.tools.profile.report import Report
    from otel_fastpath.tools.verify.comparing import Comparison

# For the end of the last run, and the report.
_RESERVE_S: Final = 6.0
_LONGEST_S: Final = 4.0
_SHORTEST_S: Final = 1.0
_FEWEST_ROUNDS: Final = 2
# With stock OpenTelemetry twice, because two runs of the same code differ, too.
_COMPARED: Final = (STOCK, FASTPATH, STOCK)
_ASKED: Final = 20
_PROFILED_S: Final = 3.0
_RATE: Final = 97.0


def run(options: argparse.Namespace) -> int:
    """Run the command and return its exit status."""
    command = _command(options)
    show = progress.bar(sys.stderr, wanted=not options.no_progress)
    end = time.monotonic() + options.seconds - _RESERVE_S
    try:
        options.url = options.url or _find_url(options, command)
        with Turns(options, command) as running:
            try:
                found = _try(running, options, end, show)
            except ProgramError as error:
                return _nothing(str(error), running.notes(), show)
    except AllowError as error:
        raise UsageError(str(error)) from None
    except ProgramError as error:
        return _nothing(str(error), (), show)
    write(options, report.document(found), report.machine(found))
    if found.is_different:
        return int(Exit.FAILURE)
    return int(Exit.SUCCESS if found.is_clear else Exit.INCONCLUSIVE)


def _command(options: argparse.Namespace) -> tuple[str, ...]:
    if options.url:
        return service.checked_command(options)
    command = without_dashes(options.command)
    if not command:
        raise UsageError("try: expected the command that starts the service, e.g. otel-fastpath try uvicorn app:app")
    service.check_machine()
    return command


def _nothing(why: str, notes: tuple[str, ...], show: Callable[[int, int, str], None]) -> int:
    show(1, 1, "")
    for line in (why, *notes):
        complain(f"try: {line}")
    return int(Exit.NOT_MEASURED)


def _find_url(options: argparse.Namespace, command: tuple[str, ...]) -> str:
    """The page to ask for."""
    with Loopback(options.allow) as loopback, Receiver() as receiver, tempfile.TemporaryFile() as output:
        program = Program(loopback, command, is_as_it_is=True)
        with program.started(STOCK, receiver.endpoint("found"), output) as process:
            url = addresses.find_url(process, output)
            if not addresses.is_python(process.pid):
                raise ProgramError(
                    f"{command[0]} is not a Python program, and otel-fastpath is for OpenTelemetry in Python"
                )
            return url


def _try(
    running: Turns, options: argparse.Namespace, end: float, show: Callable[[int, int, str], None]
) -> report.TrialResult:
    running.look()
    begun = time.monotonic()
    comparison, why_not = _compare(running, options)
    # What a run of the service takes besides the requests.
    start = (time.monotonic() - begun) / len(_COMPARED)
    left = end - time.monotonic() - start - 2 * _PROFILED_S
    rounds, options.seconds = _pace(left, start)
    turns = service.measure(running, rounds, show)
    profile = _profile(running, options)
    program = running.program
    return report.TrialResult(
        url=options.url,
        command=program.command,
        turns=turns,
        comparison=comparison,
        why_not_compared=why_not,
        profile=profile,
        is_instrumented=program.is_as_it_is or program.is_launched,
        is_added=program.is_added,
        notes=(*_late(time.monotonic() - end, start), *running.notes()),
    )


def _late(seconds: float, start: float) -> tuple[str, ...]:
    """What to say of a trial that took so many seconds more than there were."""
    if seconds <= _RESERVE_S:
        return ()
    why = f"the service takes {start:.0f} s to start and to end, and there are no fewer runs"
    return (f"this took {seconds:.0f} s more than --seconds, because {why}",)


def _pace(left: float, start: float) -> tuple[int, float]:
    """How many rounds there is time for, and how long a measurement is.

    Args:
        left: The seconds that are left.
        start: The seconds that the service takes to start and to end.
    """
    each = start + WARM_UP_S
    seconds = left / (saving.LEAST_ROUNDS * len(WAYS)) - each
    if seconds >= _SHORTEST_S:
        return saving.LEAST_ROUNDS, min(seconds, _LONGEST_S)
    return max(int(left / (len(WAYS) * (each + _SHORTEST_S))), _FEWEST_ROUNDS), _SHORTEST_S


def _compare(running: Turns, options: argparse.Namespace) -> tuple[Comparison | None, str]:
    """Whether the same telemetry arrives for the same requests; or why that is not known."""
    try:
        from otel_fastpath.tools.verify import comparing, export_items  # noqa: PLC0415  # they need OTLP's messages
    except ModuleNotFoundError as error:
        return None, f"{error.name} is not installed: pip install opentelemetry-exporter-otlp-proto-http"
    runs: dict[str, list[list[export_items.Item]]] = {STOCK: [], FASTPATH: []}

    def add(*ways: str) -> None:
        for way in ways:
            with running.serving(way, way):
                ask(options.url, _ASKED)
            if way == STOCK:
                running.check_received(way)
            runs[way].append(export_items.items(partial(running.bodies, way)))

    add(*_COMPARED)
    comparison = comparing.compare(runs[STOCK], runs[FASTPATH][0])
    if comparison.differences:
        # Values that vary now and then: what is a difference is one in another run, too.
        add(FASTPATH, STOCK)
        comparison = comparing.compare_again(runs[STOCK], runs[FASTPATH])
    return comparison, ""


def _profile(running: Turns, options: argparse.Namespace) -> Report | None:
    """A profile of the service with otel-fastpath; None if nothing was recorded."""
    with tempfile.TemporaryDirectory(prefix="otel-fastpath-try-") as name:
        folder = Path(name)
        order = Order(name, None, 0, _RATE)
        with running.serving(FASTPATH, FASTPATH, profiling.environment(order)) as process:
            load(options.url, options.clients, _PROFILED_S, options.status)
            profiling.wait_for_recordings(folder, lambda: process.poll() is None)
        recordings = profiling.read_recordings(folder)
    return analysis.report(recordings) if recordings else None
