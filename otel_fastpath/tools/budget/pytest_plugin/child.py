"""The measuring processes of the pytest plugin: each runs the same test in a separate pytest.

A test's callables are closures over its fixtures, so they exist only while the test runs. The child gets the project's
configuration, but none of the options that report, record or distribute.
"""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NoReturn

import pytest

from otel_fastpath.tools.budget.counting import processes, worker
from otel_fastpath.tools.budget.counting.callables import Running, ScenarioError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from otel_fastpath.tools.budget.counting.processes import Job

_INHERITED: Final = ("-p", "-c", "-o", "--confcutdir", "--import-mode", "--override-ini")


class Runner:
    """Starts them."""

    def __init__(self, config: pytest.Config, node: Any) -> None:
        self._config = config
        self._node = node

    def __call__(self, job: Job, profiles: Path | None = None) -> dict[str, Any]:
        """Do a job by running the test in a separate pytest.

        Raises:
            WorkerError: The test ended before it measured anything.
        """
        with tempfile.TemporaryDirectory(prefix="otel-fastpath-") as name:
            folder = Path(name)
            job_file, result_file = folder / "job.json", folder / "result.json"
            job_file.write_text(json.dumps({**json.loads(job.as_json()), "result": str(result_file)}), encoding="utf-8")
            finished = processes.start(self._command(job_file, folder), job, profiles)
            try:
                found: dict[str, Any] = json.loads(result_file.read_text(encoding="utf-8"))
            except (OSError, ValueError):
                lines = [line for line in finished.stdout.splitlines() if line.strip()]
                why = " / ".join(lines[-3:])
                raise processes.WorkerError(
                    f"the test, run by itself, ended with {finished.returncode}: {why}"
                ) from None
            return {self._scenario(job): found}

    @staticmethod
    def _scenario(job: Job) -> str:
        return job.scenarios[0].name

    def _command(self, job_file: Path, folder: Path) -> list[str]:
        config, loaded = self._config, self._config.pluginmanager.hasplugin
        inner = self._node.nodeid.partition("::")[2]
        command = [sys.executable, "-m", "pytest", f"{self._node.path}::{inner}", f"--overhead-job={job_file}"]
        command += [
            *self._inherited(),
            f"--rootdir={config.rootpath}",
            *([f"-c={config.inipath}"] if config.inipath else []),
        ]
        command += [
            "-p",
            "no:cacheprovider",
            "-q",
            f"--basetemp={folder / 'tmp'}",
            f"--junit-xml={folder / 'junit.xml'}",
        ]
        neutral = {
            "benchmark": ["--benchmark-disable"],
            "xdist": ["-n0"],
            "timeout": ["--timeout=0"],
            "_cov": ["--no-cov"],
        }
        for plugin, arguments in neutral.items():
            command += arguments if loaded(plugin) else []
        if config.getoption("benchmark_json", None):
            command.append(f"--benchmark-json={folder / 'benchmark.json'}")
        return [*command, *config.getini("overhead_child_args")]

    def _inherited(self) -> Iterator[str]:
        arguments = iter(map(str, self._config.invocation_params.args))
        for argument in arguments:
            if argument in _INHERITED:
                yield argument
                yield next(arguments, "")
            elif argument.startswith(tuple(f"{name}=" for name in _INHERITED if name.startswith("--"))) or (
                argument.startswith("-p") and not argument.startswith("--")
            ):
                yield argument


def do(job_file: Path, bare: Callable[[], Any], instrumented: Callable[[], Any]) -> NoReturn:
    """Measure, write the result, and end the test; called in the child process."""
    job = json.loads(job_file.read_text(encoding="utf-8"))
    measure = worker.measure if job["task"] == "time" else worker.count
    try:
        with Running(bare, instrumented) as running:
            # Profiles are labelled with the index of the scenario in its job; here the job has only one.
            found = measure(running, {**job, "label": 0})
    except ScenarioError as error:
        found = {"error": str(error), "key": ""}
    Path(job["result"]).write_text(json.dumps(found), encoding="utf-8")
    pytest.skip("measured")
