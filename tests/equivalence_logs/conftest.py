"""Makes `logpairs` importable, and the fast path of logs with each core."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))


@pytest.fixture
def fast(core, environ):  # noqa: ARG001  # a fixture cannot use `usefixtures`
    """The fast path in place, with each core in turn."""
    from logpairs.switch import fastpath

    with fastpath(core):
        yield core
