"""A time limit that arrives while asyncpg connects, or while its pool gives out a connection."""

from __future__ import annotations

import asyncio
import sys
from types import SimpleNamespace

import asyncpg
import pytest
from interrupting import interrupt

from otel_fastpath.db.asyncpg.pools import make_acquire

pytestmark = pytest.mark.skipif(sys.version_info < (3, 12), reason="sys.monitoring is new in 3.12")


def test_a_connect(wrap):
    """The application gets it, and the connect's span has ended."""
    seen = wrap()

    def connect():
        asyncio.run(asyncpg.connect("postgresql://x@127.0.0.1:1/x"))

    assert interrupt(seen.tracer_provider, connect, expected=(OSError,)) == []


@pytest.mark.parametrize("raised", [None, TimeoutError])
def test_a_pools_acquire(wrap, raised):
    """Likewise, whether a connection is had or not."""
    seen = wrap("acquire")

    async def acquire(_pool):
        if raised is not None:
            raise raised
        return SimpleNamespace(_holder=1)

    acquire = make_acquire(acquire)
    pool = SimpleNamespace(_queue=SimpleNamespace(), _holders=())
    expected = () if raised is None else (raised,)
    assert interrupt(seen.tracer_provider, lambda: asyncio.run(acquire(pool)), expected=expected) == []
