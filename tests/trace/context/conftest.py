"""What the tests of the API's functions share."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from api_functions import PATCHED, STOCK


@pytest.fixture
def libraries():
    """No library is wrapped: that takes longer than these tests."""
    return ()


@pytest.fixture
def stock():
    """Stock's functions, by the patch's name."""
    return STOCK


@pytest.fixture
def ours(instrumented, core, no_faults, monkeypatch):
    """This package's in their place; there must be no fault. The pure twins, which no patch uses, are put there."""
    states = {row.name: row.state.value for row in instrumented.status()}
    assert {states[name] for name in PATCHED} == {"applied" if core == "c" else "off"}
    for name, (module, bind) in PATCHED.items() if core == "py" else ():
        monkeypatch.setattr(module, name.partition(".")[2], bind(STOCK[name]))
    yield {name: getattr(module, name.partition(".")[2]) for name, (module, _) in PATCHED.items()}
    assert no_faults.counts() == {}
