"""The pytest plugin: the options, the marker, the `overhead` fixture and the table at the end.

pytest imports this module in every project that has this package installed, so it imports nothing itself. The
measuring code is in `pytest_overhead`, which is loaded by the first test that requests the fixture.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from otel_fastpath.tools.budget.pytest_plugin.overhead import Overhead

_NAME = "overhead_budget"
_MARKER = (
    "overhead_budget(scenario=None, **limits): limits for the `overhead` fixture of this test, e.g. "
    'overhead="0.35 ref", calls="<= 40", bytecodes="+2%"'
)


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options."""
    group = parser.getgroup("overhead", "overhead budgets (otel-fastpath)")
    option = group.addoption
    option("--overhead-strict", action="store_true", help="fail tests that are inconclusive or were not measured")
    option("--overhead-calibrate", action="store_true", help="record the values that limits like +2%% are relative to")
    option("--overhead-processes", type=int, default=5, metavar="N", help="fresh processes for a time (default 5)")
    option("--overhead-cycles", type=int, default=300, metavar="N", help="blocks in each of them (default 300)")
    option("--overhead-pause", type=float, default=10.0, metavar="S", help="seconds before a breach is confirmed")
    option("--overhead-file", metavar="FILE", help="TOML file with the budgets (default: the nearest pyproject.toml)")
    option("--overhead-job", help="used by this plugin for the measuring processes that it starts")
    parser.addini(
        "overhead_child_args", "additional arguments for pytest in the measuring processes", type="args", default=[]
    )


def pytest_configure(config: pytest.Config) -> None:
    """Declare the marker, and define the fixture, which builds on the one of pytest-benchmark."""
    config.addinivalue_line("markers", _MARKER)
    has_benchmark = config.pluginmanager.hasplugin("benchmark")
    config.pluginmanager.register(_OnBenchmark() if has_benchmark else _Alone(), "otel-fastpath-overhead-fixture")


class _OnBenchmark:
    @pytest.fixture
    def overhead(self, request: pytest.FixtureRequest, benchmark: Any) -> Overhead:
        """Measure a hook with `overhead(bare, instrumented)` or `overhead("scenario")`, and check its budget."""
        from otel_fastpath.tools.budget.pytest_plugin.overhead import Overhead  # noqa: PLC0415  # see the module's docstring

        return Overhead(request, benchmark)


class _Alone:
    @pytest.fixture
    def overhead(self) -> None:
        """Fail, because pytest-benchmark is not active."""
        pytest.fail(
            "the overhead fixture needs pytest-benchmark, which is not active: pip install otel-fastpath[budget]",
            pytrace=False,
        )


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Any:
    """Fail a test that has a budget of its own and measures nothing: it would pass whatever its hook costs."""
    outcome = yield
    has_budget = any(mark.name == _NAME for mark in item.own_markers)
    fixture = getattr(item, "funcargs", {}).get("overhead")
    if has_budget and outcome.excinfo is None and not getattr(fixture, "is_used", False):
        outcome.force_exception(
            pytest.fail.Exception(
                f"{item.nodeid}: {_NAME}: expected that the test calls the fixture overhead", pytrace=False
            )
        )


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Print all results of this run as one table."""
    found = [
        report
        for reports in terminalreporter.stats.values()
        for report in reports
        if getattr(report, "when", "") == "call" and report.user_properties
    ]
    if not found:
        return
    from otel_fastpath.tools.budget.pytest_plugin.properties import from_properties  # noqa: PLC0415  # see the module's docstring

    results, places = [], {}
    for report in found:
        for result in from_properties(report.user_properties):
            results.append(result)
            file, line, _name = report.location
            places[result.scenario] = (file, (line or 0) + 1)
    if results:
        from otel_fastpath.tools.budget.pytest_plugin.overhead import summarise  # noqa: PLC0415  # likewise

        summarise(terminalreporter, results, places)
