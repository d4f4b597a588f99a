"""`otel-fastpath bench --url`: a service of the user's under load, three ways in turns."""

from __future__ import annotations

import sys
from collections import defaultdict
from statistics import median
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

from otel_fastpath.status.exchange import complain
from otel_fastpath.tools.bench import saving
from otel_fastpath.tools.bench.turns import WAYS, Turn, Turns
from otel_fastpath.tools.budget import declare, environment
from otel_fastpath.tools.budget.outputs import UsageError, write
from otel_fastpath.tools.budget.results import SCHEMA
from otel_fastpath.tools.common import cpu
from otel_fastpath.tools.common.exit_codes import Exit
from otel_fastpath.tools.common.loopback import AllowError, is_here
from otel_fastpath.tools.common.program import BARE, FASTPATH, STOCK, ProgramError, without_dashes
from otel_fastpath.tools.common.render import check_report as rendering
from otel_fastpath.tools.common.render import progress
from otel_fastpath.tools.common.render.document import BAD, GOOD, PLAIN, UNSURE, Cell, Document, Table, figure

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Mapping, Sequence

    from otel_fastpath.tools.bench.saving import EstimatedSaving

_COLUMNS: Final = (
    "way",
    ">requests/s",
    ">CPU us a request",
    ">telemetry adds",
    ">of stock's",
    ">spans a request",
    ">failed requests",
)


def run(options: argparse.Namespace) -> int:
    """Run the command and return its exit status."""
    command = checked_command(options)
    show = progress.bar(sys.stderr, wanted=not options.no_progress)
    try:
        with Turns(options, command) as running:
            try:
                running.look()
                turns = measure(running, options.rounds or saving.LEAST_ROUNDS, show)
            except ProgramError as error:
                for line in (str(error), *running.notes()):
                    complain(f"bench: {line}")
                return int(Exit.NOT_MEASURED)
            notes = (_set_up(running), *running.notes())
    except AllowError as error:
        raise UsageError(str(error)) from None
    found = saving.estimate(*([each.microseconds for each in turns[way]] for way in WAYS))
    facts = environment.facts(declare.DEFAULT_DISTRIBUTIONS)
    machine = {
        "schema": SCHEMA,
        "url": options.url,
        "facts": facts,
        "ways": {way: [each._asdict() for each in turns[way]] for way in WAYS},
        "saved": found.value if found.is_known else None,
        "interval": found.interval if found.is_known else None,
        "notes": notes,
    }
    write(options, _document(turns, found, options.url, rendering.facts(facts), notes), machine)
    return int(Exit.SUCCESS if found.is_known else Exit.INCONCLUSIVE)


def measure(running: Turns, rounds: int, show: Callable[[int, int, str], None]) -> dict[str, list[Turn]]:
    """Way -> its measurement in each round.

    Raises:
        ProgramError: See `Turns.turn`; the message names the way.
    """
    turns: dict[str, list[Turn]] = defaultdict(list)
    total = rounds * len(WAYS)
    try:
        for number in range(total):
            # Each way is the first one in some round: the machine's state changes.
            way = WAYS[(number + number // len(WAYS)) % len(WAYS)]
            show(number, total, way)
            turns[way].append(running.turn(way))
    except ProgramError as error:
        raise ProgramError(f"{way}: {error}") from None
    finally:
        show(total, total, "")
    return turns


def checked_command(options: argparse.Namespace) -> tuple[str, ...]:
    """The command that starts the service.

    Raises:
        UsageError: The options cannot be carried out.
    """
    check_url(options.url)
    command = without_dashes(options.command)
    if not command:
        raise UsageError(
            f"--url {options.url}: expected the command that starts the service, too, e.g. uvicorn app:app"
        )
    check_machine()
    return command


def check_url(url: str) -> None:
    """Raise a `UsageError` if this is no URL of a page of this machine."""
    expected = "expected a URL such as http://127.0.0.1:8000/orders"
    try:
        parts = urlsplit(url)
        is_whole = parts.scheme in {"http", "https"} and parts.hostname and parts.port != 0
    except ValueError as error:
        raise UsageError(f"--url {url}: {expected}: {error}") from None
    if not is_whole:
        raise UsageError(f"--url {url}: {expected}")
    if not is_here(parts.hostname or ""):
        raise UsageError(f"--url {url}: expected a URL of this machine, such as http://127.0.0.1:8000/orders")


def check_machine() -> None:
    """Raise a `UsageError` if nothing can be measured here."""
    if why := cpu.why_not():
        raise UsageError(f"a service cannot be measured: {why}")


def _set_up(running: Turns) -> str:
    if running.program.is_as_it_is or running.program.is_launched:
        return (
            "stock is the command as given, which sets OpenTelemetry up; bare is the same with OTEL_SDK_DISABLED=true "
            "and no instrumentation; fastpath adds otel-fastpath"
        )
    return "stock is the command under opentelemetry-instrument, bare the command alone; fastpath adds otel-fastpath"


def _document(
    turns: Mapping[str, Sequence[Turn]], found: EstimatedSaving, url: str, facts: Any, notes: tuple[str, ...]
) -> Document:
    few = len(turns[BARE]) < saving.LEAST_ROUNDS
    return Document(
        title=f"What telemetry costs this service: {url}",
        summary=_summary(found),
        tables=(Table(_COLUMNS, tuple(_row(turns[way], way, found) for way in WAYS)),),
        facts=facts,
        notes=(
            "medians over the rounds on this machine at this moment; the telemetry was received on this machine",
            "CPU is that of the service and its workers, user and system",
            *([f"--rounds {saving.LEAST_ROUNDS} or more give an interval"] if few else []),
            *notes,
        ),
    )


def _row(rounds: Sequence[Turn], way: str, found: EstimatedSaving) -> tuple[Cell, ...]:
    cost = {BARE: found.bare, STOCK: found.stock, FASTPATH: found.fastpath}[way]
    more, share = "", ""
    if way != BARE:
        more = figure(round(cost - found.bare, 1))
        share = "-" if not found.is_known else "100%" if way == STOCK else f"{1 - found.value:.0%}"
    spans = median(each.received.get("traces", 0) / each.requests for each in rounds)
    failed = sum(each.failed for each in rounds)
    return (
        Cell(way),
        Cell(figure(round(median(each.rate for each in rounds)))),
        Cell(figure(round(cost, 1))),
        Cell(more),
        Cell(share),
        Cell(figure(round(spans, 1))),
        Cell(str(failed), BAD if failed else PLAIN),
    )


def _summary(found: EstimatedSaving) -> Cell:
    if not found.is_clear:
        return Cell(
            "the cost of stock OpenTelemetry cannot be distinguished from noise: use more --seconds or --rounds", UNSURE
        )
    if not found.is_known:
        return Cell(
            "the cost with otel-fastpath cannot be distinguished from noise: use more --seconds or --rounds", UNSURE
        )
    text = f"otel-fastpath takes away {found.value:.0%} of what telemetry costs"
    if found.interval is None:
        return Cell(f"{text} ({saving.LEAST_ROUNDS} rounds or more say how sure that is)", PLAIN)
    low, high = found.interval
    return Cell(f"{text} ({low:.0%} to {high:.0%} with 90% confidence)", GOOD if low > 0 else UNSURE)
