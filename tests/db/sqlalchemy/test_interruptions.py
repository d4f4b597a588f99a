"""A time limit that arrives while SQLAlchemy waits for a connection of its pool."""

from __future__ import annotations

import gc
import sys

import pytest
import sqlalchemy as sa
from interrupting import interrupt

pytestmark = [
    pytest.mark.skipif(sys.version_info < (3, 12), reason="sys.monitoring is new in 3.12"),
    # A connection that an interrupted pool loses is closed by nobody.
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]


@pytest.fixture
def acquire(request):
    """Get a connection of a pool that has one, or has none."""
    engine = sa.create_engine("sqlite://", poolclass=sa.QueuePool, pool_size=1, max_overflow=0, pool_timeout=0)
    engine.connect().close()
    kept = None
    if request.param == "none":
        kept = engine.connect()
    yield lambda: engine.raw_connection().close()
    if kept is not None:
        kept.close()
    engine.dispose()
    gc.collect()


@pytest.mark.parametrize("options", ["", "acquire"])
@pytest.mark.parametrize("acquire", ["one", "none"], indirect=True)
def test_a_pools_acquire(wrap, acquire, options):
    """The application gets it, and the span of waiting has ended."""
    seen = wrap(options)

    assert interrupt(seen.tracer_provider, acquire, expected=(sa.exc.TimeoutError,)) == []
