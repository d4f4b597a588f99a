"""An exception that arrives from outside reaches the host, wherever it arrives: a sample of `make interruptions`."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import pytest

INTERRUPT = Path(__file__).with_name("interrupt.py")
# Of the lines, so many parts: another one each day, so that each line has its turn twice a year.
PARTS = 180
pytestmark = [
    pytest.mark.skipif(sys.version_info < (3, 12), reason="sys.monitoring is new in 3.12"),
    pytest.mark.timeout(600),
]


def check(*arguments):
    """Run it; the list is shown where it fails."""
    done = subprocess.run([sys.executable, str(INTERRUPT), *arguments], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("core", ["c", "py"])
def test_at_lines_and_returns_of_c_functions(core):
    """Raised by a function that the interpreter calls between two instructions."""
    workloads = ("spans", "logs", "metrics", "sqlite3", "wsgi-servers")
    check("--core", core, "--workload", *workloads, "--part", f"{time.gmtime().tm_yday % PARTS}/{PARTS}")


@pytest.mark.parametrize("core", ["c", "py"])
def test_by_a_signal(core):
    """At random instants of each operation."""
    check("--core", core, "--workload", "spans", "sqlite3", "--signals", "6")


WAITING = """
import threading
from faultcheck import alarms
alarms._STUCK_S = 0.1
alarm, lock = alarms.Alarm(), threading.Lock()
with lock:
    alarm.disarm()
    try:
        lock.acquire()
    except alarms.StuckError:
        print("freed")
alarm.stop()
"""


def test_a_host_that_waits_for_ever_is_freed():
    """An interrupted library may keep a lock of its own for ever: the next instants are still tried."""
    done = subprocess.run(
        [sys.executable, "-c", WAITING], cwd=INTERRUPT.parent, capture_output=True, text=True, check=False
    )
    assert done.stdout == "freed\n", done.stderr


@pytest.mark.slow
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("core", ["c", "py"])
def test_by_a_signal_in_each_workload(core):
    """At more instants, in every workload."""
    check("--core", core, "--signals", "50")
