"""Runs one of stock's suites once: stock, or with otel-fastpath active."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import time
from collections import Counter
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

from harness.environment import digest
from harness.paths import CACHE, HERE, PLUGIN, locked
from harness.released import sdist
from otel_fastpath.compiled import TWINS

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from harness.environment import Environment

STOCK = "stock"
CORES = ("py", "c")
_TIME_LIMIT = 400.0
_running: set[int] = set()


@dataclass(frozen=True)
class Suite:
    """The tests in one project.

    Attributes:
        name: What we call it.
        distribution: The distribution in whose source archive they are.
        alone: Its servers listen on fixed ports, so that two of it cannot run at a time on one machine.
        folder: Where the project is, if it is not to be fetched.
        lock: The list of what its own environment consists of; None: it runs in the environment that suites share.
        plugins: The pytest plugins that it needs: modules of its environment.
        variables: The environment variables that it needs.
        options: The options of pytest that it needs.
        fails: Why tests of it fail without us too.
    """

    name: str
    distribution: str
    alone: bool = False
    folder: Path | None = None
    lock: Path | None = None
    plugins: tuple[str, ...] = ()
    variables: tuple[tuple[str, str], ...] = ()
    options: tuple[str, ...] = ()
    fails: str = ""


# The slowest first, so that the short ones fill up the end.
SUITES = (
    Suite("sdk", "opentelemetry-sdk"),
    Suite("otlp-grpc", "opentelemetry-exporter-otlp-proto-grpc", alone=True),
    Suite("otlp-http", "opentelemetry-exporter-otlp-proto-http"),
    Suite("api", "opentelemetry-api"),
    Suite("otlp-common", "opentelemetry-exporter-otlp-proto-common"),
)


@dataclass(frozen=True)
class Mode:
    """How a suite is run.

    Attributes:
        name: "stock", or the core: "py" or "c".
        activate: What the plugin activates.
    """

    name: str
    activate: str = "fastpath"

    @classmethod
    def stock(cls) -> Mode:
        """Without otel-fastpath."""
        return cls(STOCK, STOCK)


@dataclass
class Run:
    """What one run of a suite gave: the fields of the plugin's report, and the wall time."""

    outcomes: dict[str, str]
    causes: dict[str, str] = field(default_factory=dict)
    patches: list[dict[str, str]] = field(default_factory=list)
    out_of_place: dict[str, str] = field(default_factory=dict)
    span_from: str = ""
    faults: dict[str, int] = field(default_factory=dict)
    said: list[str] = field(default_factory=list)
    imported: list[str] = field(default_factory=list)
    exit_status: int = 0
    seconds: float = 0.0
    log: str = ""
    crash: str = ""

    def passed(self) -> set[str]:
        """The ids of the tests that passed."""
        return {test for test, outcome in self.outcomes.items() if outcome == "passed"}

    def count(self) -> Counter[str]:
        """How many tests had each outcome."""
        return Counter(self.outcomes.values())

    def patch_states(self) -> Counter[str]:
        """How many patches were in each state when the session ended."""
        return Counter(row["state"] for row in self.patches)

    def problems(self, mode: Mode) -> Iterator[str]:
        """What makes this run worthless as evidence, whatever its outcomes."""
        if not self.outcomes:
            yield self.crash or "no test was run"
            return
        if mode.name == STOCK:
            yield from (f"{test}: {self.causes.get(test, '')}" for test in self.outcomes if "(collection)" in test)
            if self.imported:
                yield f"a stock run imported {', '.join(self.imported)}"
            return
        if not self.patch_states()["applied"]:
            yield "no patch was applied: the activation did nothing"
        for target, test in self.out_of_place.items():
            yield f"the patch of {target} was gone after {test}: what ran from then on ran without it"
        if mode.activate == "fastpath":
            yield from self._problems_of_ours(mode.name)

    def _problems_of_ours(self, core: str) -> Iterator[str]:
        """The signs that a green run was not ours: stock's code did the work, or the other core."""
        if not self.span_from.startswith("otel_fastpath."):
            yield f"a plain provider's span came from {self.span_from}, not from us"
        for place, number in self.faults.items():
            yield f"our own code failed in {place}, {number} times, and stock's ran instead"
        yield from (line for line in self.said if line.startswith("ERROR"))
        compiled = [name for name in self.imported if name.removeprefix("otel_fastpath.") in TWINS]
        if bool(compiled) != (core == "c"):
            yield f"the compiled modules in use are {', '.join(compiled) or 'none'}, asked was for core {core!r}"


def source(environment: Environment, suite: Suite) -> Path:
    """The folder of a suite's project, in the release that the environment is for."""
    return suite.folder or sdist(suite.distribution, environment.version_of(suite.distribution))


def run(environment: Environment, suite: Suite, mode: Mode) -> Run:
    """Run a suite and read the plugin's report."""
    project = source(environment, suite)
    logs = CACHE / "logs" / environment.folder.name
    logs.mkdir(parents=True, exist_ok=True)
    name = f"{suite.name}-{mode.name}-{os.getpid()}"
    report, log = logs / f"{name}.json", logs / f"{suite.name}-{mode.name}.log"
    turn = locked(f"port-{suite.name}", whole_machine=True) if suite.alone else contextlib.nullcontext()
    with turn:
        started = time.monotonic()
        _pytest(environment, project, suite, _variables(environment, mode, report) | dict(suite.variables), log)
        seconds = time.monotonic() - started
    try:
        found: dict[str, Any] = json.loads(report.read_text())
    except FileNotFoundError:
        tail = "\n".join(log.read_text(errors="replace").splitlines()[-15:])
        return Run({}, crash=f"pytest ended without a report:\n{tail}", seconds=seconds, log=str(log))
    report.unlink()
    return Run(**found, seconds=seconds, log=str(log))


def run_stock(environment: Environment, suite: Suite) -> Run:
    """Run a suite stock, or take what an earlier run with the same versions, interpreter and harness gave.

    Tests that fail are given a second run: whatever can pass stock must pass under us.
    """
    sources = [path.read_text() for folder in (HERE / "harness", PLUGIN) for path in sorted(folder.glob("*.py"))]
    key = digest(environment.contents, environment.interpreter.version, repr(suite), *sources)
    kept = CACHE / "stock" / f"{suite.name}-{key}.json"
    if kept.exists():
        return Run(**json.loads(kept.read_text()))
    result = run(environment, suite, Mode.stock())
    if result.count()["failed"]:
        second = run(environment, suite, Mode.stock())
        result.outcomes |= dict.fromkeys(second.passed(), "passed")
    if not any(result.problems(Mode.stock())):
        kept.parent.mkdir(parents=True, exist_ok=True)
        kept.write_text(json.dumps(asdict(result)))
    return result


def _variables(environment: Environment, mode: Mode, report: Path) -> dict[str, str]:
    """The variables of a run: the user's own, without those that would change what is measured."""
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("OTEL_", "PYTEST_", "PYTHON", "COV_", "COVERAGE_", "VIRTUAL_ENV", "UPSTREAM_"))
    }
    kept |= {
        # Stock's TestTracer::test_shutdown runs the first `python` on PATH.
        "PATH": f"{environment.folder / 'bin'}{os.pathsep}{kept.get('PATH', '')}",
        "PYTHONPATH": str(PLUGIN),
        # Ours and other projects' pytest plugins have no part in stock's suites.
        "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
        "UPSTREAM_ACTIVATE": mode.activate,
        "UPSTREAM_REPORT": str(report),
    }
    if mode.name != STOCK:
        # A stock run can neither import otel-fastpath nor see its entry points.
        kept["PYTHONPATH"] += f"{os.pathsep}{environment.package}"
        kept["OTEL_FASTPATH_CORE"] = mode.name
    return kept


def _pytest(environment: Environment, project: Path, suite: Suite, variables: dict[str, str], log: Path) -> None:
    """Run pytest with no configuration but stock's, in a group of its own that ends with it."""
    options = ["-q", "-rfE", "-p", "no:cacheprovider", "-p", "fastpath_upstream"]
    options += [*(option for plugin in suite.plugins for option in ("-p", plugin)), *suite.options]
    # An empty configuration, or pytest would find ours in the folders above the cache; then it needs to be told both.
    places = ["-c", os.devnull, "--rootdir", str(project), "--confcutdir", str(project)]
    command = [str(environment.python), "-m", "pytest", "tests", *options, *places]
    with log.open("w") as output:
        process = subprocess.Popen(
            command, cwd=project, env=variables, stdout=output, stderr=subprocess.STDOUT, start_new_session=True
        )
        _running.add(process.pid)
        try:
            process.wait(_TIME_LIMIT)
        except subprocess.TimeoutExpired:
            output.write(f"\nstopped after {_TIME_LIMIT:.0f} s\n")
        finally:
            _kill(process.pid)
            process.wait()
            _running.discard(process.pid)


def stop_all() -> None:
    """Kill what other threads are running: Ctrl-C does not reach the groups of their own."""
    for group in tuple(_running):
        _kill(group)


def _kill(group: int) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.killpg(group, signal.SIGKILL)
