"""URLs that name several hosts, as for a cluster of servers of which one is the primary."""

from __future__ import annotations

import asyncio

import pytest
import sqlalchemy as sa
from opentelemetry.trace import StatusCode
from sqlalchemy.ext.asyncio import create_async_engine

# SQLAlchemy's two ways to write them.
FORMS = {
    "one parameter": lambda url: f"host=127.0.0.1,{url.host}&port=1,{url.port or 5432}",
    "a parameter each": lambda url: f"host=127.0.0.1:1&host={url.host}:{url.port or 5432}",
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("driver", ["psycopg", "psycopg2", "asyncpg"])
def test_the_first_of_several_hosts_is_told(wrap, url, driver, form):
    """Nothing listens there, so that the driver connects to the next one."""
    seen = wrap()
    target = url(driver)
    several = f"{target.drivername}://{target.username}@/{target.database}?{FORMS[form](target)}"

    async def main():
        engine = create_async_engine(several)
        async with engine.connect() as connection:
            await connection.execute(sa.text("SELECT 1"))
        await engine.dispose()

    if driver == "asyncpg":
        asyncio.run(main())
    else:
        engine = sa.create_engine(several)
        with engine.connect() as connection:
            connection.execute(sa.text("SELECT 1"))
        engine.dispose()

    spans = seen.spans()
    assert [span.name for span in spans] == ["CONNECT", "SELECT", "ROLLBACK"]
    for span in spans:
        assert span.status.status_code is StatusCode.UNSET
        assert (span.attributes["server.address"], span.attributes["server.port"]) == ("127.0.0.1", 1)
