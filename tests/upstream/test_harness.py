"""The harness sees what it must see: broken tests, activations that do nothing, lists that are out of date."""

from __future__ import annotations

import dataclasses
import subprocess
import sys

import pytest
from harness import compare, contrib, environment, page, paths, released, suites
from harness.compare import Meant
from harness.suites import Mode, Run, Suite

PROJECT = """
import unittest

import pytest
from opentelemetry.sdk.trace import TracerProvider


def test_rename():
    span = TracerProvider().get_tracer("t").start_span("before")
    span.update_name("after")
    assert span.name == "after"


def test_steady():
    pass


@pytest.mark.skip(reason="to see a skipped one")
def test_skipped():
    pass


class TestSub(unittest.TestCase):
    def test_with_subtests(self):
        for name in ("one", "two"):
            with self.subTest(name=name):
                span = TracerProvider().get_tracer("t").start_span("before")
                span.update_name(name)
                self.assertEqual(span.name, name)
"""
RENAME = "tests/test_subject.py::test_rename"
STEADY = "tests/test_subject.py::test_steady"
APPLIED = {"name": "a", "state": "applied", "reason": ""}
SUBTESTS = "tests/test_subject.py::TestSub::test_with_subtests"
NAME = "sdk"


@pytest.fixture(scope="module")
def ready():
    """The environment of stock's suites, for the interpreter and the version that run this."""
    with environment.copied_package() as package:
        yield environment.provide(environment.interpreter(), environment.installed_otel(), package)


@pytest.fixture(scope="module")
def suite(tmp_path_factory):
    """A project with four small tests."""
    folder = tmp_path_factory.mktemp("project")
    (folder / "tests").mkdir()
    (folder / "tests" / "test_subject.py").write_text(PROJECT)
    return Suite(NAME, "no-distribution", folder=folder)


@pytest.fixture(scope="module")
def stock(ready, suite):
    """The project's run without us."""
    return suites.run(ready, suite, Mode.stock())


def judged(ready, suite, stock, stand_in, *meant):
    """The verdict on a run with a stand-in active."""
    mode = Mode("py", f"stand_ins:{stand_in}")
    return compare.judge(stock, suites.run(ready, suite, mode), NAME, mode, meant)


def test_outcomes_are_told_by_test_id(stock):
    """A stock run reports each test, subtests under the test that they belong to."""
    assert stock.outcomes == {
        RENAME: "passed",
        STEADY: "passed",
        SUBTESTS: "passed",
        "tests/test_subject.py::test_skipped": "skipped",
    }
    assert list(stock.problems(Mode.stock())) == []


def test_a_harmless_patch_has_no_fault(ready, suite, stock):
    """A replacement that does the same leaves nothing to report."""
    assert judged(ready, suite, stock, "harmless").faults == []


def test_a_breaking_patch_is_found(ready, suite, stock):
    """A test that fails under the patch is named, also where only its subtests fail; what passes is not."""
    faults = judged(ready, suite, stock, "breaking").faults

    assert [fault.split(" ")[0] for fault in faults] == [SUBTESTS, RENAME]
    assert "AssertionError" in faults[1]


def test_an_activation_that_does_nothing_is_a_fault(ready, suite, stock):
    """Green tests prove nothing where no patch was applied."""
    assert judged(ready, suite, stock, "idle").faults == ["no patch was applied: the activation did nothing"]


def test_a_patch_lost_on_the_way_is_a_fault(ready, suite, stock):
    """The tests after the one that took a patch away ran stock."""
    (fault,) = judged(ready, suite, stock, "fading").faults

    assert "Span.update_name was gone after" in fault


@pytest.mark.parametrize("stand_in", ["deferring", "renewing"])
def test_a_patch_that_is_moved_by_its_owner_is_no_fault(ready, suite, stock, stand_in):
    """A wrapper may stand back for another instrumentation, and come back with a new replacement."""
    assert judged(ready, suite, stock, stand_in).faults == []


def test_a_test_that_passes_here_only_is_told():
    """It is another difference."""
    ours = Run({STEADY: "passed"}, patches=[APPLIED])

    assert compare.judge(Run({STEADY: "failed"}), ours, NAME, Mode("py", "stand_in"), []).gained == [STEADY]


def test_a_crash_is_a_fault(ready, suite, stock):
    """A session that ends without a report is told with its last lines, and not test by test."""
    (fault,) = judged(ready, suite, stock, "not_there").faults

    assert "without a report" in fault
    assert "not_there" in fault


def test_a_listed_difference_is_none(ready, suite, stock):
    """What the list names may fail, and is counted."""
    meant = [Meant(NAME, test, "to see it") for test in (RENAME, SUBTESTS)]
    verdict = judged(ready, suite, stock, "breaking", *meant)

    assert verdict.faults == []
    assert verdict.meant == 2


def test_an_entry_can_be_about_several_tests():
    """Those whose ids match, brackets as they are; each of them must break."""
    ids = [f"tests/a.py::test_one[{name}]" for name in ("x", "y")]
    stock = Run(dict.fromkeys([*ids, "tests/a.py::test_one"], "passed"))
    ours = Run({ids[0]: "failed", ids[1]: "failed", "tests/a.py::test_one": "passed"}, patches=[APPLIED])
    verdict = compare.judge(stock, ours, NAME, Mode("py", "stand_in"), [Meant(NAME, "tests/a.py::test_one[*]", "why")])
    assert (verdict.meant, verdict.faults) == (2, [])

    ours.outcomes[ids[1]] = "passed"
    (fault,) = compare.judge(stock, ours, NAME, Mode("py", "s"), [Meant(NAME, "tests/a.py::test_one[*]", "why")]).faults
    assert fault == f"differences.toml names {ids[1]}, which passes or fails as it does stock: take it out"


def test_a_fault_that_a_test_provokes_may_be_listed():
    """In its place only, and only as long as there is one."""
    stock, mode = Run({STEADY: "passed"}), Mode("py", "fastpath")
    meant = [Meant(NAME, STEADY, "why", place="closing")]

    def faults_of(found):
        ours = Run({STEADY: "passed"}, patches=[APPLIED], span_from="otel_fastpath.trace", faults=found)
        return compare.judge(stock, ours, NAME, mode, meant).faults

    assert faults_of({"closing": 1}) == []
    assert faults_of({}) == ["differences.toml names a fault in closing: take it out"]
    assert faults_of({"closing": 1, "opening": 2}) == [
        "our own code failed in opening, 2 times, and stock's ran instead"
    ]


def test_an_entry_that_is_not_needed_is_a_fault():
    """The list shrinks when a test passes again, and names no test that is not there."""
    passes = Run({STEADY: "passed"}, patches=[APPLIED])
    meant = [Meant(NAME, STEADY, "once"), Meant(NAME, "tests/gone.py::test", "once")]
    faults = compare.judge(Run({STEADY: "passed"}), passes, NAME, Mode("py", "stand_in"), meant).faults

    assert len(faults) == 2
    assert "take it out" in faults[0]
    assert "does not have" in faults[1]


@pytest.mark.parametrize("outcome", ["failed", "skipped", None])
def test_not_passing_is_breaking(outcome):
    """A test that is skipped or not run under us is as bad as one that fails."""
    ours = Run({} if outcome is None else {STEADY: outcome})

    assert compare.broken(Run({STEADY: "passed", RENAME: "failed"}), ours) == {STEADY}


def test_a_test_that_fails_once_is_unsteady(ready, suite, stock, monkeypatch):
    """A failure that the second run of the whole suite does not repeat is reported, and is no fault."""
    good = dataclasses.replace(stock, patches=[APPLIED])
    bad = dataclasses.replace(good, outcomes={**good.outcomes, STEADY: "failed"}, causes={STEADY: "late"})
    runs = iter([bad, good])
    monkeypatch.setattr(compare, "run", lambda *_: next(runs))
    verdict = compare.judge_ours(ready, suite, Mode("py", "stand_in"), stock, [])

    assert verdict.faults == []
    assert verdict.unsteady == [f"{STEADY}: late"]


def test_a_test_that_fails_twice_is_broken(ready, suite, stock, monkeypatch):
    """A failure that repeats is a fault."""
    bad = dataclasses.replace(
        stock,
        patches=[APPLIED],
        outcomes={**stock.outcomes, STEADY: "failed"},
    )
    monkeypatch.setattr(compare, "run", lambda *_: dataclasses.replace(bad))
    verdict = compare.judge_ours(ready, suite, Mode("py", "stand_in"), stock, [])

    assert verdict.faults == [f"{STEADY} failed"]


OURS = {
    "outcomes": {STEADY: "passed"},
    "patches": [APPLIED],
    "span_from": "otel_fastpath.trace.spans.span_classes",
    "imported": ["otel_fastpath", "otel_fastpath.trace.spans.span"],
}


def test_a_run_of_ours_in_order_has_no_problem():
    """The signs that the next test takes away one by one are all there."""
    assert list(Run(**OURS).problems(Mode("py"))) == []


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"span_from": "opentelemetry.sdk.trace"}, "not from us"),
        ({"faults": {"Tracer.start_span": 3}}, "3 times"),
        ({"said": ["ERROR otel_fastpath.trace.planning.planner: cannot read"]}, "cannot read"),
        ({"imported": ["otel_fastpath.trace.spans.span_c"]}, "trace.spans.span_c"),
        ({"outcomes": {}}, "no test was run"),
    ],
)
def test_green_that_is_not_ours_is_a_fault(change, problem):
    """Falling back to stock's code, or to the other core, cannot look green."""
    (found,) = Run(**{**OURS, **change}).problems(Mode("py"))

    assert problem in found


def test_a_compiled_run_must_load_compiled_modules():
    """Asked for the compiled core, the pure one is no answer."""
    (found,) = Run(**OURS).problems(Mode("c"))

    assert "asked was for core 'c'" in found


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"imported": ["otel_fastpath"]}, "stock run imported"),
        (
            {"outcomes": {"tests/a.py (collection)": "failed"}, "causes": {"tests/a.py (collection)": "No mod"}},
            "No mod",
        ),
    ],
)
def test_a_stock_run_that_is_no_yardstick_is_a_fault(change, problem):
    """Stock must be stock, and must have collected everything: tests missing there would be missed nowhere."""
    (found,) = Run(**{"outcomes": {STEADY: "passed"}, **change}).problems(Mode.stock())

    assert problem in found


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ('suite = "sdk"\ntest = "a"', "reason"),
        ('suite = "sdk"\ntest = "a"\nreason = " "', "no reason"),
        ('suite = "nope"\ntest = "a"\nreason = "r"', "unknown suite"),
        ('suite = "sdk"\ntest = "a"\nreason = "r"\nversions = "x"', "x"),
        ('suite = "sdk"\ntest = "a"\nreason = "r"\ncores = ["rust"]', "unknown suite or core"),
    ],
)
def test_a_bad_list_is_refused(tmp_path, text, reason):
    """An entry that is not what the head of the file describes is named with what is wrong."""
    path = tmp_path / "differences.toml"
    path.write_text(f"[[difference]]\n{text}\n")
    with pytest.raises(paths.StockError, match=reason):
        compare.meant_differences(path)


def test_the_list_of_this_repository_is_readable():
    """Each entry in differences.toml says what it must."""
    assert all(item.reason for item in compare.meant_differences())


def test_an_entry_concerns_its_versions_and_cores():
    """An entry can be about some versions and one core."""
    item = Meant(NAME, STEADY, "why", versions=">=1.42", cores=("c",))

    assert item.concerns(NAME, "1.45.1", "c")
    assert not item.concerns(NAME, "1.41.0", "c")
    assert not item.concerns(NAME, "1.45.1", "py")


def test_an_unknown_interpreter_is_named():
    """A Python that is not installed is one clear line."""
    with pytest.raises(paths.StockError, match=r"python3\.99"):
        environment.interpreter("3.99")


def test_what_cannot_be_downloaded_is_told_from_what_fails(tmp_path, monkeypatch):
    """A registry that lacks a source distribution, or cannot be reached, is no fault of this package."""
    monkeypatch.setattr(released, "CACHE", tmp_path)
    with pytest.raises(paths.UnavailableError, match="no-such-package==1"):
        released._fetched("no-such-package", "1", tmp_path / "sdists", "--no-such-option")
    with pytest.raises(paths.StockError) as raised:
        paths.output_of(["false"])
    assert not isinstance(raised.value, paths.UnavailableError)


def test_a_bad_version_is_named(ready):
    """What is no version is refused before anything is installed."""
    with pytest.raises(paths.StockError, match="'latest'"):
        environment.provide(ready.interpreter, "latest", ready.package)


CONTRIB = contrib.contrib_suites()


@pytest.mark.parametrize("each", CONTRIB, ids=lambda each: each.name)
def test_each_contrib_suite_has_its_list(each):
    """It names the releases of the package, and of the project's own OpenTelemetry."""
    lines = each.lock.read_text().splitlines()

    assert f"opentelemetry-sdk=={environment.locked_otel()}" in lines
    assert any(line.startswith(f"{each.distribution}==") for line in lines)


def test_the_page_is_about_these_suites_and_differences():
    """It is written by a run of all of them; what was added since is not on it."""
    text = page.PAGE.read_text()
    rows = [line.split(" | ")[0].removeprefix("| ") for line in text.splitlines() if line.startswith("| ")]
    names = [each.name for each in CONTRIB]

    assert rows[2:] == names
    assert [each.fails for each in CONTRIB if each.fails not in text] == []
    assert [item for item in compare.meant_differences() if item.suite in names and item.reason not in text] == []


def test_a_list_of_suites_with_an_unknown_key_is_refused(tmp_path):
    """A mistyped key would otherwise do nothing."""
    path = tmp_path / "contrib.toml"
    path.write_text('[[suite]]\nname = "a"\ndistribution = "b"\nneed = []\n')
    with pytest.raises(paths.StockError, match=r"suite 1: the keys are name, distribution, need"):
        contrib.contrib_suites(path)


def test_a_list_for_another_opentelemetry_is_refused(ready):
    """The environment would not be what it is said to be."""
    with pytest.raises(paths.StockError, match=r"redis.txt is not for OpenTelemetry 1\.40\.0"):
        environment.provide(ready.interpreter, "1.40.0", ready.package, contrib.LOCKS / "redis.txt")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--suite", "redis"], "no suite is called redis: there are sdk"),
        (["--contrib", "--suite", "sdk"], "no suite is called sdk"),
        (["--page"], "add --contrib"),
        (["--contrib", "--page", "--core", "py"], "leave out --suite and --core"),
    ],
)
def test_what_excludes_one_another_is_refused(arguments, message):
    """In one line, before anything is installed."""
    run = paths.HERE / "run.py"
    done = subprocess.run([sys.executable, str(run), *arguments], capture_output=True, text=True, check=False)

    assert done.returncode == 2
    assert message in done.stderr
