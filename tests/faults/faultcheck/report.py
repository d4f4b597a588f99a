"""The share of faults that left the host as it was, and a list of the others, worst first."""
# ruff: noqa: T201  # a program that prints

from __future__ import annotations

from collections import defaultdict
from typing import Any

from faultcheck.judge import shortened

_HUNG, _HOST, _CONTEXT, _TWICE = "hung or died", "reached the host", "moved its context", "sent twice"
_KINDS = (_HUNG, _HOST, _CONTEXT, _TWICE)


def _kinds(row: dict[str, Any]) -> list[str]:
    found = ((_HUNG, row["is_hung"]), (_HOST, row["host"]), (_CONTEXT, row["context"]), (_TWICE, row["twice"]))
    return [kind for kind, is_so in found if is_so and not (kind == _HOST and row["is_hung"])]


class Report:
    """What was found.

    Args:
        rows: One for each fault: what `judge.Verdict` says, and its core, workload, place and number of hits.
    """

    def __init__(self, rows: list[dict[str, Any]]) -> None:
        self._missed = [row for row in rows if not row["hits"]]
        self._rows = [row for row in rows if row["hits"]]
        self._failed = [row for row in self._rows if _kinds(row)]

    def status(self) -> int:
        """The program's exit status."""
        return 1 if self._failed else 0 if self._rows else 2

    def show(self, *, details: bool) -> None:
        """Print it."""
        for core in sorted({row["core"] for row in self._rows}):
            self._share(core, [row for row in self._rows if row["core"] == core])
        self._share("all", self._rows)
        silent = {row["place"] for row in self._rows if row["is_silent"]}
        changed = sum(bool(row["lost"]) for row in self._rows)
        print(
            f"Besides: {changed} faults changed telemetry otherwise or lost some, and those at {len(silent)} places"
            f" were neither counted nor logged. {len(self._missed)} lines were not reached again."
        )
        if details and silent:
            print(f"Neither counted nor logged: {', '.join(sorted(silent))}")
        if self._failed:
            print()
            self._list(details=details)

    @staticmethod
    def _share(name: str, rows: list[dict[str, Any]]) -> None:
        kept = sum(not (row["host"] or row["context"] or row["is_hung"]) for row in rows)
        twice = sum(bool(row["twice"]) for row in rows)
        places = len({row["place"] for row in rows})
        share = 100 * kept / len(rows) if rows else 0
        shown = "100" if kept == len(rows) else f"{min(share, 99.9):.1f}"
        print(
            f"{name:>3}: {len(rows)} faults at {places} places; host unaffected and context restored: {shown} %"
            f" ({len(rows) - kept} not); telemetry sent twice: {twice}"
        )

    def _list(self, *, details: bool) -> None:
        places: defaultdict[str, list[dict[str, Any]]] = defaultdict(list)
        for row in self._failed:
            places[row["place"]].append(row)

        def worst(place: str) -> tuple[int, str, int]:
            kind = min(_KINDS.index(kind) for row in places[place] for kind in _kinds(row))
            file, _, line = place.rpartition(":")
            return kind, file, int(line)

        for place in sorted(places, key=worst):
            rows = places[place]
            kinds = [kind for kind in _KINDS if any(kind in _kinds(row) for row in rows)]
            where = sorted({f"{row['workload']} ({row['core']})" for row in rows})
            print(f"{place}  {', '.join(kinds)}: {', '.join(where)}")
            for row in rows if details else rows[:1]:
                found = [*row["host"], *(f"context: {each}" for each in row["context"]), *row["twice"]]
                for line in found if details else shortened(found)[:2]:
                    print(f"    {row['workload']} ({row['core']}): {line[: 2000 if row['is_hung'] else 260]}")
