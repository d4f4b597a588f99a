"""The page of the results of opentelemetry-python-contrib's suites, with each difference and its reason."""

from __future__ import annotations

from typing import TYPE_CHECKING

from harness.compare import meant_differences
from harness.paths import REPOSITORY

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from harness.compare import Verdict
    from harness.environment import Environment
    from harness.suites import Run, Suite

PAGE = REPOSITORY / "docs" / "upstream-suites.md"
_HEAD = """# The suites of opentelemetry-python-contrib

`make upstream ARGS='--contrib --page'` runs the tests in the source distributions of these packages, each in an
environment of its own, and writes this page. The process of a suite calls `FastpathInstrumentor().instrument()` before
the first test. What passes without otel-fastpath ("stock") must pass with each of its cores ("py", "c"); the tests that
do not are listed below, each with the reason. The suites need no other servers than those that they start or fake
themselves.
"""


def table(
    made: Mapping[Path | None, Environment], suites: Sequence[Suite], found: Mapping[str, Mapping[str, Verdict]]
) -> str:
    """Rows of suite, release, passed and failed tests in each mode, and differences."""
    modes = list(next(iter(found.values())))
    rows = [["suite", "release", *modes, "differences"], ["---"] * (3 + len(modes))]
    for suite in suites:
        verdicts = found[suite.name]
        different = max(verdict.meant + len(verdict.faults) for verdict in verdicts.values())
        release = f"{suite.distribution} {made[suite.lock].version_of(suite.distribution)}"
        rows.append([suite.name, release, *(counted(each.result) for each in verdicts.values()), str(different)])
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def counted(run: Run) -> str:
    """The numbers of passed and failed tests."""
    count = run.count()
    return f"{count['passed']} / {count['failed']}"


def write_page(
    made: Mapping[Path | None, Environment], suites: Sequence[Suite], found: Mapping[str, Mapping[str, Verdict]]
) -> None:
    """Write the page of a run of all these suites."""
    environment = next(iter(made.values()))
    python = environment.interpreter.version.split()[0]
    parts = [
        _HEAD,
        f"Passed / failed tests with Python {python} and OpenTelemetry {environment.otel}:\n",
        f"{table(made, suites, found)}\n",
        "## Tests that fail with otel-fastpath only\n",
        "\n".join(_differences(suites)),
        "\n## Tests that fail without otel-fastpath, too\n",
        "\n".join(f"- {suite.name}: {suite.fails}" for suite in suites if suite.fails),
    ]
    PAGE.write_text("\n".join(parts) + "\n")


def _differences(suites: Sequence[Suite]) -> list[str]:
    """A line for each reason, with the tests that it explains."""
    names = {suite.name for suite in suites}
    by_reason: dict[tuple[str, str], list[str]] = {}
    for item in meant_differences():
        if item.suite in names:
            by_reason.setdefault((item.suite, item.reason), []).append(f"`{item.test.rpartition('::')[2]}`")
    return [f"- {suite}: {reason} {', '.join(tests)}" for (suite, reason), tests in by_reason.items()]
