"""The status of a process as a document, from the JSON object that each process can give."""

from __future__ import annotations

from collections import Counter
from typing import Any, Final

from otel_fastpath.tools.common.render.document import BAD, GOOD, MUTE, PLAIN, UNSURE, Cell, Document, Table

_TONES: Final = {"applied": GOOD, "skipped": BAD, "waiting": MUTE, "off": MUTE}
_CORES: Final = {"c": "compiled core", "py": "pure Python core"}


def document(found: dict[str, Any]) -> Document:
    """The report.

    Args:
        found: What `otel_fastpath.status.as_json` writes.
    """
    absent = set(found["not_installed"])
    rows = [row for row in found["patches"] if row["name"] not in absent]
    counts = Counter(row["state"] for row in rows)
    core = _CORES.get(found["core"], "no core")
    summary = ", ".join(f"{counts[state]} {state}" for state in _TONES)
    tone = UNSURE if counts["skipped"] or found["faults"] else GOOD
    return Document(
        title=f"otel-fastpath {found['version']}, {core}",
        summary=Cell(f"{summary}; {len(absent)} are for modules that are not installed", tone),
        tables=(
            Table(
                ("name", "state", "target", "why it is not applied"),
                tuple(
                    (
                        Cell(row["name"]),
                        Cell(row["state"], _TONES.get(row["state"], PLAIN)),
                        Cell(row["target"], MUTE),
                        Cell(row["reason"]),
                    )
                    for row in rows
                ),
                "Patches and wrappers",
            ),
        ),
        facts=(("python", found["python"]), *((name, text or "-") for name, text in found["distributions"].items())),
        notes=(
            *(f"Fault: {place}, {number} times; stock's code ran instead" for place, number in found["faults"].items()),
            *(f"Wrong setting: {each}" for each in found["wrong_settings"]),
            *(f"Not loaded: {each}" for each in found["not_loaded"]),
            *(f"Left out: {kind}, {number} times" for kind, number in found["left_out"].items()),
            *found["notes"],
        ),
    )
