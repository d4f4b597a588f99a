"""The example of bound instruments prints what it recorded."""

from __future__ import annotations

import subprocess
import sys


def test_the_example_prints_its_measurements():
    """Once for each attribute set."""
    result = subprocess.run(
        [sys.executable, "-m", "examples.metrics"], capture_output=True, text=True, check=True, timeout=120
    )

    assert result.stdout.splitlines() == [
        "served {'route': '/items/{id}', 'status': 200} 100",
        "took {'route': '/items/{id}'} 100 in 4.95 s",
    ]
