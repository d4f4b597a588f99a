"""The founding case: what it measures, what it says, what it leaves behind."""

from __future__ import annotations

import contextlib
import json
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest
from rich.console import Console

sys.path.insert(0, str(Path(__file__).parents[2]))

from examples.founding_case import report
from examples.founding_case.environment import ROOT, provide
from examples.founding_case.measure import Leg, Ratio
from examples.founding_case.services import ENVIRONMENT, FASTPATH, WITH, WITHOUT

# Seconds for what takes ten: others may need the processors as well.
PATIENCE = 180


@pytest.fixture
def start(tmp_path):
    """Starts the founding case, and ends it if the test does not."""
    # Not a part of what is timed.
    provide(ENVIRONMENT)
    command = [sys.executable, "-m", "examples.founding_case", "--out", str(tmp_path)]
    started = []

    def run(*arguments):
        process = subprocess.Popen(
            [*command, *arguments], cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        )
        started.append(process)
        return process

    yield run
    for process in started:
        # It ends what it started; killed, it would leave that behind.
        process.terminate()
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.communicate(timeout=PATIENCE)
        process.kill()
        process.wait()
        process.stdout.close()


def leg(name, *cpu):
    """A service that took so many milliseconds a request in its rounds."""
    return Leg(name, 0, None, rounds=[used / 1e3 for used in cpu])


def test_what_disturbs_a_round_does_not_count():
    """The ratio is that of the third of the rounds that took least."""
    ratio = Ratio.of(leg(FASTPATH, 11, 21, 11, 30, 25, 11), leg(WITHOUT, 90, 10, 10, 15, 20, 17))

    assert ratio.value == pytest.approx(1.1)


def test_the_interval_widens_with_the_noise():
    """Rounds that are alike leave no doubt, rounds that are not do."""
    steady = Ratio.of(leg(FASTPATH, 10.5, 10.5, 10.5), leg(WITHOUT, 10, 10, 10))
    shaken = Ratio.of(leg(FASTPATH, 10.5, 15, 20), leg(WITHOUT, 10, 15, 20))

    assert (steady.low, steady.high) == (pytest.approx(1.05), pytest.approx(1.05))
    assert shaken.low < 1
    assert shaken.high > 1.1


def found(ratio, low, high, *faults):
    """A result as far as the verdict looks at it."""
    legs = {FASTPATH: {"cpu_ratio": ratio, "cpu_ratio_interval": [low, high]}}
    return {"legs": legs, "most": report.MOST, "faults": list(faults)}


@pytest.mark.parametrize(
    ("result", "code", "said"),
    [
        (found(1.05, 1.03, 1.07), 0, "+5% CPU of one without the instrumentation: within 10%"),
        (found(1.15, 1.12, 1.18), 1, "more than the 10%"),
        (found(1.05, 0.99, 1.12), 3, "too busy"),
        (found(1.15, 0.99, 1.32), 3, "too busy"),
        (found(1.05, 1.03, 1.07, "spans are missing"), 1, "spans are missing"),
    ],
)
def test_the_verdict(result, code, said):
    """Ten per cent is the most; spans that do not fit are a failure whatever the figures are."""
    console = Console(record=True, width=200)

    assert report.verdict(console, result) == code
    text = console.export_text()
    assert said in text
    assert ("too busy" in text) + ("more than the 10%" in text) + ("within 10%" in text) <= 1


@pytest.mark.slow
def test_a_short_run(start, tmp_path):
    """From nothing to figures that fit the requests, with the same spans received of both instrumented services."""
    process = start("--least", "0.1", "--seconds", "0.1", "--requests", "30")
    output, _ = process.communicate(timeout=PATIENCE)
    assert process.returncode in {0, 1, report.INCONCLUSIVE}, output
    assert "results: " in output, output
    result = json.loads((tmp_path / "result.json").read_text())
    legs = result["legs"]

    assert result["faults"] == [], output
    assert "| requests | 105 | 105 | 105 |" in (tmp_path / "result.md").read_text()
    assert result["versions"]["opentelemetry-instrumentation-openai"] == "0.36.1"
    assert {"versions.openai", "versions.openai.pydantic"} <= set(result["patches"])
    assert legs[WITHOUT]["spans"] == 0
    assert {leg["requests"] for leg in legs.values()} == {105}
    assert {legs[name]["spans"] for name in (WITH, FASTPATH)} == {105}
    assert legs[WITH]["cpu_ms"] > 2 * legs[FASTPATH]["cpu_ms"]


@pytest.mark.slow
@pytest.mark.parametrize(("number", "moment"), [(signal.SIGINT, "Booting worker"), (signal.SIGTERM, "complete")])
def test_interrupted_it_leaves_nothing(start, tmp_path, number, moment):
    """Interrupted while it starts or under load, it ends every process that it started and says so."""
    process = start()
    log = tmp_path / "logs" / f"{FASTPATH}.log"
    deadline = time.monotonic() + PATIENCE
    while not (log.exists() and moment in log.read_text()):
        assert process.poll() is None
        assert time.monotonic() < deadline
        time.sleep(0.02)
    if moment == "complete":
        time.sleep(1)
    left = psutil.Process(process.pid).children(recursive=True)
    assert left
    process.send_signal(number)
    output, _ = process.communicate(timeout=PATIENCE)
    assert process.returncode == 130, output
    assert "interrupted" in output
    _, alive = psutil.wait_procs(left, timeout=60)
    assert [one for one in alive if one.status() != psutil.STATUS_ZOMBIE] == []
