"""The pytest plugin, from outside: outcomes, table, JUnit, pytest-benchmark, xdist, and what it costs others."""

from __future__ import annotations

import json
import subprocess
import sys
import xml.etree.ElementTree as ET

import pytest

pytest_plugins = ("pytester",)

QUICK = ("--overhead-processes=1", "--overhead-cycles=20", "--overhead-pause=0", "-p", "no:cacheprovider")
# Plugins of this repository's own tests, which take a second to load.
LEAN = ("-p", "no:hypothesispytest", "-p", "no:anyio")
SHORT = ("--benchmark-max-time=0.01", "--benchmark-min-rounds=1")
HOOKS = """
import pytest

@pytest.fixture
def times():
    return 40

@pytest.fixture
def hooked(times):
    def hooked():
        for _ in range(times):
            pass
    return hooked

def bare():
    pass
"""


@pytest.fixture
def run(pytester, monkeypatch):
    """Run pytest on these tests, in a process of its own; it is no worker of pytest-xdist's where this one is."""
    monkeypatch.delenv("PYTEST_XDIST_WORKER", raising=False)

    def run(tests, *arguments):
        pytester.makepyfile(test_hooks=HOOKS + tests)
        short = () if "no:benchmark" in arguments else SHORT
        return pytester.runpytest_subprocess(*LEAN, *QUICK, *short, *arguments)

    return run


def marked(limits, name="test_hook", body="overhead(bare, hooked)"):
    """A test with a budget."""
    return f"\n@pytest.mark.overhead_budget({limits})\ndef {name}(overhead, hooked):\n    {body}\n"


def test_a_share_of_the_cpu_is_held(run):
    """`max_cpu` is the share of the whole call: a hook that is nearly all of it is above 50 %, and below 100 %."""
    body = "results = overhead(bare, hooked); assert [each.metric for each in results] == ['overhead (bare)']"
    result = run(marked('max_cpu="99.9%"', "test_below", body) + marked('max_cpu="50%"', "test_above", body))

    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines(["*50% of the CPU*"])


def test_a_budget_that_holds_passes(run):
    """The results are returned, and stand in a table at the end."""
    body = "results = overhead(bare, hooked); assert [each.metric for each in results] == ['overhead', 'calls']"
    result = run(marked('overhead="1 ref", calls="<= 1"', body=body))

    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines(
        [
            "*- overhead budgets -*",
            "scenario *metric *limit *value *interval *us *verdict*",
            "test_hooks.py::test_hook *overhead *1 ref * ref * pass",
            "test_hooks.py::test_hook *calls *<= 1 * 0 * pass",
            "2 pass",
        ]
    )


def test_a_budget_that_is_exceeded_fails(run):
    """With one line, the functions that the cost is in, and no traceback."""
    result = run(marked('bytecodes="<= 20"'))

    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        [
            "test_hooks.py::test_hook: bytecodes 12?, limit <= 20: fail",
            "  hooked.<locals>.hooked (test_hooks.py): 12? bytecodes",
        ]
    )
    result.stdout.no_fnmatch_line("::error*")
    result.stdout.no_fnmatch_line("*Traceback*")
    result.stdout.no_fnmatch_line("*pytest_overhead.py*")


def test_a_failure_in_a_workflow_is_annotated(run, monkeypatch):
    """At the line of the test, where GitHub shows it in a pull request."""
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    test = marked('calls="<= 1"', "test_held") + marked('bytecodes="<= 20"')
    line = (HOOKS + test).strip().splitlines().index('@pytest.mark.overhead_budget(bytecodes="<= 20")') + 1

    result = run(test)

    place = f"file=test_hooks.py,line={line},title=overhead budget"
    result.stdout.fnmatch_lines([f"::error {place}::test_hooks.py::test_hook: bytecodes 12?, *fail"])
    assert result.stdout.str().count("::error") == 1


def test_nothing_measured_is_a_skip(run):
    """It neither passes nor fails; with --overhead-strict it fails."""
    test = marked('bytecodes="+2%"')

    result = run(test, "-rs")
    result.assert_outcomes(skipped=1)
    result.stdout.fnmatch_lines(
        ["*not measured (no calibrated value for Python 3.*: run `pytest --overhead-calibrate`)*"]
    )
    run(test, "--overhead-strict").assert_outcomes(failed=1)


def test_one_limit_that_was_not_measured_does_not_hide_the_others(run):
    """What passed has passed; the table shows what was not measured."""
    result = run(marked('bytecodes="+2%", calls="<= 1"'))

    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines(["1 not measured, 1 pass"])


def test_calibrating(run, pytester):
    """Writes the lock that the next run is held to; a change is found then."""
    test = marked('bytecodes="+2%", calls="+0%"')

    run(test, "--overhead-calibrate").assert_outcomes(passed=1)
    assert '[environment.scenarios."test_hooks.py::test_hook"]' in (pytester.path / "overhead-lock.toml").read_text()
    run(test).assert_outcomes(passed=1)
    result = run(test + "\n@pytest.fixture\ndef times():\n    return 60\n")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["test_hooks.py::test_hook: bytecodes *, limit +2%: fail"])


def test_a_scenario_that_is_declared(run, pytester):
    """Is measured by its name; a marker's limits take the place of the declared ones."""
    pytester.makepyfile(hooks="def work(): pass\ndef hooked(): work()\n")
    pytester.makefile(
        ".toml",
        pyproject="[tool.otel-fastpath.budgets.scenarios.hook]\nbare = 'hooks:work'\ninstrumented = 'hooks:hooked'\n"
        "calls = '<= 0'\n",
    )
    tests = "\ndef test_declared(overhead):\n    overhead('hook')\n" + marked('calls="<= 5"', body="overhead('hook')")

    result = run(tests, "-W", "error")

    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines(
        ["hook: calls 1, limit <= 0: fail", "where the cost is: otel-fastpath budget explain hook"]
    )


MISTAKES = [
    (('bytecodes="420"', "test_0"), 'test_hooks.py::test_0: overhead_budget.bytecodes = "420": expected*'),
    (('seconds="1"', "test_1"), 'test_hooks.py::test_1: overhead_budget.seconds = "1": expected one of the metrics *'),
    (('calls="<= 1"', "test_2", "overhead(bare)"), "overhead(bare, instrumented): expected two callables"),
    (("", "test_3", "overhead('nothing')"), "overhead('nothing'): expected one of the declared scenarios"),
    (
        ('calls="<= 1"', "test_4", "overhead(bare, hooked); overhead(bare, hooked)"),
        "the overhead fixture can be used once in a test",
    ),
    (('calls="<= 1"', "test_5", "overhead(bare, lambda: 1 / 0)"), "instrumented raised ZeroDivisionError*"),
]


def test_mistakes_are_one_line(run):
    """As in a declaration."""
    result = run("".join(marked(*test) for test, _ in MISTAKES))

    result.assert_outcomes(failed=len(MISTAKES))
    for _, message in MISTAKES:
        result.stdout.fnmatch_lines([message])


def test_without_a_budget_it_measures(run):
    """For the table; async callables and fixtures work."""
    result = run(
        "\ndef test_hook(overhead, hooked):\n    async def a(): pass\n    async def b(): hooked()\n    overhead(a, b)\n"
    )

    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines(["test_hooks.py::test_hook *overhead (us) *none * us * information"])


def test_junit_has_the_numbers(run, pytester):
    """As properties of the test, one for each fact."""
    run(marked('calls=["<= 1", "<= 2"]'), "--junit-xml=junit.xml")

    found = {
        each.get("name"): each.get("value")
        for each in ET.parse(pytester.path / "junit.xml").iter("property")  # noqa: S314  # pytest made it
    }
    assert found["overhead.calls.verdict"] == "pass"
    assert found["overhead.calls.limit"] == "<= 1"
    assert found["overhead.calls.value"] == "0.0"
    assert found["overhead.calls#2.limit"] == "<= 2"


def test_pytest_benchmark_keeps_working(run, pytester):
    """Its table with groups, its JSON with our results, its saved runs and the comparison with one."""
    tests = marked('calls="<= 1"').replace("\n@pytest", "\n@pytest.mark.benchmark(group='hooks')\n@pytest", 1)

    result = run(tests, "--benchmark-json=b.json", "--benchmark-autosave")
    result.stdout.fnmatch_lines(["*benchmark 'hooks': 1 tests*", "test_hook *"])
    (benchmark,) = json.loads((pytester.path / "b.json").read_text())["benchmarks"]
    assert benchmark["group"] == "hooks"
    assert benchmark["extra_info"]["overhead"]["calls.verdict"] == "pass"
    assert benchmark["stats"]["median"] > 0

    again = run(tests, "--benchmark-compare", "--benchmark-compare-fail=min:1")
    again.assert_outcomes(passed=1)
    again.stdout.fnmatch_lines(["test_hook (*0001_*"])


def test_benchmarks_that_are_disabled_measure_nothing(run):
    """Each callable is called, the test passes, and no verdict is given; --benchmark-skip skips."""
    tests = marked('bytecodes="<= 20"')

    result = run(tests, "--benchmark-disable")
    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines(["test_hooks.py::test_hook *bytecodes *<= 20 * not measured *--benchmark-disable"])
    run(tests, "--benchmark-skip").assert_outcomes(skipped=1)


def test_nothing_is_timed_under_xdist(run):
    """Counts are taken all the same: they do not mind company. The table comes from all workers."""
    tests = marked('overhead="0.0001 ref", calls="<= 1"') + marked('overhead="0.0001 ref"', name="test_timed")

    result = run(tests, "-n2")

    result.assert_outcomes(passed=1, skipped=1, warnings=None)
    result.stdout.fnmatch_lines_random(
        [
            "test_hooks.py::test_hook *calls *<= 1 * pass*",
            "test_hooks.py::test_hook *overhead *not measured *pytest-xdist runs other tests at the same time*",
            "test_hooks.py::test_timed *overhead *not measured *pytest-xdist runs other tests at the same time*",
        ]
    )


def test_a_budget_that_measures_nothing_is_no_success(run):
    """A test with the marker that does not call the fixture; one of a marked module need not."""
    tests = marked('calls="<= 1"', body="pass") + (
        "\n@pytest.mark.overhead_budget(calls='<= 1')\ndef test_without():\n    pass\n"
        "\n@pytest.mark.overhead_budget(calls='<= 1')\ndef test_wrong():\n    assert False\n"
        "\n@pytest.mark.overhead_budget(calls='<= 1')\nclass TestAll:\n    def test_other(self):\n        pass\n"
    )

    result = run(tests)

    result.assert_outcomes(failed=3, passed=1)
    result.stdout.fnmatch_lines(
        [
            "test_hooks.py::test_hook: overhead_budget: expected that the test calls the fixture overhead",
            "test_hooks.py::test_without: overhead_budget: expected that the test calls the fixture overhead",
            "*assert False*",
        ]
    )


def test_without_pytest_benchmark_the_fixture_says_so(run):
    """Other tests do not notice."""
    result = run(marked('calls="<= 1"') + "\ndef test_other():\n    pass\n", "-p", "no:benchmark")

    result.assert_outcomes(passed=1, errors=1)
    result.stdout.fnmatch_lines(["*pip install otel-fastpath[[]budget[]]*"])


def test_the_measuring_processes_get_what_the_test_needs(run, pytester):
    """Configuration, plugins and arguments of the project; not what reports or distributes."""
    pytester.makefile(
        ".ini", pytest="[pytest]\naddopts = --junit-xml=all.xml\noverhead_child_args = --level=7\nstrict_markers = 1\n"
    )
    pytester.makeconftest("def pytest_addoption(parser):\n    parser.addoption('--level', type=int, default=1)\n")
    tests = "\n@pytest.fixture\ndef times(request):\n    return 10 * request.config.getoption('level')\n"

    result = run(tests + marked('bytecodes=["<= 250", "<= 150"]'))

    # Seven times ten turns in the process that measures.
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["test_hooks.py::test_hook: bytecodes 2??, limit <= 150: fail"])
    assert "overhead.bytecodes.value" in (pytester.path / "all.xml").read_text()


def test_a_test_that_ends_before_it_measures(run):
    """In the measuring process: not measured, with what pytest said."""
    tests = "\nimport os\n" + marked(
        'calls="<= 1"', body="assert 'PYTHONHASHSEED' not in os.environ, 'seed'\n    overhead(bare, hooked)"
    )

    result = run(tests, "-rs")

    result.assert_outcomes(skipped=1)
    result.stdout.fnmatch_lines(["*not measured (the test, run by itself, ended with 1: *"])


def test_the_plugin_costs_others_next_to_nothing(pytester):
    """Of a start of pytest: the module and its packages, no other, and so few calls that they stay far below 5 ms."""
    program = (
        "import sys, pytest, _pytest.config\n"
        "config = _pytest.config.get_config()\n"
        "known, calls = set(sys.modules), 0\n"
        "def count(frame, event, argument):\n"
        "    global calls\n"
        "    calls += event in ('call', 'c_call')\n"
        "sys.setprofile(count)\n"
        "config.pluginmanager.import_plugin('otel_fastpath.tools.budget.pytest_plugin')\n"
        "sys.setprofile(None)\n"
        "print(calls, *sorted(set(sys.modules) - known))\n"
    )
    run = subprocess.run([sys.executable, "-c", program], cwd=pytester.path, capture_output=True, text=True, check=True)
    calls, *modules = run.stdout.split()

    name = "otel_fastpath.tools.budget.pytest_plugin"
    assert modules == ["otel_fastpath", "otel_fastpath.tools", "otel_fastpath.tools.budget", name]
    # A microsecond each is generous; a module of the standard library more is some thousand of them.
    assert int(calls) < 5000
