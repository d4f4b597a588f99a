"""Finds what one run sent and another did not, and what the two sent differently, and says it by paths."""

from __future__ import annotations

import json
import re
from collections import Counter, defaultdict
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from vendor_checks.catalogue import Listed
    from vendor_checks.normalise import Normal

_MOST_PATHS = 12
_MOST_TEXT = 300
# How much of a long text stands before its first difference.
_BEFORE = 60
_NOTHING = "(nothing)"


@dataclass(frozen=True)
class Change:
    """A place in an item where two values differ, each as JSON."""

    path: str
    stock: str
    ours: str

    def __str__(self) -> str:
        """The path with both values."""
        stock, ours = _from_difference(self.stock, self.ours), _from_difference(self.ours, self.stock)
        return f"{self.path}: stock {stock}, with otel-fastpath {ours}"

    def is_listed_as(self, listed: Listed) -> bool:
        """Whether this is such a difference."""
        return bool(re.fullmatch(listed.path, self.path) and re.fullmatch(listed.ours, self.ours))


@dataclass(frozen=True)
class Difference:
    """One item that is not equal.

    Attributes:
        what: "missing", "extra" or "changed".
        item: Its kind and name.
        changes: Those of a changed item.
    """

    what: str
    item: str
    changes: tuple[Change, ...] = ()

    def __str__(self) -> str:
        """All of it, for the reader."""
        lines = [str(change) for change in self.changes[:_MOST_PATHS]]
        lines += [f"and {len(self.changes) - _MOST_PATHS} more"] if len(self.changes) > _MOST_PATHS else []
        return "\n".join([f"{self.what}: {self.item}", *(f"    {line}" for line in lines)])


def compare(stock: Sequence[Normal], ours: Sequence[Normal]) -> list[Difference]:
    """What `ours` sent otherwise than `stock`. The order of the items does not matter, their number does."""
    by_text = {item.text: item for item in [*stock, *ours]}
    expected, found = Counter(item.text for item in stock), Counter(item.text for item in ours)
    missing = [by_text[text] for text in (expected - found).elements()]
    extra = defaultdict(list)
    for text in (found - expected).elements():
        extra[by_text[text].kind, by_text[text].name].append(by_text[text])
    differences = []
    for item in missing:
        rivals = extra[item.kind, item.name]
        title = _title(item)
        if not rivals:
            differences.append(Difference("missing", title))
            continue
        paths, nearest = min(((_paths(item.value, each.value), each) for each in rivals), key=lambda pair: len(pair[0]))
        rivals.remove(nearest)
        differences.append(Difference("changed", title, tuple(paths)))
    differences += [Difference("extra", _title(each)) for rivals in extra.values() for each in rivals]
    return sorted(differences, key=str)


def without_listed(differences: Sequence[Difference], listed: Sequence[Listed]) -> tuple[list[Difference], set[Listed]]:
    """The differences that are left without those of the list, and the entries of the list that were found."""
    left, found = [], set()
    for difference in differences:
        by_change = {change: [each for each in listed if change.is_listed_as(each)] for change in difference.changes}
        found.update(each for entries in by_change.values() for each in entries)
        changes = tuple(change for change, entries in by_change.items() if not entries)
        if changes or not difference.changes:
            left.append(replace(difference, changes=changes))
    return left, found


def _title(item: Normal) -> str:
    return f"{item.kind} {_short(item.name)}".strip()


def _paths(stock: Any, ours: Any) -> list[Change]:
    """Each place where two values differ."""
    before, after = dict(_leaves(stock, "")), dict(_leaves(ours, ""))
    both = ((path, before.get(path, _NOTHING), after.get(path, _NOTHING)) for path in sorted({*before, *after}))
    return [Change(path, old, new) for path, old, new in both if old != new]


def _from_difference(text: str, other: str) -> str:
    """The part of a long text that begins shortly before the first difference from another."""
    pairs = enumerate(zip(text, other, strict=False))
    at = next((index for index, (one, two) in pairs if one != two), min(len(text), len(other)))
    begin = max(0, at - _BEFORE) if len(text) > _MOST_TEXT else 0
    return f"{'...' if begin else ''}{_short(text[begin:])}"


def _leaves(value: Any, path: str) -> Iterator[tuple[str, str]]:
    if isinstance(value, dict) and value:
        for key, each in value.items():
            yield from _leaves(each, f"{path}.{key}" if path else key)
    elif isinstance(value, list) and value:
        for index, each in enumerate(value):
            yield from _leaves(each, f"{path}[{index}]")
    else:
        yield path, json.dumps(value)


def _short(text: str) -> str:
    line = text.replace("\n", " ")
    return line if len(line) <= _MOST_TEXT else f"{line[:_MOST_TEXT]}..."
