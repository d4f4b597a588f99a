"""The outputs of a profile: the terminal, and files in the requested formats."""

from __future__ import annotations

import os
import sys
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

from otel_fastpath.tools.budget.outputs import UsageError
from otel_fastpath.tools.common.render import terminal
from otel_fastpath.tools.common.render.document import BAD, GOOD, MUTE, PLAIN, UNSURE, Cell, Document, Table, figure
from otel_fastpath.tools.profile import flame_page, stacks
from otel_fastpath.tools.profile.report import percent

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Sequence

    from otel_fastpath.tools.profile.attribution.samples import Sample
    from otel_fastpath.tools.profile.report import Hook, Report

FORMATS: Final = ("json", "html", "speedscope", "collapsed")
_ROWS_ON_SCREEN: Final = 25
_MUCH: Final = 0.2
_SOME: Final = 0.05


def check(options: argparse.Namespace) -> None:
    """Check that the files can be written, before time is spent on a profile.

    Raises:
        UsageError: One cannot.
    """
    for name in FORMATS:
        target = getattr(options, name)
        if target not in {None, "-"}:
            path = Path(target)
            if path.is_dir() or not os.access(path if path.exists() else path.parent, os.W_OK):
                raise UsageError(f"--{name} {target}: this cannot be written")


def write(options: argparse.Namespace, report: Report, found: Sequence[Sample]) -> None:
    """Write the report to the terminal and to the requested files, each completely or not at all.

    Raises:
        UsageError: A file cannot be written.
    """
    made: dict[str, Callable[[], str]] = {
        "json": report.as_json,
        "html": lambda: flame_page.render(document(report), report.flame),
        "speedscope": lambda: stacks.speedscope(found, "otel-fastpath profile"),
        "collapsed": lambda: stacks.collapsed(found),
    }
    targets = {name: getattr(options, name) for name in FORMATS if getattr(options, name) is not None}
    # If an output goes to standard output, it may be piped; the table then goes to standard error.
    screen = sys.stderr if "-" in targets.values() else sys.stdout
    shown = document(report, _ROWS_ON_SCREEN)
    # The result comes first: the tables may be longer than the screen.
    shown = replace(shown, title=report.headline, summary=Cell(_end(report), shown.summary.tone))
    screen.write(terminal.render(shown, colour=screen.isatty(), facts=True) + "\n")
    for name, target in targets.items():
        if target == "-":
            sys.stdout.write(made[name]())
        else:
            _write(name, Path(target), made[name]())


def _end(report: Report) -> str:
    share = report.share
    own, rest = percent(share.direct), percent(share.indirect)
    return f"telemetry {percent(share.total)}: {own} in its code, and an estimated {rest} that it costs the rest"


def _write(name: str, path: Path, text: str) -> None:
    try:
        with tempfile.NamedTemporaryFile(
            "w", dir=path.parent, prefix=f".{path.name}.", delete=False, encoding="utf-8"
        ) as file:
            file.write(text)
        mask = os.umask(0)
        os.umask(mask)
        Path(file.name).chmod(0o666 & ~mask)
        Path(file.name).replace(path)
    except OSError as error:
        raise UsageError(f"--{name} {path}: {error.strerror}") from None


def document(report: Report, most_rows: int | None = None) -> Document:
    """The report for people.

    Args:
        report: The report.
        most_rows: How many hooks are shown; None: all.
    """
    share = report.share
    tone = BAD if share.total > _MUCH else UNSURE if share.total > _SOME else GOOD
    tables = [_parts(report), _hooks(report.hooks[:most_rows])]
    if report.savings:
        tables.append(_savings(report))
    left_out = len(report.hooks) - most_rows if most_rows is not None else 0
    notes = (f"{left_out} more hooks are in the other outputs.",) if left_out > 0 else ()
    return Document(
        title="Where telemetry spends CPU time",
        summary=Cell(report.headline, tone),
        tables=tuple(tables),
        facts=tuple(report.facts.items()),
        notes=(*(f"To do: {line}" for line in report.advice), *notes, *report.notes),
    )


def _parts(report: Report) -> Table:
    share = report.share
    rows = [(kind, part) for kind, part in report.kinds.items() if part]
    rows.append(("slowdown of your own code (estimate)", share.indirect))
    made = [(Cell(name), Cell(percent(part))) for name, part in rows]
    made.append((Cell("telemetry"), Cell(f"{percent(share.total)} ({percent(share.low)} to {percent(share.high)})")))
    made.append((Cell("not telemetry: logging", MUTE), Cell(percent(report.logging), MUTE)))
    return Table(("part", ">share of CPU"), tuple(made), "Telemetry")


def _hooks(hooks: Sequence[Hook]) -> Table:
    columns = ("library", "hook", ">share", ">calls/s", ">us a call", "most of it in")
    rows = tuple(
        (
            Cell(hook.library),
            Cell(_short(hook.hook)),
            Cell(percent(hook.share), BAD if hook.share > _SOME else PLAIN),
            Cell("" if hook.calls is None else figure(round(hook.calls, 1))),
            Cell("" if hook.us is None else figure(hook.us)),
            Cell(f"{hook.most} {percent(hook.most_share)}" if hook.most else "its own code", MUTE),
        )
        for hook in hooks
    )
    return Table(columns, rows, "Hooks")


def _short(function: str) -> str:
    """The class and the function, or the last module and the function."""
    return ".".join(function.split(".")[-2:])


def _savings(report: Report) -> Table:
    columns = ("part of otel-fastpath", "state", ">of the CPU now", ">saves, of the CPU without otel-fastpath")
    rows = tuple(
        (
            Cell(saving.part),
            Cell("on" if saving.is_on else "off"),
            Cell(percent(saving.share)),
            Cell(f"{percent(saving.saving)} {'saved' if saving.is_on else 'would be saved'}", GOOD),
        )
        for saving in report.savings
    )
    return Table(columns, rows, "otel-fastpath (estimates)")
