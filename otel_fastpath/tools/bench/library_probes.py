"""The operations of libraries: servers and clients of HTTP, OpenAI, databases.

HTTP operations do not use the network; what replaces it is below what is instrumented.
"""

from __future__ import annotations

import asyncio
import io
import json
from typing import TYPE_CHECKING, Any, Final

from otel_fastpath.tools.bench.probe import Probe

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterator


def _fastapi() -> Iterator[Any]:
    import fastapi  # noqa: PLC0415  # see `Probe`

    app = fastapi.FastAPI()

    @app.get("/items/{item_id}")
    async def item(item_id: int) -> dict[str, int]:
        return {"id": item_id}

    yield app


async def _request(app: Any) -> None:
    scope = {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "method": "GET",
        "scheme": "http",
        "path": "/items/4711",
        "raw_path": b"/items/4711",
        "root_path": "",
        "query_string": b"",
        "headers": [(b"host", b"localhost:8000"), (b"user-agent", b"bench")],
        "client": ("127.0.0.1", 50000),
        "server": ("127.0.0.1", 8000),
    }

    async def receive() -> dict[str, Any]:
        await asyncio.sleep(0)
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(_message: dict[str, Any]) -> None:
        pass

    await app(scope, receive, send)


def _flask() -> Iterator[Any]:
    import flask  # noqa: PLC0415  # see `Probe`

    app = flask.Flask("bench")

    @app.get("/items/<int:item_id>")
    def item(item_id: int) -> dict[str, int]:
        return {"id": item_id}

    yield app


def _wsgi_request(app: Any) -> None:
    environ = {
        "REQUEST_METHOD": "GET",
        "SCRIPT_NAME": "",
        "PATH_INFO": "/items/4711",
        "QUERY_STRING": "",
        "REMOTE_ADDR": "127.0.0.1",
        "SERVER_NAME": "127.0.0.1",
        "SERVER_PORT": "8000",
        "SERVER_PROTOCOL": "HTTP/1.1",
        "HTTP_HOST": "localhost:8000",
        "HTTP_USER_AGENT": "bench",
        "wsgi.url_scheme": "http",
        "wsgi.input": io.BytesIO(),
        "wsgi.errors": io.StringIO(),
    }
    answer = app(environ, _started)
    for _ in answer:
        pass
    answer.close()


def _started(_status: str, _headers: list[tuple[str, str]], _error: Any = None) -> Callable[[bytes], object]:
    """The server's `start_response`."""
    return len


class _Pool:
    """Replaces the connection pool of httpx's transport, which is below what is instrumented."""

    def __init__(self, content: bytes) -> None:
        import httpcore  # noqa: PLC0415  # see `Probe`

        self._response = httpcore.Response
        self._content = content

    def handle_request(self, _request: Any) -> Any:
        headers = [(b"content-type", b"application/json"), (b"content-length", str(len(self._content)).encode())]
        return self._response(200, headers=headers, content=self._content)

    def __exit__(self, *exception: object) -> None:
        """Called when the client is closed; there is nothing to close."""

    def close(self) -> None:
        """Likewise."""


def _httpx_client(content: bytes) -> Any:
    import httpx  # noqa: PLC0415  # see `Probe`

    transport = httpx.HTTPTransport()
    transport._pool = _Pool(content)  # type: ignore[assignment]
    return httpx.Client(transport=transport)


def _httpx() -> Iterator[Any]:
    yield _httpx_client(b'{"id": 4711}')


def _get(client: Any) -> None:
    client.get("http://localhost:8000/items/4711")


def _requests() -> Iterator[Any]:
    import requests  # noqa: PLC0415  # see `Probe`

    class Adapter(requests.adapters.BaseAdapter):
        def send(self, request: Any, *_given: Any, **_options: Any) -> Any:
            response = requests.Response()
            response.status_code = 200
            response.url, response.request = request.url, request
            response.raw = io.BytesIO(b'{"id": 4711}')
            return response

        def close(self) -> None:
            pass

    session = requests.Session()
    session.mount("http://", Adapter())
    yield session


_ANSWER: Final = json.dumps(
    {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 1700000000,
        "model": "gpt-4o-mini",
        "choices": [
            {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": "It is a chair."}}
        ],
        "usage": {"prompt_tokens": 12, "completion_tokens": 5, "total_tokens": 17},
    }
).encode()


def _openai() -> Iterator[Any]:
    import openai  # noqa: PLC0415  # see `Probe`

    yield openai.OpenAI(api_key="none", base_url="http://localhost:8000/v1", http_client=_httpx_client(_ANSWER))


def _chat(client: Any) -> None:
    client.chat.completions.create(model="gpt-4o-mini", messages=[{"role": "user", "content": "What is item 4711?"}])


def _sqlite() -> Iterator[Any]:
    import sqlite3  # noqa: PLC0415  # see `Probe`

    connection = sqlite3.connect(":memory:")
    yield connection.cursor()
    connection.close()


def _query(cursor: Any) -> None:
    cursor.execute("SELECT 1").fetchone()


async def _asyncpg(dsn: str) -> AsyncIterator[Any]:
    import asyncpg  # type: ignore[import-untyped]  # noqa: PLC0415  # see `Probe`

    connection = await asyncpg.connect(dsn)
    yield connection
    await connection.close()


async def _fetch(connection: Any) -> None:
    await connection.fetchval("SELECT 1")


def _psycopg(dsn: str) -> Iterator[Any]:
    import psycopg  # noqa: PLC0415  # see `Probe`

    with psycopg.connect(dsn, autocommit=True) as connection:
        yield connection.cursor()


def _sqlalchemy() -> Iterator[Any]:
    import sqlalchemy  # noqa: PLC0415  # see `Probe`

    engine = sqlalchemy.create_engine("sqlite://")
    with engine.connect() as connection:
        yield connection, sqlalchemy.text("SELECT 1")
    engine.dispose()


def _select(given: Any) -> None:
    connection, statement = given
    connection.execute(statement).scalar()


def _redis(url: str) -> Iterator[Any]:
    import redis  # noqa: PLC0415  # see `Probe`

    with redis.Redis.from_url(url) as client:
        yield client


def _redis_get(client: Any) -> None:
    client.get("otel-fastpath bench")


LIBRARIES: Final = (
    Probe("FastAPI request", _request, _fastapi, needs=("fastapi",), instrumentations=("fastapi", "asgi")),
    Probe("Flask request", _wsgi_request, _flask, needs=("flask",), instrumentations=("flask", "wsgi")),
    Probe("httpx GET", _get, _httpx, needs=("httpx",), instrumentations=("httpx",)),
    Probe("requests GET", _get, _requests, needs=("requests",), instrumentations=("requests",)),
    Probe("OpenAI chat", _chat, _openai, needs=("openai", "httpx"), instrumentations=("openai", "openai_v2")),
    Probe("sqlite3 SELECT", _query, _sqlite, instrumentations=("sqlite3",)),
    Probe("SQLAlchemy SELECT", _select, _sqlalchemy, needs=("sqlalchemy",), instrumentations=("sqlalchemy",)),
    Probe("asyncpg fetchval", _fetch, _asyncpg, needs=("asyncpg",), instrumentations=("asyncpg",), server="dsn"),
    Probe("psycopg SELECT", _query, _psycopg, needs=("psycopg",), instrumentations=("psycopg",), server="dsn"),
    Probe("redis GET", _redis_get, _redis, needs=("redis",), instrumentations=("redis",), server="redis"),
)
