"""The state of every patch and wrapper in this process, and the way of its spans, as a table or as JSON."""

from __future__ import annotations

import json
import platform
import re
import textwrap
from dataclasses import asdict, dataclass, field
from itertools import groupby
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from otel_fastpath import compiled, left_out, wrong_settings
from otel_fastpath.patching import faults, finding, interpreter
from otel_fastpath.patching.instrumentor_report import StatusReport
from otel_fastpath.patching.patch import State
from otel_fastpath.status import double_spans
from otel_fastpath.status.causes import ADVICE, Cause, causes

if TYPE_CHECKING:
    from collections.abc import Sequence

    from otel_fastpath.patching.instrumentor_report import TracerStatus
    from otel_fastpath.patching.patch import Row

# Increased when a key of the JSON object is renamed or removed.
SCHEMA: Final = 1

_DISTRIBUTIONS: Final = ("opentelemetry-api", "opentelemetry-sdk", "opentelemetry-instrumentation")
_HEADINGS: Final = ("NAME", "STATE", "TARGET, AND WHY IT IS NOT APPLIED")
_GAP: Final = "  "
_NARROWEST_REASON: Final = 30
_MOST_NAMES: Final = 10
_COLOURS: Final = {
    State.APPLIED: "\033[32m",
    State.SKIPPED: "\033[1;31m",
    State.WAITING: "\033[2m",
    State.OFF: "\033[2m",
}
_WARNING: Final = "\033[33m"
_RESET: Final = "\033[0m"


@dataclass(frozen=True)
class Status:
    """The status of otel-fastpath in this process.

    Attributes:
        version: The version of otel-fastpath.
        core: The implementation in use, "c" or "py"; empty if none.
        why_not_compiled: Why it is not "c".
        python: The name and version of the Python implementation.
        distributions: OpenTelemetry's distributions -> their versions; None if not installed.
        faults: How often our own code failed, by place; stock's code ran instead.
        notes: Other remarks, one sentence each.
        rows: Every patch and wrapper.
        wrong_settings: The messages about invalid settings.
        tracers: Which way the spans of each tracer in use take, and why.
        not_loaded: The instrumentations that OpenTelemetry does not load, and why.
        not_installed: The names of the patches that wait for a module that is not installed.
        left_out: How much was left out of the telemetry because there was too much of it, by kind.
        causes: The functions of new releases that patches leave to stock, or because of which they are skipped.
    """

    version: str
    core: str
    why_not_compiled: str
    python: str
    distributions: dict[str, str | None]
    faults: dict[str, int]
    notes: tuple[str, ...]
    rows: tuple[Row, ...]
    wrong_settings: tuple[str, ...] = ()
    tracers: tuple[TracerStatus, ...] = ()
    not_loaded: tuple[str, ...] = ()
    not_installed: tuple[str, ...] = ()
    left_out: dict[str, int] = field(default_factory=dict)
    causes: tuple[Cause, ...] = ()


def collect(rows: Sequence[Row], notes: Sequence[str] = (), not_loaded: Sequence[str] = ()) -> Status:
    """Collect the status of this process.

    Args:
        rows: The rows of the instrumentor; in a `StatusReport`, they come with the way of each tracer's spans.
        notes: See `Status`.
        not_loaded: See `Status`.
    """
    implementation, why_not = compiled.implementation()
    advice = compiled.advice()
    return Status(
        version=interpreter.version("otel-fastpath") or "?",
        core=implementation,
        why_not_compiled=why_not,
        python=f"{platform.python_implementation()} {platform.python_version()}",
        distributions={name: interpreter.version(name) for name in _DISTRIBUTIONS},
        faults=faults.counts(),
        left_out=left_out.counts(),
        causes=causes(rows),
        notes=(*([advice] if advice else ()), *double_spans.notes(), *notes),
        rows=tuple(rows),
        wrong_settings=wrong_settings.found(),
        tracers=rows.tracers if isinstance(rows, StatusReport) else (),
        not_loaded=tuple(not_loaded),
        not_installed=tuple(
            row.name
            for row in rows
            if row.state is State.WAITING and not finding.is_installed(row.target.partition(":")[0])
        ),
    )


def as_json(status: Status) -> str:
    """The status as one JSON object; `schema` is the version of its keys."""
    document: dict[str, Any] = {"schema": SCHEMA, **asdict(status)}
    document["patches"] = document.pop("rows")
    return json.dumps(document, indent=2)


def as_text(status: Status, width: int, *, is_whole: bool = False, is_coloured: bool = False) -> str:
    """The status as a summary and a table of at most this width, unless the names and targets are too long for it.

    Args:
        status: The status.
        width: In characters.
        is_whole: Whether the table has each patch. If not, those that wait for a module that is not installed are left
            out, and so are those that stand below the cause for which they are skipped; those of a library that are
            off, or wait, for the same reason have one row.
        is_coloured: Whether states have colours, by ANSI escape sequences.
    """
    lines = [*_head(status, width, is_coloured=is_coloured), "", *_causes(status.causes, width)]
    rows = _cells(status.rows) if is_whole else _short_cells(status)
    lines += _table(rows, width, is_coloured=is_coloured)
    return "\n".join([*lines, *_tracers(status.tracers, width)])


def title(status: Status) -> str:
    """One line: the version, the implementation of the core in use, and the interpreter."""
    core_name = {"c": "compiled core", "py": "pure Python core"}.get(status.core, "no core")
    why_not = f" ({status.why_not_compiled})" if status.why_not_compiled else ""
    return f"otel-fastpath {status.version}, {core_name}{why_not}, {status.python}"


def _head(status: Status, width: int, *, is_coloured: bool) -> list[str]:
    installed = ", ".join(f"{name} {version or 'not installed'}" for name, version in status.distributions.items())
    lines = [(title(status), ""), (_summary(status), ""), (installed, "")]
    lines.append((_faults(status), _WARNING if status.faults else ""))
    lines += [(f"Wrong setting: {each}", _WARNING) for each in status.wrong_settings]
    lines += [(f"Not loaded: {each}", _WARNING) for each in status.not_loaded]
    lines += [(f"Left out: {kind}, {count} times", _WARNING) for kind, count in sorted(status.left_out.items())]
    lines += [(f"Note: {note}", "") for note in status.notes]
    return [
        _in_colour(part, colour if is_coloured else "")
        for line, colour in lines
        for part in textwrap.wrap(line, width, subsequent_indent=_GAP, break_long_words=False)
    ]


def _in_colour(text: str, colour: str) -> str:
    return f"{colour}{text}{_RESET}" if colour else text


def _faults(status: Status) -> str:
    if not status.faults:
        return "0 faults"
    total = sum(status.faults.values())
    places = ", ".join(f"{place} {count}" for place, count in sorted(status.faults.items()))
    return f"{total} fault{'s' if total > 1 else ''}, stock's code ran instead: {places}"


class _Cells(NamedTuple):
    """A row of the table."""

    name: str
    state: State
    target: str
    reason: str


def _cells(rows: Sequence[Row]) -> list[_Cells]:
    return [_Cells(row.name, row.state, row.target, row.reason) for row in rows]


def _short_cells(status: Status) -> list[_Cells]:
    hidden = frozenset(status.not_installed)
    named = {name for cause in status.causes for name in cause.costs}
    rows = [row for row in status.rows if row.name not in hidden]
    shown = [row for row in rows if row.state is State.APPLIED or row.name not in named]
    found: list[_Cells] = []
    for (first, state, reason), group in groupby(
        shown, lambda row: (row.name.partition(".")[0], row.state, row.reason)
    ):
        rows = list(group)
        if state in (State.OFF, State.WAITING) and len(rows) > 1:
            found.append(_Cells(f"{first}.*", state, f"{len(rows)} patches", reason))
        else:
            found += _cells(rows)
    return found


def _causes(found: Sequence[Cause], width: int) -> list[str]:
    """A paragraph for each function that a release changed."""
    lines = ["STOCK'S CODE RUNS, BECAUSE A RELEASE IS NOT KNOWN YET"] if found else []
    for cause in found:
        function = cause.function.partition(":")[2]
        head = f"{cause.distribution} {cause.version} changed {function}; {ADVICE}. Until then, stock's function runs:"
        lines += textwrap.wrap(head, width, subsequent_indent=_GAP * 2, break_long_words=False)
        for name, why in cause.costs.items():
            lines += textwrap.wrap(
                f"{_GAP}{name}  {why}",
                width,
                subsequent_indent=_GAP * 2,
                break_long_words=False,
                break_on_hyphens=False,
            )
    return [*lines, ""] if lines else []


def _table(rows: Sequence[_Cells], width: int, *, is_coloured: bool) -> list[str]:
    cells = [_HEADINGS, *((row.name, row.state.value, row.target) for row in rows)]
    name_width, state_width = (max(len(cell[column]) for cell in cells) for column in (0, 1))
    indent = " " * (name_width + state_width + 2 * len(_GAP))
    room = max(width - len(indent), _NARROWEST_REASON)
    lines = []
    for (name, state, target), row in zip(cells, [None, *rows], strict=True):
        first, *more = _target(target, room)
        colour = ""
        if row is not None:
            reason = textwrap.wrap(row.reason, room, break_long_words=False)
            more += [part for line in reason for part in _at_dots(line, room)]
            colour = _COLOURS[row.state] if is_coloured else ""
        lines.append(f"{name:{name_width}}{_GAP}{_in_colour(f'{state:{state_width}}', colour)}{_GAP}{first}")
        lines += [indent + line for line in more]
    return lines


def _target(target: str, room: int) -> list[str]:
    """The target; if it is too long for one line, the module and the name in it on separate lines."""
    module, _, name = target.partition(":")
    return [target] if len(target) <= room or not name else [*_at_dots(f"{module}:", room), f"{_GAP}{name}"]


def _at_dots(text: str, room: int) -> list[str]:
    """A dotted name, broken after dots into lines of at most this length."""
    lines = [""]
    for part in re.findall(r"[^.]+\.?", text) if len(text) > room else [text]:
        if lines[-1] and len(lines[-1]) + len(part) > room:
            lines.append(_GAP)
        lines[-1] += part
    return lines


def _summary(status: Status) -> str:
    counts = dict.fromkeys(State, 0)
    for row in status.rows:
        counts[row.state] += 1
    absent = len(status.not_installed)
    numbers = [f"{counts[State.APPLIED]} applied", f"{counts[State.SKIPPED]} skipped"]
    for state, number in ((State.WAITING, counts[State.WAITING] - absent), (State.OFF, counts[State.OFF])):
        if number:
            numbers.append(f"{number} {state.value}")
    if absent:
        numbers.append(f"{absent} for modules that are not installed (--all lists them)")
    return ", ".join(numbers)


def _tracers(ways: Sequence[TracerStatus], width: int) -> list[str]:
    lines = ["", "TRACERS IN USE, AND WHICH WAY THEIR SPANS TAKE"] if ways else []
    for way in ways:
        names = ", ".join(way.tracers[:_MOST_NAMES]) or "every tracer"
        more = len(way.tracers) - _MOST_NAMES
        title = f"{way.provider}: {names}{f' and {more} more' if more > 0 else ''}"
        lines += textwrap.wrap(title, width, subsequent_indent=_GAP * 2, break_long_words=False)
        part_width = max(map(len, way.parts))
        for part, sentences in way.parts.items():
            head = f"{_GAP}{part:{part_width}}{_GAP}"
            for sentence in sentences:
                room = max(width - len(head), _NARROWEST_REASON)
                for line in textwrap.wrap(sentence, room, subsequent_indent=_GAP, break_long_words=False):
                    lines.append(head + line)
                    head = " " * len(head)
    return lines
