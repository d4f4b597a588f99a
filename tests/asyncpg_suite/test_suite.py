"""A part of asyncpg's own tests passes with asyncpg wrapped; `make asyncpg-suite` runs them all."""

import subprocess
import sys
from pathlib import Path

import pytest


@pytest.mark.slow
@pytest.mark.timeout(1860)
@pytest.mark.usefixtures("bundled_postgresql")
def test_a_part_passes_as_without_us():
    """Statements, cursors and transactions."""
    files = ("test_cursor.py", "test_transaction.py", "test_prepare.py")
    done = subprocess.run(
        [sys.executable, Path(__file__).with_name("run.py"), *files],
        capture_output=True,
        text=True,
        check=False,
        timeout=1800,
    )
    assert done.returncode == 0, done.stdout + done.stderr
