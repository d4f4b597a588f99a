"""`otel-fastpath prove`: the report, and the file."""

from __future__ import annotations

import sys
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from otel_fastpath import compiled
from otel_fastpath.patching import interpreter
from otel_fastpath.patching.sources import proof_file
from otel_fastpath.patching.sources.proven import Proof
from otel_fastpath.status.exchange import complain
from otel_fastpath.tools.budget.outputs import UsageError, write
from otel_fastpath.tools.budget.results import SCHEMA
from otel_fastpath.tools.common.exit_codes import Exit
from otel_fastpath.tools.common.render import progress
from otel_fastpath.tools.common.render.document import BAD, GOOD, UNSURE, Cell, Document, Table
from otel_fastpath.tools.prove.observer_process import ObserverError
from otel_fastpath.tools.prove.proving import Prover, proven_sources

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator, Sequence

    from otel_fastpath.tools.prove.proving import Findings, Group

_COLUMNS: Final = ("patches", "unknown function", ">programs", ">differences", "result")
# What everything rests on.
_ALWAYS: Final = ("otel-fastpath", "opentelemetry-api", "opentelemetry-sdk")
_MOST_PATCHES: Final = 4


def run(options: argparse.Namespace) -> int:
    """Run the command and return its exit status."""
    _check(options.write)
    try:
        from otel_fastpath.tools.prove import telemetry_kept  # noqa: F401, PLC0415  # it needs the exporters
    except ModuleNotFoundError as error:
        raise UsageError(f"{error.name} is not installed: pip install opentelemetry-exporter-otlp-proto-http") from None
    show = progress.bar(sys.stderr, wanted=not options.no_progress)
    cores = ("c", "py") if compiled.is_compiled() else ("py",)
    try:
        findings = Prover(options.programs, cores, show).prove()
    except ObserverError as error:
        show(1, 1, "")
        complain(error)
        return int(Exit.NOT_MEASURED)
    is_different = any(group.differing for group in findings.groups)
    file = "" if options.write is None or is_different else _write(options.write, findings)
    write(options, document(findings, file), machine(findings))
    return int(Exit.FAILURE if is_different else Exit.SUCCESS)


def _check(file: str | None) -> None:
    """Find out before the programs run whether the file can be written."""
    if file is not None and (not Path(file).parent.is_dir() or Path(file).is_dir()):
        raise UsageError(f"--write {file}: expected a file in a folder that exists")


def _write(file: str, findings: Findings) -> str:
    sources = proven_sources(findings.groups)
    proof = Proof(
        date.today().isoformat(),  # noqa: DTZ011  # the day of the user's own calendar
        tuple(findings.cores),
        {place: source.fingerprint for place, source in sources.items()},
        {place: len(source.programs) for place, source in sources.items()},
    )
    names = {*_ALWAYS, *(interpreter.distribution_of(place.partition(":")[0]) for place in sources)}
    versions = {name: version for name in names if (version := interpreter.version(name))}
    try:
        Path(file).write_text(proof_file.text_of(proof, versions), encoding="utf-8")
    except OSError as error:
        raise UsageError(f"--write {file}: {error.strerror}") from None
    return file


def document(findings: Findings, file: str = "") -> Document:
    """The report for people.

    Args:
        findings: What was found.
        file: The file that was written.
    """
    rows = tuple(row for group in findings.groups for row in _rows(group))
    return Document(
        title="Patches whose sources no release of otel-fastpath knows",
        summary=_summary(findings),
        tables=(Table(_COLUMNS, rows),) if rows else (),
        notes=tuple(_notes(findings.groups)),
        advice=_advice(findings, file),
    )


def _summary(findings: Findings) -> Cell:
    if not findings.groups:
        return Cell("every source is known: there is nothing to prove", GOOD)
    different = sum(len(group.patches) for group in findings.groups if group.differing)
    proven = sum(len(group.patches) for group in findings.groups if group.is_proven)
    every = sum(len(group.patches) for group in findings.groups)
    text = f"{proven} of {every} patches proven by {findings.programs} programs with {len(findings.cores)} cores"
    return Cell(f"{text}; {different} differ", BAD) if different else Cell(text, GOOD if proven == every else UNSURE)


def _rows(group: Group) -> Iterator[tuple[Cell, ...]]:
    names = ", ".join(group.patches[:_MOST_PATCHES])
    more = len(group.patches) - _MOST_PATCHES
    title = f"{names} and {more} more" if more > 0 else names
    result = Cell("different", BAD) if group.differing else Cell("not proven", UNSURE)
    if group.is_proven:
        result = Cell("proven", GOOD)
    for number, source in enumerate(group.sources):
        yield (
            Cell("" if number else title),
            Cell(source.place),
            Cell(str(len(source.programs))),
            Cell(str(len(set(group.differing) & set(source.programs)))),
            Cell("") if number else result,
        )


def _notes(groups: Sequence[Group]) -> Iterator[str]:
    for group in groups:
        first = group.patches[0]
        if group.difference is not None:
            found = group.difference
            yield f"{first}: program {found.program}, in the steps {', '.join(found.steps) or 'of its set-up'}, shows"
            yield f"    with stock OpenTelemetry: {found.stock}"
            yield f"    with otel-fastpath:       {found.fastpath}"
        elif group.differing:
            yield f"{first}: program {group.differing[0]} showed a difference, but not again with these patches alone"
        elif group.missing:
            yield f"{first} is not proven: {group.missing}"


def _advice(findings: Findings, file: str) -> str:
    if file:
        return f"{file} is written: OTEL_FASTPATH_PROVEN={file} applies these patches"
    if any(group.is_proven for group in findings.groups) and not any(group.differing for group in findings.groups):
        return "otel-fastpath prove --write"
    return ""


def machine(findings: Findings) -> dict[str, Any]:
    """The report as JSON."""
    return {
        "schema": SCHEMA,
        "programs": findings.programs,
        "cores": list(findings.cores),
        "groups": [
            {
                "patches": group.patches,
                "sources": {each.place: each.fingerprint for each in group.sources},
                "programs": len(group.programs),
                "differing": group.differing,
                "is_proven": group.is_proven,
                "missing": group.missing,
                "difference": None if group.difference is None else vars(group.difference),
            }
            for group in findings.groups
        ],
    }
