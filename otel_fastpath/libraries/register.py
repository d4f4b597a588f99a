"""The libraries that are wrapped, and the instrumentations that are made cheap: a line for each."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Final

from otel_fastpath.patching.parts import Part, Waiting
from otel_fastpath.patching.room import Room

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    from otel_fastpath.libraries.library import Library, Wrapper
    from otel_fastpath.patching.patch import Row
    from otel_fastpath.settings import Config

_OFFICIAL: Final = "opentelemetry.instrumentation"


class _Libraries(Room):
    def start(self, settings: Config, off: Callable[[str], str | None], providers: Mapping[str, Any]) -> None:
        for each in waiting():
            name = each.part.wrapper
            # Wrong options are reported when the process is instrumented.
            is_set = bool(settings.mode(name) or settings.options(name))
            each.install(settings, off, providers, is_asked_for=is_set or settings.loads_all)

    def stop(self) -> None:
        for each in reversed(waiting()):
            each.uninstall()

    def status(self, *, loads: bool = True) -> list[Row]:
        return [row for each in waiting() for row in each.status(loads=loads)]


# In the order of the status.
ROOM: Final = _Libraries(
    "libraries",
    parts=(
        Part("libraries.http.asgi.patches", *(f"{_OFFICIAL}.{name}" for name in ("asgi", "fastapi", "starlette"))),
        Part("libraries.http.fastapi.patches", "fastapi"),
        Part("libraries.http.wsgi.patches", f"{_OFFICIAL}.wsgi"),
        Part("libraries.http.flask.patches", f"{_OFFICIAL}.flask"),
        Part("libraries.http.django.patches", f"{_OFFICIAL}.django"),
        Part("libraries.http.aiohttp_server.patches", f"{_OFFICIAL}.aiohttp_server"),
        Part("libraries.http.httpx.patches", f"{_OFFICIAL}.httpx"),
        Part("libraries.http.requests.patches", f"{_OFFICIAL}.requests"),
        Part("libraries.http.aiohttp_client.patches", f"{_OFFICIAL}.aiohttp_client"),
        Part("libraries.http.urllib3.patches", f"{_OFFICIAL}.urllib3"),
        Part("libraries.db.dbapi.patches", f"{_OFFICIAL}.dbapi"),
        Part("libraries.db.asyncpg", "asyncpg", f"{_OFFICIAL}.asyncpg", wrapper="asyncpg"),
        Part("libraries.db.psycopg", "psycopg", "psycopg_pool", f"{_OFFICIAL}.psycopg", wrapper="psycopg"),
        Part("libraries.db.psycopg2", "psycopg2", f"{_OFFICIAL}.psycopg2", wrapper="psycopg2"),
        Part("libraries.db.sqlite3", "sqlite3", "aiosqlite", f"{_OFFICIAL}.sqlite3", wrapper="sqlite3"),
        Part("libraries.db.pymysql", "pymysql", f"{_OFFICIAL}.pymysql", wrapper="pymysql"),
        Part("libraries.db.mysqlclient", "MySQLdb", f"{_OFFICIAL}.mysqlclient", wrapper="mysqlclient"),
        Part("libraries.db.sqlalchemy", "sqlalchemy", f"{_OFFICIAL}.sqlalchemy", wrapper="sqlalchemy"),
        Part("libraries.db.redis", "redis", f"{_OFFICIAL}.redis", wrapper="redis"),
        Part("libraries.db.cassandra", "cassandra", f"{_OFFICIAL}.cassandra", wrapper="cassandra"),
        Part(
            "libraries.genai.openai",
            "openai",
            "logfire._internal.integrations.llm_providers",
            "openinference.instrumentation.openai",
            *(f"{_OFFICIAL}.{name}" for name in ("genai.openai", "openai", "openai_v2")),
            wrapper="openai",
        ),
        Part("libraries.gevent", "gevent", wrapper="gevent"),
    ),
    without="Libraries are not wrapped.",
)


def _wrap(library: Library) -> Wrapper:
    from otel_fastpath.libraries.library import Wrapper  # noqa: PLC0415  # where nothing is wrapped it is not needed

    return Wrapper(library)


@functools.cache
def waiting() -> tuple[Waiting, ...]:
    """The wrappers of this process, each loaded when its library is imported."""
    return tuple(Waiting(part, _wrap) for part in ROOM.parts if part.wrapper)
