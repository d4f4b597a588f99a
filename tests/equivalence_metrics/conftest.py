"""Makes `metricpairs` importable and puts the fast path in place."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))


@pytest.fixture
def fast(core, environ, no_faults):  # noqa: ARG001  # a fixture cannot use `usefixtures`
    """The fast path in place, with each core in turn; it must not have needed upstream because of a fault."""
    from metricpairs.switch import fastpath

    with fastpath(core):
        yield core
        assert no_faults.counts() == {}
