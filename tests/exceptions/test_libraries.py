"""Each exception of other people's libraries is counted exactly once, whatever they do to its traceback."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT))

pytest.importorskip("otel_fastpath.exceptions.callbacks_c", reason="the compiled callback is not built")

from counting.libraries import LIBRARIES  # noqa: E402  # sys.path first


@pytest.fixture(scope="module")
def counted(database_url):
    """What was counted: scenario -> type -> raised."""
    command = [sys.executable, "-m", "counting.libraries", database_url]
    done = subprocess.run(command, cwd=Path(__file__).parent, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.parametrize("name", LIBRARIES)
def test_counts_each_exception_once(counted, name):
    """One error of a library is one exception, and one more for each other that it is translated to."""
    found = counted[name]
    if isinstance(found, str) and "No module named" in found:
        pytest.skip(found)
    assert isinstance(found, dict), found
    expected = LIBRARIES[name][1]
    of_interest = {name: sum(n for full, n in found.items() if f".{full}".endswith(f".{name}")) for name in expected}
    assert of_interest == expected
