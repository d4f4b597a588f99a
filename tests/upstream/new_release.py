"""Tries the newest releases of what patches rest on, and says whether their sources can be accepted as they are.

    make sources NAME=try

In the environment of `make test-releases NAME=newest`: `otel-fastpath prove` runs while the new sources are unknown.
Then they are recorded, the functions that changed are changed once more by `make mutations`, and stock's suites run.
`build/new-release.md` has what became of each, and the sources; `build/accepted` is there if all passed. Both are gone
if nothing is new. Exit status 2 means that something could not be run.
"""
# ruff: noqa: T201  # a program that prints

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import new_sources

ROOT = Path(__file__).resolve().parents[2]
REPORT = ROOT / "build/new-release.md"
ACCEPTED = ROOT / "build/accepted"
NEWEST = f"{sys.prefix}-newest/bin/python"
# How much of what a step printed is shown.
_SHOWN = 6000


class Outcome(NamedTuple):
    """What became of a step.

    Attributes:
        title: What it is.
        status: Its exit status.
        printed: What it printed.
    """

    title: str
    status: int
    printed: str


def run(title: str, *command: str) -> Outcome:
    """Run a step."""
    done = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    print(f"{title}: {done.returncode}\n{done.stdout}", flush=True)
    return Outcome(title, done.returncode, done.stdout)


def steps(changed: list[str]) -> list[Outcome]:
    """What is done once the sources are recorded, with these functions that changed."""
    version = "import importlib.metadata as m; print(m.version('opentelemetry-sdk'), end='')"
    release = subprocess.run([NEWEST, "-c", version], capture_output=True, text=True, check=True).stdout
    return [
        run("statements", NEWEST, "tests/others/known_statements.py"),
        run(
            "mutations of what changed",
            NEWEST,
            "tests/mutations/run.py",
            "--only",
            *changed,
            "--kind",
            "result",
            "effect",
        ),
        run("stock's suites", sys.executable, "tests/upstream/run.py", "--otel-version", release),
    ]


def report(outcomes: list[Outcome], sources: str) -> str:
    """The text for whoever reads it: a row for each step, what the failed ones printed, and the sources."""
    lines = ["| step | result |", "| --- | --- |"]
    lines += [f"| {each.title} | {'passed' if each.status == 0 else f'failed ({each.status})'} |" for each in outcomes]
    for each in outcomes:
        if each.status:
            lines += ["", f"{each.title}:", "", "```text", each.printed[-_SHOWN:].strip(), "```"]
    return "\n".join([*lines, "", sources])


def main() -> int:
    """Do it, and write the files."""
    for file in (REPORT, ACCEPTED):
        file.unlink(missing_ok=True)
    prepared = run("newest releases", sys.executable, "tests/releases/provide.py", "newest")
    if prepared.status:
        return 2
    proven = run("otel-fastpath prove", NEWEST, "-m", "otel_fastpath", "prove", "--no-progress")
    found, status = new_sources.read()
    if status:
        return 2
    changed = sorted({place for targets in found.values() for place in targets})
    if not changed:
        print("Every source is known.")
        return 0
    outcomes = [proven, *steps(changed)]
    REPORT.parent.mkdir(parents=True, exist_ok=True)
    REPORT.write_text(report(outcomes, new_sources.issue(found)), encoding="utf-8")
    if not any(each.status for each in outcomes):
        ACCEPTED.write_text(json.dumps(changed), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
