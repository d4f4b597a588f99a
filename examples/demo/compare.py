"""Compares the telemetry of two services, and describes the differences."""

import json
from collections import Counter
from typing import Any

MOST_TOLD = 50
# Upstream records the size of an earlier response for one that states none (docs/http.md).
OF_OTHER_RESPONSES = frozenset({"http.server.response.size", "http.server.response.body.size"})


def differences(stock: dict[str, Any], fastpath: dict[str, Any]) -> list[str]:
    """Compare two summaries of the receiver.

    Args:
        stock: The summary that is taken as correct.
        fastpath: The summary that must equal it.

    Returns:
        One sentence for each difference; none if the telemetry is the same.
    """
    found: list[str] = []
    for name, summary in (("stock", stock), ("fastpath", fastpath)):
        found += [f"{name} sent an invalid span, {count} times: {fault}" for fault, count in summary["faults"].items()]
        if not summary["spans"] or not summary["metrics"]:
            found.append(f"{name} sent no spans or no metrics, so there is nothing to compare")
    found += _span_differences(Counter(stock["spans"]), Counter(fastpath["spans"]))
    found += _metric_differences(stock["metrics"], fastpath["metrics"])
    if stock["callers"] != fastpath["callers"]:
        found.append("the spans do not carry on the same traces of the same callers")
    return found


def _span_differences(stock: Counter[str], fastpath: Counter[str]) -> list[str]:
    missing, extra = stock - fastpath, fastpath - stock
    found: list[str] = []
    for line in _some(missing):
        # A changed span appears as one missing and one extra: report them as one, with its changes.
        while missing[line] and (other := _nearest(line, _some(extra))):
            paired = min(missing[line], extra[other])
            found.append(f"{paired} x span {_title(line)}: {'; '.join(_changes(line, other))}")
            missing[line] -= paired
            extra[other] -= paired
            extra = +extra
    found += [f"{missing[line]} x span {_title(line)}: only stock sent it" for line in _some(+missing)]
    found += [f"{extra[line]} x span {_title(line)}: only fastpath sent it" for line in _some(extra)]
    untold = len(+missing) + len(extra) - len(_some(+missing)) - len(_some(extra))
    return [*found, f"and {untold} more kinds of spans differ"] if untold else found


def _some(lines: Counter[str]) -> list[str]:
    """The lines to report: if thousands differ, a few show why."""
    return sorted(lines)[:MOST_TOLD]


def _nearest(line: str, others: list[str]) -> str | None:
    """The span of the same name that differs from this one in the fewest places."""
    alike = [(len(_changes(line, other)), other) for other in others if _identity(other) == _identity(line)]
    return min(alike)[1] if alike else None


def _metric_differences(stock: dict[str, Any], fastpath: dict[str, Any]) -> list[str]:
    found: list[str] = []
    for line in sorted(stock.keys() | fastpath.keys()):
        if json.loads(line).get("name") in OF_OTHER_RESPONSES:
            continue
        if line not in fastpath:
            found.append(f"metric {_title(line)}: only stock sent it")
        elif line not in stock:
            found.append(f"metric {_title(line)}: only fastpath sent it")
        elif stock[line] != fastpath[line]:
            changes = "; ".join(_changed_fields(stock[line], fastpath[line], ""))
            found.append(f"metric {_title(line)}: {changes}")
    return found


def _identity(line: str) -> tuple[str, str]:
    span = json.loads(line)
    return span["scope"]["name"], span["name"]


def _title(line: str) -> str:
    told = json.loads(line)
    place = f" below {told['place']}" if "place" in told else ""
    return f"{told['name']!r} of {told['scope']['name']}{place} with {json.dumps(told['attributes'])}"


def _changes(stock: str, fastpath: str) -> list[str]:
    return list(_changed_fields(json.loads(stock), json.loads(fastpath), ""))


def _changed_fields(stock: Any, fastpath: Any, at: str) -> list[str]:
    if isinstance(stock, dict) and isinstance(fastpath, dict):
        changed: list[str] = []
        for key in sorted(stock.keys() | fastpath.keys()):
            where = f"{at}.{key}" if at else key
            changed += _changed_fields(stock.get(key, "(none)"), fastpath.get(key, "(none)"), where)
        return changed
    return [] if stock == fastpath else [f"{at} is {fastpath!r} and not {stock!r}"]
