"""The libraries that are wrapped, and the instrumentations that are made cheap: a line for each."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Final

from otel_fastpath.patching.declarations import Declarations, LateInstallation
from otel_fastpath.patching.feature import Feature

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    from otel_fastpath.libraries.library import Library, Wrapper
    from otel_fastpath.patching.patch import Row
    from otel_fastpath.settings import Config

_STOCK: Final = "opentelemetry.instrumentation"


class _Libraries(Feature):
    def start(self, settings: Config, off: Callable[[str], str | None], providers: Mapping[str, Any]) -> None:
        for each in installations():
            name = each.part.wrapper
            # Wrong options are reported when the process is instrumented.
            is_set = bool(settings.mode(name) or settings.options(name))
            each.install(settings, off, providers, is_asked_for=is_set or settings.loads_all)

    def stop(self) -> None:
        for each in reversed(installations()):
            each.uninstall()

    def status(self, *, loads: bool = True) -> list[Row]:
        return [row for each in installations() for row in each.status(loads=loads)]


# In the order of the status.
FEATURE: Final = _Libraries(
    "libraries",
    parts=(
        Declarations("libraries.http.asgi.patches", *(f"{_STOCK}.{name}" for name in ("asgi", "fastapi", "starlette"))),
        Declarations("libraries.http.fastapi.patches", "fastapi"),
        Declarations("libraries.http.wsgi.patches", f"{_STOCK}.wsgi"),
        Declarations("libraries.http.flask.patches", f"{_STOCK}.flask"),
        Declarations("libraries.http.django.patches", f"{_STOCK}.django"),
        Declarations("libraries.http.aiohttp_server.patches", f"{_STOCK}.aiohttp_server"),
        Declarations("libraries.http.httpx.patches", f"{_STOCK}.httpx"),
        Declarations("libraries.http.requests.patches", f"{_STOCK}.requests"),
        Declarations("libraries.http.aiohttp_client.patches", f"{_STOCK}.aiohttp_client"),
        Declarations("libraries.http.urllib3.patches", f"{_STOCK}.urllib3"),
        Declarations("libraries.db.dbapi.patches", f"{_STOCK}.dbapi"),
        Declarations("libraries.db.asyncpg", "asyncpg", f"{_STOCK}.asyncpg", wrapper="asyncpg"),
        Declarations("libraries.db.psycopg", "psycopg", "psycopg_pool", f"{_STOCK}.psycopg", wrapper="psycopg"),
        Declarations("libraries.db.psycopg2", "psycopg2", f"{_STOCK}.psycopg2", wrapper="psycopg2"),
        Declarations("libraries.db.sqlite3", "sqlite3", "aiosqlite", f"{_STOCK}.sqlite3", wrapper="sqlite3"),
        Declarations("libraries.db.pymysql", "pymysql", f"{_STOCK}.pymysql", wrapper="pymysql"),
        Declarations("libraries.db.mysqlclient", "MySQLdb", f"{_STOCK}.mysqlclient", wrapper="mysqlclient"),
        Declarations("libraries.db.sqlalchemy", "sqlalchemy", f"{_STOCK}.sqlalchemy", wrapper="sqlalchemy"),
        Declarations("libraries.db.redis", "redis", f"{_STOCK}.redis", wrapper="redis"),
        Declarations("libraries.db.cassandra", "cassandra", f"{_STOCK}.cassandra", wrapper="cassandra"),
        Declarations(
            "libraries.genai.openai",
            "openai",
            "logfire._internal.integrations.llm_providers",
            "openinference.instrumentation.openai",
            *(f"{_STOCK}.{name}" for name in ("genai.openai", "openai", "openai_v2")),
            wrapper="openai",
        ),
        Declarations("libraries.gevent", "gevent", wrapper="gevent"),
    ),
    without="Libraries are not wrapped.",
)


def _wrap(library: Library) -> Wrapper:
    from otel_fastpath.libraries.library import Wrapper  # noqa: PLC0415  # where nothing is wrapped it is not needed

    return Wrapper(library)


@functools.cache
def installations() -> tuple[LateInstallation, ...]:
    """The wrappers of this process, each loaded when its library is imported."""
    return tuple(LateInstallation(part, _wrap) for part in FEATURE.parts if part.wrapper)
