"""The state of every patch and wrapper in this process, and the way of its spans, as a table or as JSON."""

from __future__ import annotations

import json
import platform
import re
import textwrap
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Final

from otel_fastpath import compiled, wrong_settings
from otel_fastpath.patching import faults, interpreter
from otel_fastpath.patching.report import Report

if TYPE_CHECKING:
    from collections.abc import Sequence

    from otel_fastpath.patching.patch import Row
    from otel_fastpath.patching.report import Way

# Increased when a key of the JSON object is renamed or removed.
SCHEMA: Final = 1

_DISTRIBUTIONS: Final = ("opentelemetry-api", "opentelemetry-sdk", "opentelemetry-instrumentation")
_HEADINGS: Final = ("NAME", "STATE", "TARGET, AND WHY IT IS NOT APPLIED")
_GAP: Final = "  "
_NARROWEST_REASON: Final = 30
_MOST_NAMES: Final = 10


@dataclass(frozen=True)
class Status:
    """The status of otel-fastpath in this process.

    Attributes:
        version: The version of otel-fastpath.
        core: The implementation in use, "c" or "py"; empty if none.
        why_not_compiled: Why it is not "c".
        python: The name and version of the Python implementation.
        distributions: OpenTelemetry's distributions -> their versions; None if not installed.
        faults: How often our own code failed, by place; upstream's code ran instead.
        notes: Other remarks, one sentence each.
        rows: Every patch and wrapper.
        wrong_settings: The messages about invalid settings.
        tracers: Which way the spans of each tracer in use take, and why.
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
    tracers: tuple[Way, ...] = ()


def collect(rows: Sequence[Row], notes: Sequence[str] = ()) -> Status:
    """Collect the status of this process.

    Args:
        rows: The rows of the instrumentor; in a `Report`, they come with the way of each tracer's spans.
        notes: See `Status`.
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
        notes=(advice, *notes) if advice else tuple(notes),
        rows=tuple(rows),
        wrong_settings=wrong_settings.found(),
        tracers=rows.tracers if isinstance(rows, Report) else (),
    )


def as_json(status: Status) -> str:
    """The status as one JSON object; `schema` is the version of its keys."""
    document: dict[str, Any] = {"schema": SCHEMA, **asdict(status)}
    document["patches"] = document.pop("rows")
    return json.dumps(document, indent=2)


def as_text(status: Status, width: int) -> str:
    """The status as a table of at most this width, unless the names and targets are too long for it."""
    table = [*_head(status, width), "", *_table(status.rows, width), "", _summary(status.rows)]
    return "\n".join([*table, *_tracers(status.tracers, width)])


def title(status: Status) -> str:
    """One line: the version, the implementation of the core in use, and the interpreter."""
    core_name = {"c": "compiled core", "py": "pure Python core"}.get(status.core, "no core")
    why_not = f" ({status.why_not_compiled})" if status.why_not_compiled else ""
    return f"otel-fastpath {status.version}, {core_name}{why_not}, {status.python}"


def _head(status: Status, width: int) -> list[str]:
    installed = ", ".join(f"{name} {version or 'not installed'}" for name, version in status.distributions.items())
    lines = [title(status), installed, _faults(status)]
    lines += [f"Wrong setting: {each}" for each in status.wrong_settings]
    lines += [f"Note: {note}" for note in status.notes]
    return [
        part for line in lines for part in textwrap.wrap(line, width, subsequent_indent=_GAP, break_long_words=False)
    ]


def _faults(status: Status) -> str:
    if not status.faults:
        return "0 faults"
    total = sum(status.faults.values())
    places = ", ".join(f"{place} {count}" for place, count in sorted(status.faults.items()))
    return f"{total} fault{'s' if total > 1 else ''}, upstream's code ran instead: {places}"


def _table(rows: Sequence[Row], width: int) -> list[str]:
    cells = [_HEADINGS, *((row.name, row.state.value, row.target) for row in rows)]
    name_width, state_width = (max(len(cell[column]) for cell in cells) for column in (0, 1))
    indent = " " * (name_width + state_width + 2 * len(_GAP))
    room = max(width - len(indent), _NARROWEST_REASON)
    lines = []
    for (name, state, target), row in zip(cells, [None, *rows], strict=True):
        first, *more = _target(target, room)
        if row is not None:
            reason = textwrap.wrap(row.reason, room, break_long_words=False)
            more += [part for line in reason for part in _at_dots(line, room)]
        lines.append(f"{name:{name_width}}{_GAP}{state:{state_width}}{_GAP}{first}")
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


def _summary(rows: Sequence[Row]) -> str:
    counts: dict[str, int] = {}
    for row in rows:
        counts[row.state.value] = counts.get(row.state.value, 0) + 1
    return ", ".join(f"{count} {state}" for state, count in counts.items())


def _tracers(ways: Sequence[Way], width: int) -> list[str]:
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
