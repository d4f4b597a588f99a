"""The table of the results, which is printed, and what docs/vendors.md has of them."""

from __future__ import annotations

import datetime as dt
import platform
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from vendor_checks.check import Result

# The row of the list with no vendor.
SDK = "sdk"
# Of what is left, with which a package is named.
_LEAST_SHARE = 0.1
_COLUMNS = ("vendor", "release", "what it sends", "stock", "otel-fastpath", "saved", "gain")
_HEAD = f"| {' | '.join(_COLUMNS)} |\n| --- | --- | --- | ---: | ---: | ---: | ---: |\n"


def table(results: Sequence[Result]) -> str:
    """One row for each vendor."""
    sdk = next((result.gain.stock for result in results if result.gain and result.vendor.name == SDK), 0.0)
    return _HEAD + "".join(_row(result, sdk) for result in results)


def document(results: Sequence[Result]) -> str:
    """The table, and what it was made with."""
    unit = next((result.gain.unit for result in results if result.gain), "nothing measured")
    today = dt.datetime.now(tz=dt.timezone.utc).date()
    reasons = [f"- {each.reason}\n" for result in results for each in result.vendor.differences]
    listed = f"Intentional differences:\n\n{''.join(reasons)}\n" if reasons else ""
    rest = [_rest(result) for result in results if result.gain and result.gain.shares]
    left = f"Where less than half is saved, what is left is in:\n\n{''.join(rest)}\n" if rest else ""
    made = f"Python {platform.python_version()}; costs in {unit}; {today}."
    return f"{table(results)}\n{left}{listed}{made}\n"


def _row(result: Result, sdk: float) -> str:
    cells = [result.vendor.title, f"`{result.vendor.package}` {result.version}".strip(), _state(result)]
    if result.gain:
        stock, ours = result.gain.stock, result.gain.ours
        cells += [f"{stock:,.1f}", f"{ours:,.1f}"]
        cells.append(_with_goal(f"{stock - ours:,.1f}", stock - ours, result.vendor.goal_of_sdk * sdk, ",.1f"))
        cells.append(_with_goal(f"x{result.gain.factor:.1f}", result.gain.factor, result.vendor.goal, "g", "x"))
    else:
        cells += [""] * 4
    return f"| {' | '.join(cells)} |\n"


def _rest(result: Result) -> str:
    """The packages that most of what is left is in."""
    assert result.gain is not None
    shares = [f"`{name}` {share:.0%}" for name, share in result.gain.shares.items() if share >= _LEAST_SHARE]
    return f"- {result.vendor.title}: {', '.join(shares)}\n"


def _with_goal(text: str, value: float, goal: float, form: str, sign: str = "") -> str:
    """The text, with the goal if there is one that is not reached."""
    return f"{text} (goal: {sign}{goal:{form}})" if goal and value < goal else text


def _state(result: Result) -> str:
    if result.faults:
        return "differs: " + ", ".join(dict.fromkeys(fault.partition(":")[0] for fault in result.faults))
    if result.unavailable:
        return "not checked: " + result.unavailable.partition("\n")[0]
    meant = f", but for {len(result.listed)} listed below" if result.listed else ""
    return f"equal ({result.items} items){meant}"
