"""What an application does with other databases in the middle of a statement is not the driver's."""

from __future__ import annotations

import pytest
import sqlalchemy as sa

redis = pytest.importorskip("redis")


def test_a_command_of_redis_in_a_listener_is_seen(wrap, engine, redis_server):
    """As one that forgets what was cached of a table."""
    seen = wrap("no-transactions")
    client = redis.Redis(port=redis_server.port)

    @sa.event.listens_for(engine, "after_cursor_execute")
    def forget(*_args):
        client.delete("t")
        client.pipeline(transaction=False).get("t").execute()

    with engine.connect() as connection:
        connection.execute(sa.text("SELECT * FROM t"))
    client.close()

    delete, get, select = seen.spans()
    assert (delete.name, get.name, select.name) == ("DEL", "GET", "SELECT t")
    assert delete.parent.span_id == get.parent.span_id == select.context.span_id
