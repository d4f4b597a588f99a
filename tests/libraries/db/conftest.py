"""What the tests of every database share."""

from __future__ import annotations

import pytest

from otel_fastpath.compiled import hot


@pytest.fixture
def scan(core):
    """The function under test, of each core."""
    return hot("libraries.db.sql", core).scan
