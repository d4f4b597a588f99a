"""What the tests of `otel_fastpath.tools.common` share."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from otel_fastpath.tools.common.loopback import Loopback


@pytest.fixture
def confined(tmp_path):
    """`confined(source, allow=(), kernel=True)`: what a Python program printed, and what was refused."""

    def run(source, allow=(), env=None, *, kernel=True):
        file = tmp_path / "program.py"
        file.write_text(source, encoding="utf-8")
        with Loopback(allow) as loopback:
            if not kernel:
                loopback.refuse_in_python("the test says so")
            process = loopback.popen(
                [sys.executable, str(file)], {**os.environ, **(env or {})}, stdout=subprocess.PIPE, text=True
            )
            printed, _ = process.communicate(timeout=60)
            return printed.splitlines(), list(loopback.refusals())

    return run
