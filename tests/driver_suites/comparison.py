"""Runs a driver's own tests without us and with us, and compares which of them pass."""
# ruff: noqa: T201  # a part of programs that print

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
# The examples can start servers, and the harness of stock's suites fetches released sources.
sys.path[:0] = [str(ROOT), str(ROOT / "tests/upstream")]

from harness.paths import UnavailableError  # noqa: E402

# Of one test. Without it, a test that waits for ever would end the comparison.
SECONDS = 120


class Suite(NamedTuple):
    """The tests of a driver.

    Attributes:
        folder: Where pytest is run.
        tests: What it is told to run.
        settings: What turns our wrappers on: OTEL_FASTPATH_*.
        options: Further options of pytest.
        environ: Further variables of the environment, such as the place of a server.
        python: Options of the interpreter.
        known: The names of tests, without their classes and files, that break with us, each with its reason.
    """

    folder: Path
    tests: Sequence[str]
    settings: Mapping[str, str]
    options: Sequence[str] = ()
    environ: Mapping[str, str] = {}
    python: Sequence[str] = ()
    known: Mapping[str, str] = {}


class Outcome(NamedTuple):
    """What a run of a suite showed.

    Attributes:
        passed: The tests that passed.
        faults: The errors of our code that were absorbed.
        said: The end of what pytest printed.
    """

    passed: set[str]
    faults: list[str]
    said: str


def run(suite: Suite, *, ours: bool) -> Outcome:
    """Run the suite with us or without."""
    plugin = ["-p", "fastpath_plugin"] if ours else []
    options = ["-q", "-rp", "-o", "addopts=", "-W", "ignore", f"--timeout={SECONDS}"]
    path = os.pathsep.join([str(HERE), *filter(None, [suite.environ.get("PYTHONPATH")])])
    command = [sys.executable, *suite.python, "-m", "pytest", *options, "--rootdir", str(suite.folder)]
    done = subprocess.run(
        [*command, *suite.options, *plugin, *suite.tests],
        cwd=suite.folder,
        env={**os.environ, **suite.environ, "PYTHONPATH": path, **(suite.settings if ours else {})},
        capture_output=True,
        text=True,
        check=False,
        errors="replace",
    )
    return Outcome(
        set(re.findall(r"^PASSED (.+)$", done.stdout, re.MULTILINE)),
        re.findall(r"^fault: (.+)$", done.stdout, re.MULTILINE),
        done.stdout[-3000:] + done.stderr[-3000:],
    )


def broken_by_us(suite: Suite, bare: set[str], ours: set[str]) -> list[str]:
    """The tests that pass without us and not with us, also if their files are run again: some depend on timing."""
    suspects = bare - ours
    # Not the tests by themselves: SQLAlchemy's plugin makes classes whose tests pytest does not find by their names.
    again = suite._replace(tests=sorted({test.partition("::")[0] for test in suspects}))
    if suspects:
        suspects -= run(again, ours=True).passed
    if suspects:
        suspects &= run(again, ours=False).passed
    return sorted(suspects)


def compare(title: str, suite: Suite) -> int:
    """Run the suite without us and with us, and print what differs.

    Returns:
        1 if a test broke that is not known to break, if one that is known to break passes, if an error of our code was
        absorbed, or if no test passed.
    """
    bare, ours = run(suite, ours=False), run(suite, ours=True)
    broken = broken_by_us(suite, bare.passed, ours.passed)
    print(f"{title}: {len(bare.passed)} tests pass bare, {len(ours.passed)} with us")
    for test in sorted(bare.passed - ours.passed - set(broken)):
        print(f"depends on timing; run again, it passes with us or fails without us: {test}")
    for test in broken:
        reason = suite.known.get(_name(test))
        print(f"broken: {test}" if reason is None else f"broken, as is known: {test}: {reason}")
    no_longer = sorted(set(suite.known) & {_name(test) for test in bare.passed} - {_name(test) for test in broken})
    for name in no_longer:
        print(f"no longer broken, and still listed: {name}")
    for fault in ours.faults:
        print(f"an error of ours: {fault}")
    if not bare.passed or not ours.passed:
        print((ours if bare.passed else bare).said)
    new = {_name(test) for test in broken} - set(suite.known)
    return int(bool(new or no_longer or ours.faults) or not bare.passed)


def _name(test: str) -> str:
    return test.rpartition("::")[2].partition("[")[0]


def status_of(main: Callable[..., int], *arguments: object) -> int:
    """What a program's main function gives; 69 if what it needs cannot be downloaded."""
    try:
        return main(*arguments)
    except UnavailableError as error:
        print(error, file=sys.stderr)
        return os.EX_UNAVAILABLE
