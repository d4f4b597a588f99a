"""Compares the telemetry of runs with stock OpenTelemetry with that of a run with otel-fastpath.

Two runs of a program differ even with the same code: ports, counts, values that depend on time. What differs between
the runs with stock OpenTelemetry is therefore compared less strictly: see `_VIEWS`.
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from otel_fastpath.tools.verify.differences import Listed, listed
from otel_fastpath.tools.verify.export_items import library

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterable, Sequence

    from otel_fastpath.tools.verify.export_items import Item

    _Key = tuple[str, str, str]
    _Groups = dict[_Key, list[dict[str, str]]]

NONE: Final = "(none)"
COUNT: Final = "(number of them)"
COMBINATION: Final = "(combination of values)"
_OURS: Final = "otel_fastpath."
# A cell of the report shows this many values, and this much of each.
_MOST: Final = 3
_LONGEST: Final = 60


def _kinds(values: Iterable[str]) -> Hashable:
    return frozenset(NONE if value == NONE else type(json.loads(value)).__name__ for value in values)


# From strict to lenient. A field is compared by the first of them in which the runs with stock OpenTelemetry agree:
# each value and its number, the set of values, the types of the values.
_VIEWS: Final[tuple[Callable[[Iterable[str]], Hashable], ...]] = (
    lambda values: frozenset(Counter(values).items()),
    frozenset,
    _kinds,
)


@dataclass(frozen=True)
class Difference:
    """One field in which the runs differ.

    Attributes:
        signal: See `telemetry.Item`; "program" for the exit status.
        scope: Likewise.
        name: Likewise.
        field: The field, `COUNT` or `COMBINATION`.
        stock: What only stock OpenTelemetry sent.
        fastpath: What only otel-fastpath sent.
    """

    signal: str
    scope: str
    name: str
    field: str
    stock: str
    fastpath: str

    @property
    def place(self) -> tuple[str, str, str, str]:
        """What differs, without the values."""
        return (self.signal, self.scope, self.name, self.field)


@dataclass
class Comparison:
    """The result.

    Attributes:
        counts: The number of items by signal in the run with otel-fastpath.
        differences: What differs, and does not differ between the runs with stock OpenTelemetry.
        listed: What differs, and is in the list of known differences, with its entry.
        varying: Signal, scope, name and field of what differs between these, and was compared less strictly.
        own: By library, the number of items that otel-fastpath emits under a scope of its own, with other attributes,
            and of those that stock OpenTelemetry emits in their place.
    """

    counts: Counter[str] = field(default_factory=Counter)
    differences: list[Difference] = field(default_factory=list)
    listed: list[tuple[Difference, Listed]] = field(default_factory=list)
    varying: list[tuple[str, str, str, str]] = field(default_factory=list)
    own: dict[str, tuple[int, int]] = field(default_factory=dict)

    @property
    def counted(self) -> str:
        """The counts for people."""
        return ", ".join(f"{count:,} {signal}{'s' * (count != 1)}" for signal, count in sorted(self.counts.items()))


def compare(stock: Sequence[Sequence[Item]], fastpath: Sequence[Item]) -> Comparison:
    """Compare.

    Args:
        stock: The items of two or more runs with stock OpenTelemetry.
        fastpath: The items of the run with otel-fastpath.
    """
    result = Comparison(counts=Counter(item.signal for item in fastpath))
    own = {library(item.scope) for item in fastpath if item.scope.startswith(_OURS)}
    for name in sorted(own):
        result.own[name] = (_number_of(fastpath, name), _number_of(stock[0], name))
    groups = [_grouped(run, own) for run in stock]
    others = _grouped(fastpath, own)
    for key in sorted({key for group in (*groups, others) for key in group}):
        _compare_group(result, key, [group.get(key, []) for group in groups], others.get(key, []))
    _leave_out_listed(result)
    return result


def compare_again(stock: Sequence[Sequence[Item]], fastpath: Sequence[Sequence[Item]]) -> Comparison:
    """Compare, and leave out what is no difference in another run with otel-fastpath.

    Args:
        stock: See `compare`.
        fastpath: The items of two or more runs with otel-fastpath.
    """
    result, *others = (compare(stock, run) for run in fastpath)
    for other in others:
        again = {each.place for each in other.differences}
        result.varying += [each.place for each in result.differences if each.place not in again]
        result.differences = [each for each in result.differences if each.place in again]
    return result


def _leave_out_listed(result: Comparison) -> None:
    entries, found = listed(), result.differences
    result.differences = []
    for each in found:
        entry = next((entry for entry in entries if entry.covers(each.signal, each.name, each.field)), None)
        if entry is None:
            result.differences.append(each)
        else:
            result.listed.append((each, entry))


def _number_of(items: Sequence[Item], name: str) -> int:
    return sum(library(item.scope) == name for item in items)


def _grouped(items: Sequence[Item], own: set[str]) -> _Groups:
    groups: _Groups = defaultdict(list)
    for item in items:
        if library(item.scope) not in own:
            groups[item.signal, item.scope, item.name].append(item.fields)
    return groups


def _compare_group(
    result: Comparison, key: _Key, stock: list[list[dict[str, str]]], fastpath: list[dict[str, str]]
) -> None:
    numbers = [len(run) for run in stock]
    is_stable = len(set(numbers)) == 1
    if is_stable and len(fastpath) != numbers[0]:
        result.differences.append(Difference(*key, COUNT, str(numbers[0]), str(len(fastpath))))
        return
    if not is_stable:
        result.varying.append((*key, COUNT))
        if not fastpath:
            if all(numbers):
                result.differences.append(Difference(*key, COUNT, " or ".join(map(str, numbers)), "0"))
            return
    names = sorted({name for run in (*stock, fastpath) for fields in run for name in fields})
    found = len(result.differences)
    strict = [
        name
        for name in names
        if _compare_field(result, key, name, [_column(run, name) for run in stock], _column(fastpath, name))
    ]
    if len(result.differences) == found:
        _compare_combinations(result, key, [_rows(run, strict) for run in stock], _rows(fastpath, strict))


def _column(run: list[dict[str, str]], name: str) -> list[str]:
    return [fields.get(name, NONE) for fields in run]


def _rows(run: list[dict[str, str]], names: list[str]) -> list[str]:
    return [json.dumps({name: fields[name] for name in names if name in fields}) for fields in run]


def _compare_field(result: Comparison, key: _Key, name: str, stock: list[list[str]], fastpath: list[str]) -> bool:
    """Compare one field; return whether the runs with stock OpenTelemetry agree in each value."""
    for number, view in enumerate(_VIEWS):
        seen = {view(column) for column in stock if column}
        if len(seen) == 1:
            if view(fastpath) not in seen:
                result.differences.append(_difference(key, name, stock[0], fastpath))
            elif number:
                result.varying.append((*key, name))
            return not number
    result.varying.append((*key, name))
    return False


def _compare_combinations(result: Comparison, key: _Key, stock: list[list[str]], fastpath: list[str]) -> None:
    """Compare the fields together: each of them may be the same, and on other spans."""
    seen = {_VIEWS[0](rows) for rows in stock}
    if len(seen) == 1 and _VIEWS[0](fastpath) not in seen:
        result.differences.append(_difference(key, COMBINATION, stock[0], fastpath))


def _difference(key: _Key, name: str, stock: list[str], fastpath: list[str]) -> Difference:
    ours, theirs = Counter(fastpath), Counter(stock)
    return Difference(*key, name, _shown(theirs - ours), _shown(ours - theirs))


def _shown(values: Counter[str]) -> str:
    parts = [f"{count} x {_short(value)}" for value, count in sorted(values.items())[:_MOST]]
    more = len(values) - _MOST
    return ", ".join(parts) + (f" and {more} more" if more > 0 else "")


def _short(value: Any) -> str:
    return value if len(value) <= _LONGEST else f"{value[: _LONGEST - 3]}..."
