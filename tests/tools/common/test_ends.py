"""However a command is ended, what it has started is ended, too."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from examples.demo.processes import free_port
from otel_fastpath.tools.common import cpu
from otel_fastpath.tools.common.program import last_lines

pytestmark = pytest.mark.skipif(bool(cpu.why_not()), reason=cpu.why_not() or "it runs here")
SERVICE = """
import http.server, pathlib, signal, sys

pathlib.Path("started").touch()
for name in sys.argv[2:]:
    signal.signal(getattr(signal, name), signal.SIG_IGN)
http.server.HTTPServer(("127.0.0.1", int(sys.argv[1])), http.server.SimpleHTTPRequestHandler).serve_forever()
"""
PATIENCE = 60.0


def wait_until(holds):
    """Wait until a condition is true; it fails if that takes too long."""
    end = time.monotonic() + PATIENCE
    while not holds():
        assert time.monotonic() < end
        time.sleep(0.1)


def of_folder(folder):
    """The processes whose current folder this is."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):  # it may have ended
            if (process / "cwd").readlink() == folder:
                found.append((process / "cmdline").read_bytes())
    return found


@pytest.fixture
def started(tmp_path):
    """`started(command, *ignored)`: a command with a service that ignores these signals, which has begun."""
    running = []

    def start(*command, ignored=(), **more):
        (tmp_path / "service.py").write_text(SERVICE, encoding="utf-8")
        service = [sys.executable, "service.py", str(free_port()), *ignored]
        running.append(
            subprocess.Popen(
                [sys.executable, "-m", "otel_fastpath", *command, *service],
                cwd=tmp_path,
                stderr=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                text=True,
                **more,
            )
        )
        wait_until((tmp_path / "started").exists)
        return running[0]

    yield start
    for process in running:
        process.kill()
        process.communicate()


@pytest.mark.timeout(120)
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP], ids=str)
@pytest.mark.parametrize("command", [["try"], ["profile", "--no-progress"], ["verify"]], ids=str)
def test_a_signal_leaves_nothing_behind(started, tmp_path, command, number):
    """`timeout`, a cancelled job and a closed terminal end the service, too; the status says which signal it was."""
    # The tests may run under `nohup`.
    process = started(*command, preexec_fn=lambda: signal.signal(number, signal.SIG_DFL))
    process.send_signal(number)

    assert process.wait(PATIENCE) == 128 + number
    assert of_folder(tmp_path) == []


@pytest.mark.timeout(120)
def test_who_does_not_want_to_wait_leaves_nothing_behind(started, tmp_path):
    """Ctrl-C twice, of a service that ignores it."""
    process = started("try", ignored=["SIGINT", "SIGTERM"])
    process.send_signal(signal.SIGINT)
    time.sleep(1.0)
    begun = time.monotonic()
    process.send_signal(signal.SIGINT)

    process.wait(PATIENCE)
    assert time.monotonic() - begun < 10
    assert of_folder(tmp_path) == []


@pytest.mark.timeout(120)
def test_a_program_in_the_background_is_ended_as_by_ctrl_c(started):
    """A shell lets what runs in the background ignore Ctrl-C; the program that the command stops does not ignore it."""
    process = started(
        "profile",
        "--no-progress",
        "--seconds",
        "1",
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_IGN),
    )

    error = process.communicate(timeout=PATIENCE)[1]
    assert "KeyboardInterrupt" in error, error


def test_the_last_lines_are_read_without_the_others(tmp_path):
    """A program that has printed a lot goes on where it was."""
    with (tmp_path / "output").open("wb+") as output:
        subprocess.run(
            [sys.executable, "-c", "print('x' * 10_000_000); print('y')"], stdout=output, check=True, timeout=60
        )
        place = os.lseek(output.fileno(), 0, os.SEEK_CUR)

        lines = last_lines(output)

        assert lines.startswith(": xxx")
        assert lines.endswith(" / y")
        assert len(lines) < 3000
        assert os.lseek(output.fileno(), 0, os.SEEK_CUR) == place
