"""`otel-fastpath verify`, with real programs, exporters and processes."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from newer_releases import older

from examples.demo.processes import free_port

SPANS = """
import logging, os, sys
from opentelemetry import metrics, trace

tracer = trace.get_tracer("shop")
with tracer.start_as_current_span("order", attributes={"process": os.getpid()}) as span:
    logging.getLogger("shop").warning("sold %d", 3)
    try:
        with tracer.start_as_current_span("pay"):
            raise ValueError("no money")
    except ValueError:
        pass
metrics.get_meter("shop").create_counter("orders", unit="{order}").add(1, {"kind": "new"})
"""
# As system metrics do, but of the program's own.
CHANCE = """
import random
metrics.get_meter("shop").create_counter("cached").add(1, {"hit": random.random() < 0.5})
"""
# As a vendor's exporter, or one that is told where to send to in the code.
VENDOR = """
import socket
socket.socket().connect_ex(("192.0.2.1", 443))
"""
# As if otel-fastpath changed what is emitted: the program looks whether it is there.
CHANGED = f"""{SPANS}
is_there = not type(tracer).start_span.__module__.startswith("opentelemetry.")
from otel_fastpath import FastpathInstrumentor
is_there = any(row.state.value == "applied" for row in FastpathInstrumentor().status())
with tracer.start_as_current_span("report", attributes={{"is_there": is_there}}):
    pass
sys.exit(3 if is_there else 0)
"""
SERVER = """
import sys
import http.server
from opentelemetry import trace

class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        with trace.get_tracer("shop").start_as_current_span(self.path):
            self.send_response(200)
            self.end_headers()

server = http.server.ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Handler)
try:
    server.serve_forever()
except KeyboardInterrupt:
    pass
"""
LOAD = "import sys, urllib.request; [urllib.request.urlopen(sys.argv[1] + '/order') for _ in range(3)]"


@pytest.fixture(scope="module")
def same(verify):
    """The report of a program whose telemetry is the same."""
    # With two, chance fails it once in sixteen times.
    status, report, errors = verify("--stock-runs", "6", program=SPANS + CHANCE + VENDOR)
    assert status == 0, (report, errors)
    return report


def test_a_program_with_the_same_telemetry(same):
    """Spans with an exception, a log record and a metric; the process id differs with stock OpenTelemetry, too."""
    assert same["differences"] == []
    counts = same["counts"]
    if older("opentelemetry-sdk", "1.42"):
        # Its own metrics cannot be left out.
        counts["metric"] = min(counts["metric"], 2)
    assert counts == {"span": 2, "metric": 2, "log record": 1, "resource": 3}
    assert {"signal": "span", "scope": "shop", "name": "order", "field": "attributes.process"} in same["varying"]


def test_a_difference_is_one_in_another_run(same):
    """What differs by chance is not, however the runs with stock OpenTelemetry happened to agree."""
    assert [each for each in same["differences"] if each["name"] == "cached"] == []


def test_what_a_program_tries_to_reach_is_named(same):
    """And refused."""
    assert any(note.startswith("refused: 192.0.2.1:443, tried by ") for note in same["notes"])


def test_a_program_with_other_telemetry(verify):
    """An attribute and the exit status depend on otel-fastpath, whose patches are applied in one of three runs."""
    status, report, errors = verify(program=CHANGED)

    assert status == 1, errors
    found = [(each["name"], each["field"], each["stock"], each["fastpath"]) for each in report["differences"]]
    assert found == [("report", "attributes.is_there", "1 x false", "1 x true"), ("", "exit status", "0", "3")]


def test_a_server_with_load(verify, tmp_path):
    """The server is stopped when the load has ended, and exports what it has."""
    port = free_port()
    url = f"http://127.0.0.1:{port}"
    load = tmp_path / "load.py"
    load.write_text(LOAD, encoding="utf-8")

    status, report, errors = verify(
        "--ready", f"{url}/ready", "--load", f"{sys.executable} {load} {url}", program=SERVER, arguments=[str(port)]
    )

    assert status == 0, errors
    assert report["counts"]["span"] >= 4


@pytest.mark.parametrize(
    ("options", "program", "status", "expected"),
    [
        (["--as-is"], "pass", 4, "with stock, the program sent no telemetry; its exit status was 0"),
        (
            ["--as-is", "--seconds", "30"],
            "pass",
            4,
            "with stock, the program sent no telemetry; it ended, or was stopped, without an error",
        ),
        (["--as-is", "--load", "false"], "import time; time.sleep(60)", 4, "--load false ended with exit status 1"),
        (
            ["--as-is", "--ready", "http://127.0.0.1:1", "--load", "true"],
            "raise SystemExit('cannot start')",
            4,
            "the program ended with exit status 1 before it was ready: cannot start",
        ),
        ([], "raise SystemExit('cannot start')", 4, "with stock, the program failed with exit status 1: cannot start"),
        ([], "import no_such_module", 4, "with stock, the program failed with exit status 1: {traceback}"),
        (["--stock-runs", "1"], "pass", 2, "--stock-runs 1: expected a number from 2 upwards"),
        (["--seconds", "0"], "pass", 2, "--seconds 0: expected a number of seconds above 0"),
        (["--ready", "http://127.0.0.1:1"], "pass", 2, "--ready: expected --load, too"),
        (["--load", "'"], "pass", 2, "--load ': No closing quotation"),
    ],
)
def test_what_cannot_be_verified(verify, options, program, status, expected):
    """One line that names the value."""
    found, report, errors = verify(*options, program=program)

    assert (found, report) == (status, None)
    assert errors.startswith(f"otel-fastpath: {expected.partition('{traceback}')[0]}")
    assert len(errors.splitlines()) == 1
    assert errors.endswith("No module named 'no_such_module'\n" if "{traceback}" in expected else f"{expected}\n")


def test_a_program_that_fails_is_an_error(verify):
    """With its telemetry the same: nobody should think that it was tried."""
    status, report, _ = verify(program=f"{SPANS}\nsys.exit(5)")

    assert (status, report["differences"]) == (4, [])


@pytest.mark.parametrize(("name", "shown"), [("", "''"), ("/", "/"), ("no\x1bprogram", "no\\x1bprogram")])
def test_a_program_that_is_not_there_is_named(name, shown):
    """In one line: `opentelemetry-instrument` would fail with a traceback."""
    done = subprocess.run(
        [sys.executable, "-m", "otel_fastpath", "verify", name], capture_output=True, text=True, check=False
    )

    assert (done.returncode, done.stderr) == (4, f"otel-fastpath: {shown}: no such program\n")


@pytest.mark.parametrize("command", [[], ["--", "no-such-program"]], ids=["none", "unknown"])
def test_a_command_that_does_not_exist(command):
    """One line."""
    done = subprocess.run(
        [sys.executable, "-m", "otel_fastpath", "verify", "--as-is", *command],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )

    assert done.returncode == (4 if command else 2)
    assert done.stderr.startswith("otel-fastpath: no-such-program: " if command else "otel-fastpath: verify: expected")
    assert len(done.stderr.splitlines()) == 1


@pytest.mark.skipif(not hasattr(os, "killpg"), reason="process groups are POSIX's")
def test_ctrl_c_leaves_no_process(tmp_path):
    """Neither the program nor what it has started."""
    told = tmp_path / "pids"
    program = (
        "import os, subprocess, sys, time\n"
        "child = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(300)'])\n"
        f"open({str(told)!r} + '.new', 'w').write(f'{{os.getpid()}} {{child.pid}}')\n"
        f"os.rename({str(told)!r} + '.new', {str(told)!r})\n"
        "time.sleep(300)\n"
    )
    process = subprocess.Popen(
        [sys.executable, "-m", "otel_fastpath", "verify", "--as-is", sys.executable, "-c", program],
        stderr=subprocess.PIPE,
        text=True,
        # A test runner in the background ignores SIGINT, and so would its children.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),  # noqa: PLW1509  # see above
    )
    end = time.monotonic() + 60
    while not told.exists():
        assert time.monotonic() < end
        assert process.poll() is None
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=60)

    assert (process.returncode, errors) == (130, "otel-fastpath: interrupted\n")
    for pid in map(int, told.read_text().split()):
        assert not _runs(pid)


def _runs(pid):
    end = time.monotonic() + 10
    while time.monotonic() < end:
        try:
            os.kill(pid, 0)
            # A child of a killed process may be a zombie that nobody waits for.
            if Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0] == "Z":
                return False
        except (ProcessLookupError, FileNotFoundError):
            return False
        time.sleep(0.05)
    return True
