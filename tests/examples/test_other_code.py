"""The example of replaced methods and processors prints what its page says."""

from __future__ import annotations

import subprocess
import sys


def test_the_replacement_is_called_while_it_is_in_place():
    """And the processor for each span."""
    done = subprocess.run(  # our own example
        [sys.executable, "-m", "examples.other_code"], capture_output=True, text=True, timeout=60, check=True
    )

    assert done.stdout.splitlines() == ["replaced {'user.password': '***'}", "put back {'user.name': 'ann'}"]
    assert done.stderr == ""
