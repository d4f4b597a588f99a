"""`otel-fastpath bench --url`: a service of the user's under load, three ways in turns."""

from __future__ import annotations

import sys
import tempfile
from collections import defaultdict
from statistics import median
from typing import TYPE_CHECKING, Any, Final, NamedTuple
from urllib.parse import urlsplit

from otel_fastpath.budget import declare, environment
from otel_fastpath.budget.outputs import UsageError, write
from otel_fastpath.budget.render import progress
from otel_fastpath.budget.render import report as rendering
from otel_fastpath.budget.render.document import BAD, GOOD, PLAIN, UNSURE, Cell, Document, Table, figure
from otel_fastpath.budget.results import SCHEMA, Exit
from otel_fastpath.trial import cpu
from otel_fastpath.trial.load import load
from otel_fastpath.trial.program import BARE, FASTPATH, STOCK, Program, ProgramError, last_lines, without_dashes
from otel_fastpath.trial.receiver import Receiver

if TYPE_CHECKING:
    import argparse

WAYS: Final = (BARE, STOCK, FASTPATH)
_COLUMNS: Final = ("way", ">requests/s", ">CPU us a request", ">telemetry adds", ">of stock's", ">failed requests")
# Imports, pools and caches are filled.
_WARM_UP_S: Final = 1.0


class Turn(NamedTuple):
    """One measurement of one way.

    Attributes:
        rate: Requests a second.
        microseconds: CPU time of the service a request.
        failed: Requests that failed.
    """

    rate: float
    microseconds: float
    failed: int


def run(options: argparse.Namespace) -> int:
    """Run the command and return its exit status."""
    program = _program(options)
    turns: dict[str, list[Turn]] = defaultdict(list)
    show = progress.bar(sys.stderr, wanted=not options.no_progress)
    total = options.rounds * len(WAYS)
    with Receiver() as receiver:
        for number in range(total):
            # Each way is the first one in some round: the machine's state changes.
            way = WAYS[(number + number // len(WAYS)) % len(WAYS)]
            show(number, total, way)
            try:
                turns[way].append(_turn(program, way, receiver.endpoint(way), options))
            except ProgramError as error:
                show(total, total, "")
                sys.stderr.write(f"otel-fastpath bench: {way}: {error}\n")
                return int(Exit.NOT_MEASURED)
            receiver.forget()
    show(total, total, "")
    facts = environment.facts(declare.DEFAULT_DISTRIBUTIONS)
    machine = {
        "schema": SCHEMA,
        "url": options.url,
        "facts": facts,
        "ways": {way: [each._asdict() for each in turns[way]] for way in WAYS},
    }
    write(options, _document(turns, options.url, rendering.facts(facts)), machine)
    return int(Exit.HELD)


def _program(options: argparse.Namespace) -> Program:
    parts = urlsplit(options.url)
    if parts.scheme not in {"http", "https"} or not parts.hostname:
        raise UsageError(f"--url {options.url}: expected a URL such as http://127.0.0.1:8000/orders")
    command = without_dashes(options.command)
    if not command:
        raise UsageError("--url: expected the command that starts the service, e.g. uvicorn app:app")
    if options.clients < 1 or not options.seconds > 0:
        raise UsageError("--clients and --seconds: expected numbers above 0")
    if why := cpu.why_not():
        raise UsageError(f"--url: {why}")
    return Program(command, ready=options.url)


def _turn(program: Program, way: str, endpoint: str, options: argparse.Namespace) -> Turn:
    with tempfile.TemporaryFile() as output, program.started(way, endpoint, output) as process:
        load(options.url, options.clients, _WARM_UP_S)
        before = cpu.group_seconds(process.pid)
        found = load(options.url, options.clients, options.seconds)
        seconds = cpu.group_seconds(process.pid) - before
        status = process.poll()
        if status is not None or not found.requests:
            problem = "does not answer" if status is None else f"ended with exit status {status}"
            raise ProgramError(f"the service {problem}{last_lines(output)}")
    return Turn(found.requests / found.seconds, seconds / found.requests * 1e6, found.failed)


def _document(turns: dict[str, list[Turn]], url: str, facts: Any) -> Document:
    added = {way: _added(turns, way) for way in (STOCK, FASTPATH)}
    rows = tuple(_row(turns, way, added) for way in WAYS)
    return Document(
        title=f"What telemetry costs this service: {url}",
        summary=_summary(added),
        tables=(Table(_COLUMNS, rows),),
        facts=facts,
        notes=(
            "medians over the rounds on this machine at this moment; the telemetry was received on this machine",
            "CPU is that of the service and its workers, user and system",
        ),
    )


def _added(turns: dict[str, list[Turn]], way: str) -> list[float]:
    """What telemetry added in each round, in microseconds a request."""
    return [mine.microseconds - bare.microseconds for mine, bare in zip(turns[way], turns[BARE], strict=True)]


def _row(turns: dict[str, list[Turn]], way: str, added: dict[str, list[float]]) -> tuple[Cell, ...]:
    rounds = turns[way]
    more, share = "", ""
    if way in added:
        more = figure(round(median(added[way]), 1))
        share = f"{median(added[way]) / median(added[STOCK]):.0%}" if median(added[STOCK]) > 0 else "-"
    failed = sum(each.failed for each in rounds)
    return (
        Cell(way),
        Cell(figure(round(median(each.rate for each in rounds)))),
        Cell(figure(round(median(each.microseconds for each in rounds), 1))),
        Cell(more),
        Cell(share),
        Cell(str(failed), BAD if failed else PLAIN),
    )


def _summary(added: dict[str, list[float]]) -> Cell:
    if min(added[STOCK]) <= 0:
        return Cell("the cost of stock OpenTelemetry cannot be told from noise: use more --seconds or --rounds", UNSURE)
    saved = [1 - ours / stock for ours, stock in zip(added[FASTPATH], added[STOCK], strict=True)]
    spread = f"{min(saved):.0%} to {max(saved):.0%} over {len(saved)} rounds"
    return Cell(f"otel-fastpath takes away {median(saved):.0%} of what telemetry costs ({spread})", GOOD)
