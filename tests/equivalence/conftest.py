"""Makes `sidebyside` importable and puts the fast path in place."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))


@pytest.fixture
def fast(core, environ):  # noqa: ARG001  # a fixture cannot use `usefixtures`
    """The fast path in place, with each core in turn."""
    from stock_or_fastpath import fastpath

    with fastpath(core):
        yield core
