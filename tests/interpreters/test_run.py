"""`make test-all` tests each installed Python and says what became of every one of them."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
RUN = Path(__file__).with_name("run.py")
HERE = f"{sys.version_info.major}.{sys.version_info.minor}"
# Stands for make: says what it was told, and fails for the versions in FAILS.
MAKE = f"""#!{sys.executable}
import os, sys
print("make", *sys.argv[1:], flush=True)
sys.exit(sys.argv[-1].partition("=")[2] in os.environ["FAILS"].split())
"""


@pytest.fixture
def run(tmp_path):
    """Run the program in a copy of the project that lists these versions; gives the exit status and its lines."""
    if not (ROOT / ".tools" / "bin" / "uv").exists():
        pytest.skip("uv is not set up: make setup")

    def call(*versions, fails=""):
        program = tmp_path / "tests" / "interpreters" / RUN.name
        program.parent.mkdir(parents=True)
        program.write_text(RUN.read_text(encoding="utf-8"), encoding="utf-8")
        (tmp_path / ".python-version").write_text("\n".join(versions), encoding="utf-8")
        (tmp_path / ".tools").symlink_to(ROOT / ".tools")
        make = tmp_path / "make"
        make.write_text(MAKE, encoding="utf-8")
        make.chmod(0o755)
        # uv finds this interpreter first.
        path = os.pathsep.join([str(Path(os.path.realpath(sys.executable)).parent), os.environ["PATH"]])
        environment = {**os.environ, "PATH": path, "MAKE": str(make), "FAILS": fails}
        done = subprocess.run([sys.executable, program], env=environment, capture_output=True, text=True, check=False)
        return done.returncode, [line for line in done.stdout.splitlines() if line]

    return call


def test_what_is_not_installed_is_named(run):
    """It is no failure, and the others are tested."""
    assert run(HERE, "3.99") == (
        0,
        [
            f"make test test-slow PYTHON_VERSION={HERE}",
            "Python 3.99: not run (not installed)",
            f"Python {HERE}: passed",
        ],
    )


def test_a_failure_is_the_exit_status(run):
    """The interpreters after it are tested, too."""
    status, lines = run("3.99", HERE, fails=HERE)

    assert status == 1
    assert lines[-2:] == ["Python 3.99: not run (not installed)", f"Python {HERE}: failed"]


def test_nothing_installed_is_a_failure(run):
    """A run that proves nothing is not green."""
    assert run("3.98", "3.99") == (
        1,
        ["Python 3.99: not run (not installed)", "Python 3.98: not run (not installed)"],
    )


def test_the_makefile_runs_this_program():
    """`make test-all` is the program."""
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")

    assert re.search(r"\ntest-all: \$\(UV\)( ## .*)?\n\tpython3 tests/interpreters/run\.py \$\(TARGETS\)\n", makefile)
