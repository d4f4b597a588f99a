"""`otel-fastpath bench`: every operation in every leg, round by round."""

from __future__ import annotations

import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

from otel_fastpath.status.exchange import complain
from otel_fastpath.tools.bench import report
from otel_fastpath.tools.bench.arguments import SERVERS
from otel_fastpath.tools.bench.leg import FASTPATH, LEGS, STOCK
from otel_fastpath.tools.bench.lockstep import Leg, LegError, all_at_once, take_turns
from otel_fastpath.tools.bench.operation import MeasuredOperation
from otel_fastpath.tools.bench.probes import PROBES
from otel_fastpath.tools.budget import declare, environment
from otel_fastpath.tools.budget.outputs import UsageError, one_of, write
from otel_fastpath.tools.common.exit_codes import Exit
from otel_fastpath.tools.common.loopback import AllowError, Loopback
from otel_fastpath.tools.common.render import progress

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable

_ROUNDS: Final = 2


def run(options: argparse.Namespace) -> int:
    """Run the command and return its exit status."""
    if options.url:
        from otel_fastpath.tools.bench import service  # noqa: PLC0415  # another command, in fact

        return service.run(options)
    if options.command:
        raise UsageError(f"bench {' '.join(options.command)}: expected --url, too: the page to ask for")
    operations, path = _operations(options)
    try:
        # The servers that are named may be elsewhere.
        servers = [
            split.netloc.rpartition("@")[2] for split in map(urlsplit, _servers(options).values()) if split.netloc
        ]
        with Loopback([*options.allow, *servers]) as loopback:
            return (_list if options.list else _measure_and_write)(operations, options, path, loopback)
    except AllowError as error:
        raise UsageError(str(error)) from None


def _measure_and_write(
    operations: list[MeasuredOperation], options: argparse.Namespace, path: list[str], loopback: Loopback
) -> int:
    started = time.monotonic()
    rounds = options.rounds or _ROUNDS
    show = progress.bar(sys.stderr, wanted=not options.no_progress)
    loaded: dict[str, Any] = {}
    total = rounds * len(operations)
    with tempfile.TemporaryFile("w+") as log:
        try:
            for number in range(rounds):
                legs = _legs(options, path, log, loopback)
                loaded = _round(number, operations, legs, options.cycles, lambda done, text: show(done, total, text))
        except LegError as error:
            show(total, total, "")
            log.seek(0)
            last = " / ".join(log.read().strip().splitlines()[-3:])
            complain(f"bench: {error}{f': {last}' if last else ''}")
            return int(Exit.NOT_MEASURED)
    show(total, total, "")
    facts = {**environment.facts(declare.DEFAULT_DISTRIBUTIONS), **report.loaded(loaded)}
    seconds = time.monotonic() - started
    write(
        options,
        report.document(operations, facts, seconds, loopback.notes()),
        report.machine(operations, facts, seconds),
    )
    return int(Exit.SUCCESS if any(each.rounds for each in operations) else Exit.NOT_MEASURED)


def _servers(options: argparse.Namespace) -> dict[str, str]:
    return {name: getattr(options, name) for name in SERVERS}


def _operations(options: argparse.Namespace) -> tuple[list[MeasuredOperation], list[str]]:
    found = [MeasuredOperation(probe.name, ("prepare", number)) for number, probe in enumerate(PROBES)]
    path = [str(Path.cwd())]
    file = options.file or declare.find(Path.cwd())
    if file is not None:
        declaration = declare.read(file)
        path = [*map(str, declaration.path), *path]
        found += [
            MeasuredOperation(each.name, ("scenario", each.bare, each.instrumented, each.setup))
            for each in declaration.scenarios.values()
        ]
    chosen = [each for each in found if not options.only or declare.is_chosen(each.name, options.only)]
    if not chosen:
        names = one_of((each.name for each in found), options.only[0])
        raise UsageError(f"--only {options.only[0]}: expected one of {names}")
    return chosen, path


def _legs(options: argparse.Namespace, path: list[str], log: Any, loopback: Loopback) -> list[Leg]:
    return [Leg(name, _servers(options), path, log, loopback) for name in LEGS]


def _round(
    number: int, operations: list[MeasuredOperation], legs: list[Leg], cycles: int, show: Callable[[int, str], None]
) -> dict[str, Any]:
    try:
        done = number * len(operations)
        show(done, "loading")
        loaded = all_at_once(legs, lambda _leg: ("load",))
        for index, operation in enumerate(operations):
            show(done + index, operation.name)
            if not operation.skipped:
                _measure(legs, operation, cycles, number)
        return {**loaded, "patches": legs[LEGS.index(FASTPATH)].ask("patches")}
    finally:
        for leg in legs:
            leg.stop()


def _measure(legs: list[Leg], operation: MeasuredOperation, cycles: int, seed: int) -> None:
    try:
        all_at_once(legs, lambda _leg: operation.command)
        operation.rounds.append(take_turns(legs, cycles, seed))
    except LegError as error:
        operation.skipped, operation.rounds = str(error), []
    all_at_once(legs, lambda _leg: ("end",))


def _list(operations: list[MeasuredOperation], options: argparse.Namespace, path: list[str], loopback: Loopback) -> int:
    with tempfile.TemporaryFile("w+") as log:
        leg = Leg(STOCK, _servers(options), path, log, loopback)
        try:
            active = leg.ask("load")["active"]
            for operation in operations:
                try:
                    leg.ask(*operation.command)
                    text = "would be measured"
                except LegError as error:
                    text = f"not measured: {error}"
                leg.ask("end")
                sys.stdout.write(f"{operation.name}: {text}\n")
        except LegError as error:
            complain(f"bench: {error}")
            return int(Exit.NOT_MEASURED)
        finally:
            leg.stop()
    sys.stdout.write(f"instrumentations active here: {', '.join(active) or 'none'}\n")
    return int(Exit.SUCCESS)
