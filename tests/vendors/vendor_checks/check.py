"""Checks one vendor: the environment, the runs, their comparison, and the gain."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from examples.founding_case.environment import SetupError
from vendor_checks import gain
from vendor_checks.compare import Difference, compare, without_listed
from vendor_checks.environment import provide
from vendor_checks.ways import STOCK, STOCK_LAUNCHER, WAYS, Run, RunError, run

if TYPE_CHECKING:
    from collections.abc import Sequence

    from vendor_checks.catalogue import Listed, Vendor
    from vendor_checks.environment import Environment

_TITLES = {
    "first": "otel-fastpath first",
    "second": "otel-fastpath second",
    "launcher": "under opentelemetry-instrument",
    STOCK: "stock",
    STOCK_LAUNCHER: "stock under opentelemetry-instrument",
}
# Why a patch was skipped that could not be made: its reason is the exception.
_FAILED = re.compile(r"^\S+: \w+(Error|Exception): ")
# A fault has at most so many differences in full; their number is given.
_MOST_SHOWN = 8


@dataclass
class Result:
    """What was found.

    Attributes:
        version: The installed release of the vendor's package.
        faults: What differs or failed, for the reader.
        unavailable: Why the vendor could not be checked, or not in each way, without a fault of otel-fastpath.
        items: How many things each way sent.
        listed: The differences of the list that were found.
        gain: The cost of a root span.
        notes: What the reader should know besides.
    """

    vendor: Vendor
    version: str = ""
    faults: list[str] = field(default_factory=list)
    unavailable: str = ""
    items: int = 0
    listed: set[Listed] = field(default_factory=set)
    gain: gain.Gain | None = None
    notes: list[str] = field(default_factory=list)


def check(vendor: Vendor, *, has_gain: bool) -> Result:
    """Check a vendor; what goes wrong is part of the result."""
    result = Result(vendor)
    try:
        environment = provide(vendor.installed)
    except SetupError as error:
        result.unavailable = f"its environment cannot be made: {str(error).strip().splitlines()[-1].strip()}\n{error}"
        return result
    result.version = environment.versions[vendor.package]
    result.notes += [environment.note] if environment.note else []
    _compare_ways(result, environment)
    if not result.faults and not result.unavailable:
        absent = [each for each in vendor.differences if each not in result.listed]
        result.faults += [f"listed, but nothing differs so: {each.path}" for each in absent]
    if has_gain and not result.unavailable:
        try:
            result.gain = gain.measure(vendor, environment)
        except RunError as error:
            result.faults.append(f"the gain could not be measured: {error}")
    return result


def _compare_ways(result: Result, environment: Environment) -> None:
    stock: dict[str, Run | RunError] = {}
    for way, base in WAYS.items():
        if base not in stock:
            stock[base] = _tried(result.vendor, environment, base)
            if isinstance(stock[base], RunError):
                result.unavailable = f"it fails without otel-fastpath, too ({_TITLES[base]}): {stock[base]}"
        expected = stock[base]
        if isinstance(expected, RunError):
            continue
        found = _tried(result.vendor, environment, way)
        if isinstance(found, RunError):
            result.faults.append(f"{_TITLES[way]}: {found}")
            continue
        result.items = len(found.sent)
        result.notes += [note for note in _notes(found) if note not in result.notes]
        result.faults += [f"{_TITLES[way]}: {each}" for each in found.did.get("skipped", ()) if _FAILED.search(each)]
        if first := _differences(result, expected, found):
            _compare_again(result, environment, way, first)


def _compare_again(result: Result, environment: Environment, way: str, first: list[Difference]) -> None:
    """Run both once more: what differs only once may differ between two stock runs, too, and is a note."""
    runs = [_tried(result.vendor, environment, each) for each in (WAYS[way], way)]
    failed = next((each for each in runs if isinstance(each, RunError)), None)
    if failed is not None:
        result.faults.append(f"{_TITLES[way]}: {failed}")
    elif again := _differences(result, *runs):
        result.faults.append(_described(f"{_TITLES[way]}: {len(again)} differences", again))
    else:
        result.notes.append(_described(f"{_TITLES[way]}: unsteady, {len(first)} differences in one of two runs", first))


def _differences(result: Result, stock: Run, ours: Run) -> list[Difference]:
    left, listed = without_listed(compare(stock.sent, ours.sent), result.vendor.differences)
    result.listed |= listed
    return left


def _tried(vendor: Vendor, environment: Environment, way: str) -> Run | RunError:
    try:
        return run(vendor, environment, way)
    except RunError as error:
        return error


def _notes(found: Run) -> list[str]:
    skipped = [f"skipped {each}" for each in found.did.get("skipped", ())]
    # The log says for each what the status says.
    said = [line for line in dict.fromkeys(found.said) if " is left off: " not in line]
    return skipped + [f"said: {line}" for line in said]


def _described(title: str, differences: Sequence[Difference]) -> str:
    lines = [title, *map(str, differences[:_MOST_SHOWN])]
    return "\n".join(lines).replace("\n", "\n    ")
