"""Fresh processes for measuring: starts `worker` with a job and reads its result."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from otel_fastpath.tools.budget.counting import native

if TYPE_CHECKING:
    from collections.abc import Sequence

    from otel_fastpath.tools.budget.declare import Scenario

# Run with `-c`. This package is imported from where the starting process found it, without leaving that folder on the
# path: the scenarios' own folders come from the job.
_START: Final = """\
import importlib, sys
sys.path[0:1] = [sys.argv[1]]
module = importlib.import_module("otel_fastpath.tools." + sys.argv[2])
sys.path[0:1] = []
module.main(*sys.argv[3:])
"""
_ROOT: Final = str(Path(__file__).resolve().parents[4])
_LAST_LINES: Final = 3


class WorkerError(Exception):
    """A measuring process failed; the message is one line."""


@dataclass(frozen=True)
class Job:
    """The instructions for a measuring process.

    Attributes:
        task: One of `worker.TASKS`.
        scenarios: The scenarios to measure.
        path: Folders to import from first.
        base: Folders with another version of the project.
        share: Packages that both versions share.
        reference: The reference workload.
        seed: The seed of the block orders, and the hash seed.
        plan: The fields of `blocks.MeasurementPlan`.
        metrics: The metrics to count.
        libraries: The compiled shims by kind.
        bytecode: The folder for the bytecode of imported modules; if empty, Python's default.
    """

    task: str
    scenarios: tuple[Scenario, ...]
    path: tuple[str, ...] = ()
    base: tuple[str, ...] = ()
    share: tuple[str, ...] = ()
    reference: str = ""
    seed: int = 0
    plan: dict[str, int] = field(default_factory=dict)
    metrics: tuple[str, ...] = ()
    libraries: dict[str, str] = field(default_factory=dict)
    bytecode: str = ""

    def as_json(self) -> str:
        """For the worker."""
        scenarios = [
            {"name": each.name, "bare": each.bare, "instrumented": each.instrumented, "setup": each.setup}
            for each in self.scenarios
        ]
        return json.dumps({**vars(self), "scenarios": scenarios})


def run(job: Job, profiles: Path | None = None) -> dict[str, Any]:
    """Do a job in a separate process.

    Args:
        job: The job.
        profiles: The folder for callgrind's profiles; if it is given, the process runs under valgrind.

    Raises:
        WorkerError: The process did not write a result.
    """
    with tempfile.TemporaryDirectory(prefix="otel-fastpath-") as folder:
        job_file, result_file = Path(folder, "job.json"), Path(folder, "result.json")
        job_file.write_text(job.as_json(), encoding="utf-8")
        finished = start(command("budget.counting.worker", str(job_file), str(result_file)), job, profiles)
        try:
            result: dict[str, Any] = json.loads(result_file.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            raise WorkerError(_why(finished)) from None
        return result


def command(module: str, *arguments: str) -> list[str]:
    """The command that calls `main` of a module in this package."""
    return [sys.executable, "-c", _START, _ROOT, module, *arguments]


def start(command: Sequence[str], job: Job, profiles: Path | None = None) -> subprocess.CompletedProcess[str]:
    """Run a job's command, under callgrind if profiles are wanted."""
    return subprocess.run(
        native.under_valgrind(command, profiles, job.metrics) if profiles else list(command),
        env={**os.environ, **_surroundings(job), **(native.surroundings(os.environ) if profiles else {})},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        errors="replace",
        check=False,
        # Only counts need this, and their processes run one after another, when no other thread is running.
        preexec_fn=native.fix_addresses if profiles else None,
    )


def _surroundings(job: Job) -> dict[str, str]:
    found = {"PYTHONHASHSEED": str(job.seed)}
    if job.bytecode:
        # Compiling modules in the process leaves a different heap layout than loading their bytecode.
        found |= {"PYTHONPYCACHEPREFIX": job.bytecode, "PYTHONDONTWRITEBYTECODE": ""}
    return found


def _why(finished: subprocess.CompletedProcess[str]) -> str:
    lines = [line for line in finished.stderr.splitlines() if line.strip()]
    return f"the measuring process ended with {finished.returncode}: {' / '.join(lines[-_LAST_LINES:])}"
