"""The founding case without otel-fastpath's patches: the first line of the profile names the cause."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
import urllib.request
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[3]))

from examples.demo.processes import free_port, interrupts, listening, running, wait_until
from examples.demo.services import start_server
from examples.founding_case.environment import provide
from examples.founding_case.services import ENVIRONMENT, HERE, WITH, Case

pytestmark = pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="this system has no timer of CPU time")
PATIENCE = 300


@pytest.mark.slow
def test_the_first_line_names_the_version_look_up(tmp_path):
    """gunicorn, its worker and uvicorn, as one starts them; the profile is that of the worker, too."""
    programs = provide(ENVIRONMENT)
    page, machine = tmp_path / "profile.html", tmp_path / "profile.json"
    with interrupts() as signals, running(tmp_path / "logs", signals) as processes:
        world, receiver = (start_server(processes, name) for name in ("founding_case.world", "otlp_receiver"))
        case = Case(programs, world, receiver, 1, metrics=False)
        port = free_port()
        service = ["gunicorn", "service:app", "--worker-class", "uvicorn.workers.UvicornWorker", "--no-control-socket"]
        command = [
            *(programs / "python", "-m", "otel_fastpath", "profile", "--no-progress", "--seconds", "600"),
            *("--html", page, "--json", machine),
            *(programs / "opentelemetry-instrument", programs / service[0], *service[1:]),
            *("--timeout", "300", "--bind", f"127.0.0.1:{port}"),
        ]
        child = processes.start("profile", list(map(str, command)), cwd=HERE, env=case._environment(WITH))
        wait_until(lambda: listening(port), child)
        wish = urllib.request.Request(f"{world}/round?port={port}&requests=30", method="POST")  # noqa: S310  # loopback
        with urllib.request.urlopen(wish, timeout=PATIENCE) as answer:  # noqa: S310  # likewise
            assert json.load(answer)["wrong"] == []
        child.process.send_signal(signal.SIGINT)
        try:
            assert child.process.wait(PATIENCE) == 0, child.last_lines()
        except subprocess.TimeoutExpired:
            pytest.fail(child.last_lines())
        output = child.log.read_text(encoding="utf-8")
    first = next(line for line in output.splitlines() if line.startswith("Telemetry takes "))
    told = re.fullmatch(
        r"Telemetry takes (\d+)% of the CPU \(.*\), "
        r"and (\d+)% is the OpenAI instrumentation, most of it in importlib\.metadata\.version; "
        r"otel-fastpath would save (\d+)%\.",
        first,
    )
    report = json.loads(machine.read_text())

    sys.stdout.write(first + "\n")
    assert told, first
    assert int(told.group(3)) > 50
    assert int(told.group(1)) >= int(told.group(2)) > 50
    assert any("versions.*" in line for line in report["advice"])
    assert report["savings"][0]["part"] == "version look-ups"
    assert not report["savings"][0]["is_on"]
    assert report["processes"] == 2
    assert report["headline"] in page.read_text()
