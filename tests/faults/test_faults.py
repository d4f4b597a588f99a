"""Faults in our own lines leave the host as it was: a twentieth of the lines each day.

Of the compiled core only where `make faults` has compiled it for that, which takes half a minute of a processor: its
lines are those of the pure one.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest
from faultcheck.places import CORES, is_provided

RUN = Path(__file__).with_name("run.py")
PARTS = 20


@pytest.mark.skipif(not hasattr(os, "fork"), reason="each line fails in a forked child")
@pytest.mark.slow
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("core", CORES)
def test_no_fault_of_ours_reaches_the_host(core):
    """It gets its own result or exception, keeps its context, and its telemetry is sent once."""
    if not is_provided(core):
        pytest.skip('not compiled for it: `make faults ARGS="--core c"` does')
    part = time.gmtime().tm_yday % PARTS
    done = subprocess.run(
        [sys.executable, str(RUN), "--core", core, "--part", f"{part}/{PARTS}"],
        capture_output=True,
        text=True,
        check=False,
    )

    print(done.stdout)  # noqa: T201  # the list, which pytest shows where the test fails or with -s
    assert done.returncode == 0, done.stderr
