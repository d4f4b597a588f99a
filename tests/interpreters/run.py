"""Runs the whole suite on each Python of `.python-version` that is installed, and names those that are not.

    python3 tests/interpreters/run.py [TARGET ...]

The targets of the Makefile are `test` and `test-slow` unless others are named. A failure does not keep the other
interpreters from being tested. Exit status 1: the suite failed on one of them, or none is installed.
"""
# ruff: noqa: T201  # a program that prints

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PASSED, FAILED, NOT_RUN = "passed", "failed", "not run"


def main(targets: list[str]) -> int:
    """Run the targets on each interpreter, newest first, and print what became of them."""
    versions = (ROOT / ".python-version").read_text(encoding="utf-8").split()
    versions.sort(key=lambda version: [int(part) for part in version.split(".")], reverse=True)
    found = {version: _outcome(version, targets or ["test", "test-slow"]) for version in versions}
    print()
    for version, (outcome, why) in found.items():
        print(f"Python {version}: {outcome}{why and f' ({why})'}")
    outcomes = {outcome for outcome, _ in found.values()}
    return int(FAILED in outcomes or PASSED not in outcomes)


def _outcome(version: str, targets: list[str]) -> tuple[str, str]:
    """What became of an interpreter, and why it was not run."""
    uv = ROOT / ".tools" / "bin" / "uv"
    find = [uv if uv.exists() else "uv", "python", "find", "--no-project", "--system", "--no-python-downloads"]
    # What the Makefile exports names an interpreter and an environment.
    kept = {key: value for key, value in os.environ.items() if not key.startswith(("UV_PYTHON", "UV_PROJECT_"))}
    if subprocess.run([*find, version], env=kept, capture_output=True, check=False).returncode:
        return NOT_RUN, "not installed"
    done = subprocess.run(
        [os.environ.get("MAKE", "make"), *targets, f"PYTHON_VERSION={version}"], cwd=ROOT, env=kept, check=False
    )
    return (FAILED, "") if done.returncode else (PASSED, "")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
