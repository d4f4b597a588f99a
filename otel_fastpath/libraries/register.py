"""The libraries that are wrapped: a line for each."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Final

from otel_fastpath.libraries import gevent
from otel_fastpath.libraries.db import (
    asyncpg,
    cassandra,
    dbapi_patches,
    mysqlclient,
    psycopg,
    psycopg2,
    pymysql,
    redis,
    sqlalchemy,
    sqlite3,
)
from otel_fastpath.libraries.genai import openai
from otel_fastpath.libraries.http.aiohttp_client import patches as aiohttp_client
from otel_fastpath.libraries.http.aiohttp_server import patches as aiohttp_server
from otel_fastpath.libraries.http.asgi import patches as asgi
from otel_fastpath.libraries.http.django import patches as django
from otel_fastpath.libraries.http.fastapi import patches as fastapi
from otel_fastpath.libraries.http.flask import patches as flask
from otel_fastpath.libraries.http.httpx import patches as httpx
from otel_fastpath.libraries.http.requests import patches as requests
from otel_fastpath.libraries.http.urllib3 import patches as urllib3
from otel_fastpath.libraries.http.wsgi import patches as wsgi
from otel_fastpath.libraries.library import Wrapper
from otel_fastpath.patching.room import Room

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    from otel_fastpath.patching.patch import Row
    from otel_fastpath.settings import Config


class _Libraries(Room):
    def start(self, settings: Config, off: Callable[[str], str | None], providers: Mapping[str, Any]) -> None:
        for wrapper in wrappers():
            wrapper.install(settings, off, providers)

    def stop(self) -> None:
        for wrapper in reversed(wrappers()):
            wrapper.uninstall()

    def status(self) -> list[Row]:
        return [row for wrapper in wrappers() for row in wrapper.status()]


# In the order of the status.
ROOM: Final = _Libraries(
    "libraries",
    patches=(
        *asgi.PATCHES,
        *fastapi.PATCHES,
        *wsgi.PATCHES,
        *flask.PATCHES,
        *django.PATCHES,
        *aiohttp_server.PATCHES,
        *httpx.PATCHES,
        *requests.PATCHES,
        *aiohttp_client.PATCHES,
        *urllib3.PATCHES,
        *dbapi_patches.PATCHES,
    ),
    wrappers=(
        asyncpg.LIBRARY,
        psycopg.LIBRARY,
        psycopg2.LIBRARY,
        sqlite3.LIBRARY,
        pymysql.LIBRARY,
        mysqlclient.LIBRARY,
        sqlalchemy.LIBRARY,
        redis.LIBRARY,
        cassandra.LIBRARY,
        openai.LIBRARY,
        gevent.LIBRARY,
    ),
    without="Libraries are not wrapped.",
)


@functools.cache
def wrappers() -> tuple[Wrapper, ...]:
    """The wrappers of this process."""
    return tuple(Wrapper(library) for library in ROOM.wrappers)
