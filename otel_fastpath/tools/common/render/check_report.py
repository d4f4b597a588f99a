"""A check's report as a document."""

from __future__ import annotations

import itertools
import shlex
from pathlib import PurePath
from typing import TYPE_CHECKING, Any, Final

from otel_fastpath.tools.budget.results import Verdict
from otel_fastpath.tools.common.render.document import (
    BAD,
    GOOD,
    MUTE,
    PLAIN,
    UNSURE,
    Cell,
    Chart,
    Document,
    Mark,
    Table,
    figure,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from otel_fastpath.tools.budget.results import BudgetReport, Growth, Result

TONES: Final = {
    Verdict.PASS: GOOD,
    Verdict.FAIL: BAD,
    Verdict.INCONCLUSIVE: UNSURE,
    Verdict.NOT_MEASURED: UNSURE,
    Verdict.INFORMATION: MUTE,
}
_MOST_NAMES: Final = 5
_ORDER: Final = (Verdict.FAIL, Verdict.INCONCLUSIVE, Verdict.NOT_MEASURED, Verdict.PASS, Verdict.INFORMATION)


def document(report: BudgetReport) -> Document:
    """The document of a report."""
    against = f" against {report.base}" if report.base else ""
    marks = [_mark(result) for result in report.results if result.verdict is not Verdict.INFORMATION]
    return Document(
        title=f"Overhead budgets{against}",
        summary=summary(report.results, report.seconds),
        tables=(table(report.results), *_functions(report.functions), *_profiles(report.profiles or {})),
        charts=(Chart("Share of what the limit allows", "limit", tuple(marks)),) if marks else (),
        facts=facts(report.environment),
        notes=(
            *notes(report.results),
            *_activity(report.is_fast),
            *_notes_of_functions(report.functions),
            *_notes_of_profiles(report.profiles),
        ),
        advice=advice(report),
    )


def table(results: Sequence[Result]) -> Table:
    """One row for each limit."""
    rows = tuple(
        (
            Cell(result.scenario),
            Cell(result.metric),
            Cell(_limit(result)),
            Cell(shown(result)),
            Cell(interval(result)),
            Cell(_plain_times(result), MUTE),
            Cell(result.verdict.value, TONES[result.verdict]),
            Cell(result.reason, MUTE),
        )
        for result in results
    )
    columns = ("scenario", "metric", "limit", ">value", ">interval", ">us", "verdict", "note")
    # Leave out the columns that no result fills.
    kept = [i for i, name in enumerate(columns) if name == ">value" or any(row[i].text for row in rows)]
    return Table(tuple(columns[i] for i in kept), tuple(tuple(row[i] for i in kept) for row in rows))


def _limit(result: Result) -> str:
    """The limit and, if it is relative to a measured value, that value."""
    if result.calibrated is None:
        return result.limit
    if result.limit.endswith("of stock"):
        return f"{result.limit}'s {figure(result.calibrated)}"
    return f"{result.limit} of {figure(result.calibrated)}" if result.limit.startswith("+") else result.limit


def _activity(is_fast: dict[str, bool]) -> tuple[str, ...]:
    """Whether otel-fastpath was active: a first budget is easily one of stock OpenTelemetry."""
    if not is_fast:
        return ()
    without = [name for name, fast in is_fast.items() if not fast]
    if not without:
        return ("otel-fastpath was active in every scenario.",)
    if len(without) == len(is_fast):
        return ("otel-fastpath was not active: the set-up of no scenario calls FastpathInstrumentor().instrument().",)
    more = len(without) - _MOST_NAMES
    names = ", ".join(without[:_MOST_NAMES]) + (f" and {more} more" if more > 0 else "")
    return (f"otel-fastpath was active in {len(is_fast) - len(without)} of {len(is_fast)} scenarios, not in: {names}.",)


def _functions(grown: dict[str, Growth]) -> tuple[Table, ...]:
    """The functions that a count above its limit is in."""
    tables = []
    for name, growth in grown.items():
        if growth.is_calibrated:
            title = f"Functions that execute more bytecodes in {name} than when it was calibrated"
        else:
            title = f"Functions with the most bytecodes in {name}"
        rows = [
            (Cell(_figure(row["was"])), Cell(figure(row["now"])), Cell(row["function"])) for row in growth.functions
        ]
        if rows:
            tables.append(Table((">calibrated", ">now", "function"), tuple(rows), title))
    return tuple(tables)


def _notes_of_functions(grown: dict[str, Growth]) -> tuple[str, ...]:
    return tuple(
        f"{name}: none of the recorded functions executes more bytecodes than when it was calibrated; what grew is in "
        "smaller ones, or inside C."
        if growth.is_calibrated
        else f"{name}: no Python function executes any bytecodes; all of it is inside C."
        for name, growth in grown.items()
        if not growth.functions
    )


def _figure(value: float | None) -> str:
    return "-" if value is None else figure(value)


def grown_functions(grown: Iterable[Growth]) -> list[str]:
    """The functions that a count above its limit is in, a line each."""
    lines = []
    for row in itertools.chain.from_iterable(growth.functions for growth in grown):
        was = "" if row["was"] is None else f"{figure(row['was'])} -> "
        lines.append(f"  {row['function']}: {was}{figure(row['now'])} bytecodes")
    return lines


def failures(report: BudgetReport) -> list[tuple[Result, str]]:
    """Each result that fails, with one line about it and, for the first of a scenario, the function that grew most."""
    found = []
    grown = dict(report.functions)
    for result in report.results:
        if result.verdict is Verdict.FAIL:
            text = f"{result.scenario}: {result.metric} {shown(result)}, limit {_limit(result)}"
            growth = grown.pop(result.scenario, None)
            first = [] if growth is None else grown_functions([growth])[:1]
            found.append((result, ";".join([text, *first])))
    return found


def _profiles(profiles: dict[str, dict[str, Any]]) -> tuple[Table, ...]:
    """The profile of each scenario that was profiled."""
    columns = (">own CPU time", "function", "part of the hook")
    return tuple(
        Table(
            columns,
            tuple(
                (
                    Cell(f"{each['share']:.1%}"),
                    Cell(each["function"], PLAIN if each["hook"] else MUTE),
                    Cell(each["hook"] or "no telemetry", PLAIN if each["hook"] else MUTE),
                )
                for each in found["functions"]
            ),
            f"Profile of {name}: {found['headline']}",
        )
        for name, found in profiles.items()
        if "error" not in found
    )


def _notes_of_profiles(profiles: dict[str, dict[str, Any]] | None) -> tuple[str, ...]:
    if profiles is None:
        return ()
    if not profiles:
        return ("No limit failed, so nothing was profiled.",)
    texts = [f"{name}: no profile: {found['error']}" for name, found in profiles.items() if "error" in found]
    texts += [f"{name}: {line}" for name, found in profiles.items() for line in found.get("advice", ())]
    if any("error" not in found for found in profiles.values()):
        texts.append("A profile is of the whole instrumented call, which includes the bare work.")
    return tuple(texts)


def advice(report: BudgetReport) -> str:
    """The command that explains the first failure."""
    failed = next((result.scenario for result in report.results if result.verdict is Verdict.FAIL), None)
    if failed is None:
        return ""
    file = "" if PurePath(report.file).name == "pyproject.toml" else f" --file {shlex.quote(report.file)}"
    return f"where the cost is: otel-fastpath budget explain{file} {shlex.quote(failed)}"


def shown(result: Result) -> str:
    """The value with its unit."""
    if result.value is None:
        return "-"
    if result.unit == "x bare":
        return f"{result.value:.1%} of bare"
    if result.unit == "x base":
        return f"{result.value - 1:+.1%}"
    return figure(result.value) if result.exact else f"{figure(result.value)} {result.unit}"


def interval(result: Result) -> str:
    """The interval of an estimate, as text."""
    if result.low is None or result.high is None:
        return ""
    if result.unit == "x bare":
        return f"{result.low:.1%} .. {result.high:.1%}"
    if result.unit == "x base":
        return f"{result.low - 1:+.1%} .. {result.high - 1:+.1%}"
    return f"{figure(result.low)} .. {figure(result.high)}"


def _plain_times(result: Result) -> str:
    details = result.details
    if "bare_us" in details:
        return f"{figure(details['bare_us'])} -> {figure(details['instrumented_us'])}"
    if "base_us" in details:
        return f"base {figure(details['base_us'])}, head {figure(details['head_us'])}"
    return ""


def _mark(result: Result) -> Mark:
    text = result.verdict.value if result.value is None else f"{shown(result)}: {result.verdict.value}"
    label = f"{result.scenario}, {result.metric} {result.limit}"
    if result.value is None or result.most is None:
        return Mark(label, text, TONES[result.verdict])

    def place(value: float | None) -> float | None:
        if value is None:
            return None
        most = result.most or 0.0
        return value / most if most > 0 else (0.0 if value <= 0 else float("inf"))

    return Mark(
        label,
        text,
        TONES[result.verdict],
        points=tuple(place(point) or 0.0 for point in result.estimates),
        value=place(result.value),
        low=place(result.low),
        high=place(result.high),
        bar=result.exact,
    )


def summary(results: Iterable[Result], seconds: float | None = None) -> Cell:
    """The number of limits with each verdict."""
    counted = dict.fromkeys(_ORDER, 0)
    for result in results:
        counted[result.verdict] += 1
    texts = [f"{count} {verdict.value}" for verdict, count in counted.items() if count]
    worst = next((verdict for verdict in _ORDER if counted[verdict]), None)
    words = ", ".join(texts) or "nothing was measured"
    took = "" if seconds is None else f" in {seconds:.0f} s"
    return Cell(f"{words}{took}", TONES[worst] if worst else UNSURE)


def facts(environment: dict[str, Any]) -> tuple[tuple[str, str], ...]:
    """The facts about the environment as texts."""
    found = []
    for name, value in environment.items():
        text = ", ".join(f"{key} {each}" for key, each in value.items()) if isinstance(value, dict) else value
        found.append((name, str(text)))
    return tuple(found)


def notes(results: Iterable[Result]) -> tuple[str, ...]:
    """Notes that explain the kinds of values in the results."""
    kinds = {result.unit for result in results if result.value is not None}
    texts = []
    if "ref" in kinds:
        texts.append("ref: cost of a frozen workload timed in the same milliseconds; comparable on one machine only.")
    if "us" in kinds:
        texts.append("us: valid for this machine at this moment, for information only.")
    return tuple(texts)
