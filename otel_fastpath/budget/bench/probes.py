"""The operations that `bench` knows: a typical call of each library, without the network.

A probe's set-up is a generator that yields the argument of its call. It imports the library after the leg's
instrumentations have been loaded, and only if the library is installed.
"""

from __future__ import annotations

import asyncio
import io
import json
import logging
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterator

_ATTRIBUTES: Final[dict[str, str | int]] = {
    "http.request.method": "GET",
    "url.scheme": "http",
    "server.address": "localhost",
    "server.port": 8000,
    "http.route": "/items/{item_id}",
    "http.response.status_code": 200,
    "network.protocol.version": "1.1",
}
_FEW: Final = {"http.request.method": "GET", "http.route": "/items/{item_id}", "http.response.status_code": 200}


@dataclass(frozen=True)
class Probe:
    """One operation.

    Attributes:
        name: The name shown in tables.
        use: The call, which receives what the set-up yielded.
        setup: A generator function; it receives the data source name if `database` is set.
        needs: The modules that must be importable.
        only_telemetry: Whether the operation consists of telemetry only; its bare call is then empty.
        instrumentations: The entry points that hook this operation.
        database: Whether the probe needs a database.
    """

    name: str
    use: Callable[[Any], Any]
    setup: Callable[..., Any]
    needs: tuple[str, ...] = ()
    only_telemetry: bool = False
    instrumentations: tuple[str, ...] = ()
    database: bool = False


def _tracer() -> Iterator[Any]:
    from opentelemetry import trace  # noqa: PLC0415  # see the module's docstring

    yield trace.get_tracer("otel-fastpath bench")


def _span(tracer: Any) -> None:
    with tracer.start_as_current_span("GET /items/{item_id}"):
        pass


def _span_with_attributes(tracer: Any) -> None:
    with tracer.start_as_current_span("GET /items/{item_id}", attributes=_ATTRIBUTES):
        pass


def _exception() -> Iterator[Any]:
    from opentelemetry import trace  # noqa: PLC0415  # see the module's docstring

    def fall(depth: int) -> None:
        if depth:
            fall(depth - 1)
        raise ValueError("no such item")

    try:
        fall(5)
    except ValueError as error:
        yield trace.get_tracer("otel-fastpath bench"), error


def _record_exception(given: Any) -> None:
    tracer, error = given
    span = tracer.start_span("failed")
    span.record_exception(error)
    span.end()


def _counter() -> Iterator[Any]:
    from opentelemetry import metrics  # noqa: PLC0415  # see the module's docstring

    yield metrics.get_meter("otel-fastpath bench").create_counter("requests")


def _add(counter: Any) -> None:
    counter.add(1, _FEW)


def _histogram() -> Iterator[Any]:
    from opentelemetry import metrics  # noqa: PLC0415  # see the module's docstring

    yield metrics.get_meter("otel-fastpath bench").create_histogram("duration", unit="s")


def _record(histogram: Any) -> None:
    histogram.record(0.0173, _FEW)


def _headers() -> Iterator[Any]:
    from opentelemetry import propagate, trace  # noqa: PLC0415  # see the module's docstring

    with trace.get_tracer("otel-fastpath bench").start_as_current_span("caller"):
        yield propagate


def _propagate(propagate: Any) -> None:
    headers: dict[str, str] = {}
    propagate.inject(headers)
    propagate.extract(headers)


def _spans_to_encode() -> Iterator[Any]:
    from opentelemetry import trace  # noqa: PLC0415  # see the module's docstring
    from opentelemetry.exporter.otlp.proto.http import trace_exporter  # noqa: PLC0415  # likewise

    span = trace.get_tracer("otel-fastpath bench").start_span("GET /items/{item_id}", attributes=_ATTRIBUTES)
    span.end()
    yield trace_exporter, [span]


def _encode(given: Any) -> None:
    exporter, spans = given
    exporter.encode_spans(spans).SerializePartialToString()


def _logger() -> Iterator[Any]:
    logger = logging.getLogger("otel-fastpath bench")
    handler = logging.StreamHandler(io.StringIO())
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)
    yield logger, handler.stream
    logger.removeHandler(handler)


def _log(given: Any) -> None:
    logger, stream = given
    logger.info("item %s was bought", 4711)
    stream.seek(0)
    stream.truncate()


def _fastapi() -> Iterator[Any]:
    import fastapi  # noqa: PLC0415  # see the module's docstring

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


class _Pool:
    """Replaces the connection pool of httpx's transport, which is below what is instrumented."""

    def __init__(self, content: bytes) -> None:
        import httpcore  # noqa: PLC0415  # see the module's docstring

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
    import httpx  # noqa: PLC0415  # see the module's docstring

    transport = httpx.HTTPTransport()
    transport._pool = _Pool(content)  # type: ignore[assignment]
    return httpx.Client(transport=transport)


def _httpx() -> Iterator[Any]:
    yield _httpx_client(b'{"id": 4711}')


def _get(client: Any) -> None:
    client.get("http://localhost:8000/items/4711")


def _requests() -> Iterator[Any]:
    import requests  # noqa: PLC0415  # see the module's docstring

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
    import openai  # noqa: PLC0415  # see the module's docstring

    yield openai.OpenAI(api_key="none", base_url="http://localhost:8000/v1", http_client=_httpx_client(_ANSWER))


def _chat(client: Any) -> None:
    client.chat.completions.create(model="gpt-4o-mini", messages=[{"role": "user", "content": "What is item 4711?"}])


def _sqlite() -> Iterator[Any]:
    import sqlite3  # noqa: PLC0415  # see the module's docstring

    connection = sqlite3.connect(":memory:")
    yield connection.cursor()
    connection.close()


def _query(cursor: Any) -> None:
    cursor.execute("SELECT 1").fetchone()


async def _asyncpg(dsn: str) -> AsyncIterator[Any]:
    import asyncpg  # type: ignore[import-untyped]  # noqa: PLC0415  # see the module's docstring

    connection = await asyncpg.connect(dsn)
    yield connection
    await connection.close()


async def _fetch(connection: Any) -> None:
    await connection.fetchval("SELECT 1")


PROBES: Final = (
    Probe("span", _span, _tracer, only_telemetry=True),
    Probe("span, 7 attributes", _span_with_attributes, _tracer, only_telemetry=True),
    Probe("span with an exception, 6 frames", _record_exception, _exception, only_telemetry=True),
    Probe("counter.add, 3 attributes", _add, _counter, only_telemetry=True),
    Probe("histogram.record, 3 attributes", _record, _histogram, only_telemetry=True),
    Probe("inject and extract headers", _propagate, _headers, only_telemetry=True),
    Probe(
        "OTLP encoding of a span",
        _encode,
        _spans_to_encode,
        needs=("opentelemetry.exporter.otlp.proto.http",),
        only_telemetry=True,
    ),
    Probe("logging.info", _log, _logger, instrumentations=("logging",)),
    Probe("FastAPI request", _request, _fastapi, needs=("fastapi",), instrumentations=("fastapi", "asgi")),
    Probe("httpx GET", _get, _httpx, needs=("httpx",), instrumentations=("httpx",)),
    Probe("requests GET", _get, _requests, needs=("requests",), instrumentations=("requests",)),
    Probe("OpenAI chat", _chat, _openai, needs=("openai", "httpx"), instrumentations=("openai", "openai_v2")),
    Probe("sqlite3 SELECT", _query, _sqlite, instrumentations=("sqlite3",)),
    Probe("asyncpg fetchval", _fetch, _asyncpg, needs=("asyncpg",), instrumentations=("asyncpg",), database=True),
)
