"""The `overhead` fixture: measures a test's callables by running the test again in fresh processes."""

from __future__ import annotations

import functools
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pytest

from otel_fastpath.tools.budget import blocks, calibration, checks, declare, limits
from otel_fastpath.tools.budget.counting.callables import Running, ScenarioError
from otel_fastpath.tools.budget.declare import Declaration, DeclarationError, Scenario
from otel_fastpath.tools.budget.pytest_plugin import child as pytest_child
from otel_fastpath.tools.budget.pytest_plugin.properties import PREFIX, to_properties
from otel_fastpath.tools.budget.results import Result, Verdict
from otel_fastpath.tools.common.render import check_report as rendering
from otel_fastpath.tools.common.render import github, terminal
from otel_fastpath.tools.common.render.document import Document

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

_UNDER_XDIST: Final = "pytest-xdist runs other tests at the same time, so times would be meaningless"
_DISABLED: Final = "--benchmark-disable"
# The limit of a test that declares none: its callables are only timed for the table.
_SHOWN: Final = limits.Limit(limits.OVERHEAD, "none", float("inf"), unit="us", gates=False)


class Overhead:
    """Callable once in a test, as `overhead(bare, instrumented)` or `overhead("name of a declared scenario")`."""

    def __init__(self, request: pytest.FixtureRequest, benchmark: Any) -> None:
        self._node: Any = request.node
        self._config = request.config
        self._benchmark = benchmark
        self._used = False

    @property
    def is_used(self) -> bool:
        """Whether it was called."""
        return self._used

    def __call__(
        self, bare: Callable[[], Any] | str, instrumented: Callable[[], Any] | None = None, /
    ) -> tuple[Result, ...]:
        """Measure and judge; fail the test if a limit is exceeded, skip it if there is no verdict.

        Args:
            bare: The work without the hook, sync or async; or the name of a scenario.
            instrumented: The same work with the hook.

        Returns:
            One result for each limit.
        """
        if self._used:
            pytest.fail("the overhead fixture can be used once in a test", pytrace=False)
        self._used = True
        try:
            return self._named(bare) if isinstance(bare, str) else self._given(bare, instrumented)
        except (DeclarationError, ScenarioError) as error:
            mistake = str(error)
        finally:
            # If the test ends before its benchmark, pytest-benchmark must not warn that its fixture was not used.
            if not getattr(self._benchmark, "_mode", True):
                self._benchmark._mode = "overhead"
        pytest.fail(mistake, pytrace=False)

    def _given(self, bare: Callable[[], Any], instrumented: Callable[[], Any] | None) -> tuple[Result, ...]:
        if not callable(instrumented):
            pytest.fail("overhead(bare, instrumented): expected two callables", pytrace=False)
        job_file = self._config.getoption("overhead_job")
        if job_file:
            pytest_child.do(Path(job_file), bare, instrumented)
        marker = self._node.get_closest_marker("overhead_budget")
        name = marker.args[0] if marker and marker.args else self._node.nodeid
        scenario = Scenario(name, "", "", None, self._limits({}))
        with Running(bare, instrumented) as running:
            # This is for pytest-benchmark's table, JSON and histogram; verdicts come from blocks in fresh processes.
            if running.is_async:
                self._benchmark(running.instrumented.block, 1)
            else:
                self._benchmark(instrumented)
        declaration = self._declaration() or Declaration(
            self._node.path, {}, lock=self._config.rootpath / declare.DEFAULT_LOCK
        )
        own = Declaration(**{**vars(declaration), "scenarios": {name: scenario}})
        return self._hold(own, scenario, pytest_child.Runner(self._config, self._node))

    def _named(self, name: str) -> tuple[Result, ...]:
        declaration = self._declaration()
        known = declaration.scenarios if declaration else {}
        if declaration is None or name not in known:
            pytest.fail(
                f"overhead({name!r}): expected one of {', '.join(known) or 'the declared scenarios'}", pytrace=False
            )
        scenario = known[name]
        found = self._limits({limit.metric: limit for limit in scenario.limits})
        scenario = Scenario(**{**vars(scenario), "limits": found or scenario.limits})
        own = Declaration(**{**vars(declaration), "scenarios": {name: scenario}})
        return self._hold(own, scenario, None)

    def _declaration(self) -> Declaration | None:
        given = self._config.getoption("overhead_file")
        file = Path(given) if given else declare.find(self._config.rootpath)
        return declare.read(file) if file else None

    def _limits(self, declared: dict[str, Any]) -> tuple[limits.Limit, ...]:
        marker = self._node.get_closest_marker("overhead_budget")
        asked = dict(marker.kwargs) if marker else {}
        if not asked and not declared:
            return (_SHOWN,)
        found: list[limits.Limit] = []
        for metric, texts in asked.items():
            if metric not in limits.DECLARED:
                raise self._error(metric, texts, "one of the metrics " + ", ".join(limits.DECLARED))
            found += declare.parse_limits(metric, texts, functools.partial(self._error, metric))
        return tuple(found)

    def _error(self, key: str, value: object, expected: str) -> DeclarationError:
        return DeclarationError(self._node.nodeid, f"overhead_budget.{key}", value, expected)

    def _hold(self, declaration: Declaration, scenario: Scenario, runner: Any) -> tuple[Result, ...]:
        getoption = self._config.getoption
        under_xdist = hasattr(self._config, "workerinput")
        disabled = self._benchmark.disabled and not under_xdist
        counts = frozenset(limits.COUNTS)
        options = checks.Options(
            metrics=frozenset() if disabled else counts if under_xdist else None,
            processes=getoption("overhead_processes"),
            plan=blocks.MeasurementPlan(cycles=getoption("overhead_cycles")),
            pause=getoption("overhead_pause"),
            calibrate="run `pytest --overhead-calibrate`",
            **({"run": runner} if runner else {}),
        )
        if getoption("overhead_calibrate") and not disabled:
            return self._calibrate(declaration, options, under_xdist=under_xdist)
        report = checks.check(declaration, options)
        why = _DISABLED if disabled else _UNDER_XDIST
        missing = [
            Result(scenario.name, limit.key, limit.text, Verdict.NOT_MEASURED, reason=why)
            for limit in scenario.limits
            if disabled or (under_xdist and limit.timed)
        ]
        results = (*report.results, *missing)
        self._publish(results)
        if not disabled:
            # A test's callables exist only in the test, so `budget explain` knows none but declared ones.
            advice = [rendering.advice(report)] if runner is None else []
            self._judge(results, [*rendering.grown_functions(report.functions.values()), *advice])
        return results

    def _calibrate(self, declaration: Declaration, options: checks.Options, *, under_xdist: bool) -> tuple[Result, ...]:
        if under_xdist:
            pytest.fail("--overhead-calibrate cannot run under pytest-xdist", pytrace=False)
        known = calibration.read(declaration.lock)
        found, missing = checks.calibrate(declaration, options)
        calibration.write(declaration.lock, calibration.merge(known, found))
        if missing:
            pytest.skip("not measured: " + "; ".join(missing))
        return ()

    def _publish(self, results: Iterable[Result]) -> None:
        """Add results to the test's properties, for JUnit and the table at the end, and to pytest-benchmark's JSON."""
        published = to_properties(results)
        self._node.user_properties.extend(published)
        self._benchmark.extra_info["overhead"] = {name[len(PREFIX) :]: value for name, value in published}

    def _judge(self, results: tuple[Result, ...], cause: Iterable[str]) -> None:
        verdicts = {result.verdict for result in results}
        strict = self._config.getoption("overhead_strict")
        bad = {Verdict.FAIL, *((Verdict.INCONCLUSIVE, Verdict.NOT_MEASURED) if strict else ())}
        if verdicts & bad:
            lines = [_line(result) for result in results if result.verdict in bad]
            pytest.fail("\n".join(filter(None, [*lines, *cause])), pytrace=False)
        unsure = [result for result in results if result.verdict in (Verdict.INCONCLUSIVE, Verdict.NOT_MEASURED)]
        if Verdict.INCONCLUSIVE in verdicts or (unsure and len(unsure) == len(results)):
            # The test neither passed nor failed.
            pytest.skip("; ".join(_line(result) for result in unsure))


def _line(result: Result) -> str:
    value = "" if result.value is None else f" {rendering.shown(result)}"
    reason = f" ({result.reason})" if result.reason else ""
    return f"{result.scenario}: {result.metric}{value}, limit {result.limit}: {result.verdict.value}{reason}"


def summarise(reporter: Any, results: list[Result], places: dict[str, tuple[str, int]]) -> None:
    """Write the table at the end of a run, and annotate tests that failed if this is a GitHub workflow.

    Args:
        reporter: pytest's terminal reporter.
        results: The results of all tests.
        places: The file and line of the test with each result, by the name of its scenario.
    """
    reporter.write_sep("-", "overhead budgets")
    document = Document("", rendering.summary(results), (rendering.table(results),), notes=rendering.notes(results))
    reporter.write_line(terminal.render(document, colour=reporter.hasmarkup, facts=False).strip("\n"))
    if github.is_workflow():
        for result in results:
            if result.verdict is Verdict.FAIL and result.scenario in places:
                file, line = places[result.scenario]
                reporter.write_line(github.error_line(file, line, "overhead budget", _line(result)))
