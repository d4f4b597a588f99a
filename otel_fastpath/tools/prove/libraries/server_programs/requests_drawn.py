"""Requests to servers, drawn at random."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from opentelemetry.instrumentation import propagators

from otel_fastpath.tools.prove.libraries.modes import around, in_mode

if TYPE_CHECKING:
    import random
    from collections.abc import Callable, Iterable

    from otel_fastpath.tools.prove.program import ProgramRun
    from otel_fastpath.tools.prove.telemetry_kept import KeptTelemetry

_PARENT: Final = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
_REQUESTS: Final = 12
# aiohttp.web refuses what is not registered.
_METHODS: Final = ("GET", "GET", "GET", "POST", "HEAD", "ODD", "PROPFIND")
# What the applications answer: the text of an item, this status, an error before or after the beginning of an answer.
PATHS: Final = (
    *("/items/3", "/items/4", "/items/8", "/items/9", "/status/404", "/status/500", "/status/304"),
    *("/health", "/nowhere", "/boom"),
)
# Starlette's answers to them have no length, and stock records that of an earlier one: docs/differences.md. Those that
# ask for them have an application of their own each.
ALONE: Final = ("/boom", "/status/304")
# Without secrets, which stock does not redact everywhere: docs/differences.md.
_QUERIES: Final = ("", "a=1", "b=2&c=", "q=%20x")
_AGENTS: Final = ("tests", "googlebot/2.1", "alwayson", "", None)
_SPARE_HEADERS: Final = (
    ("traceparent", (_PARENT,)),
    ("tracestate", ("vendor=value",)),
    ("baggage", ("key=value", "key=value,other=1")),
    ("x-user", ("ann", "ann", "Zo\xeb")),
    ("x-secret", ("hidden",)),
    ("content-length", ("3", "3", "many")),
)
_HOSTS: Final = ("shop:8000", "shop:80", "shop")
# Django answers those that it cannot read, which is a difference: docs/differences.md.
ODD_HOSTS: Final = (*_HOSTS, "shop:many", "[::1", "ann:pass@shop", "shop/path", "")
_ROUND: Final = 5


class AppError(Exception):
    """What the applications raise."""


class Request(NamedTuple):
    """A request.

    Attributes:
        method: Its method.
        path: One of `PATHS`.
        query: Its query.
        headers: Names in lower case, and values.
        scheme: "http" or "https".
        version: That of HTTP, as "1.1".
        has_client: Whether the address of the client is known.
    """

    method: str
    path: str
    query: str
    headers: tuple[tuple[str, str], ...]
    scheme: str
    version: str
    has_client: bool


# For applications that are not instrumented any more.
ALWAYS_SERVED: Final = Request("GET", "/items/3", "a=1", (("host", "shop"),), "http", "1.1", has_client=True)


def draw_request(draw: random.Random, paths: tuple[str, ...], hosts: tuple[str, ...]) -> Request:
    """A request for one of these paths, to one of these hosts."""
    headers = [("host", draw.choice(hosts))] if draw.randrange(_ROUND) else []
    headers += [(name, draw.choice(texts)) for name, texts in _SPARE_HEADERS if draw.randrange(2)]
    agent = draw.choice(_AGENTS)
    return Request(
        draw.choice(_METHODS),
        draw.choice(paths),
        draw.choice(_QUERIES),
        (*headers, *([] if agent is None else [("user-agent", agent)])),
        draw.choice(("http", "http", "https")),
        draw.choice(("1.1", "1.1", "1.0", "2")),
        draw.randrange(_ROUND) > 0,
    )


def as_scope(request: Request) -> dict[str, Any]:
    """The request as a scope of ASGI."""
    return {
        "type": "http",
        "asgi": {"version": "3.0"},
        "method": request.method,
        "http_version": request.version,
        "scheme": request.scheme,
        "path": request.path,
        "raw_path": request.path.encode(),
        "root_path": "",
        "query_string": request.query.encode(),
        "headers": [(name.encode(), text.encode("latin-1")) for name, text in request.headers],
        "client": ("127.0.0.1", 5000) if request.has_client else None,
        "server": ("127.0.0.1", 8000),
    }


def as_environ(request: Request) -> dict[str, Any]:
    """The request as an environ of WSGI."""
    names = {"content-length": "CONTENT_LENGTH"}
    return {
        "REQUEST_METHOD": request.method,
        "SCRIPT_NAME": "",
        "PATH_INFO": request.path,
        "QUERY_STRING": request.query,
        "SERVER_NAME": "127.0.0.1",
        "SERVER_PORT": "8000",
        "SERVER_PROTOCOL": f"HTTP/{request.version}",
        **({"REMOTE_ADDR": "127.0.0.1", "REMOTE_PORT": "5000"} if request.has_client else {}),
        **{names.get(name, f"HTTP_{name.upper().replace('-', '_')}"): text for name, text in request.headers},
        "wsgi.version": (1, 0),
        "wsgi.url_scheme": request.scheme,
        "wsgi.input": io.BytesIO(b"abc"),
        "wsgi.errors": io.StringIO(),
        "wsgi.multithread": True,
        "wsgi.multiprocess": False,
        "wsgi.run_once": False,
    }


def status_of(path: str) -> Any:
    """The status that a path asks for.

    Raises:
        AppError: It asks for an error.
    """
    if path == "/boom":
        raise AppError
    if path == "/status/odd":
        # Of WSGI and ASGI alone: frameworks make numbers of it.
        return "odd"
    return int(path.rpartition("/")[2]) if path.startswith("/status/") else 404 if path == "/nowhere" else 200


def serve(
    run: ProgramRun,
    telemetry: KeptTelemetry,
    ask: Callable[[Request], Any],
    paths: tuple[str, ...] = PATHS,
    hosts: tuple[str, ...] = _HOSTS,
) -> None:
    """Ask for drawn requests, in two halves, in one of the modes.

    Args:
        run: The run.
        telemetry: Its telemetry.
        ask: Lets the application serve a request.
        paths: What is asked for.
        hosts: Whom the requests name as their host.
    """
    stock: Any = propagators
    before = stock.get_global_response_propagator()
    with in_mode(run):
        # Servers read it for each request.
        stock.set_global_response_propagator(stock.TraceResponsePropagator() if run.seed % 3 == 1 else before)
        try:
            for _ in run.halves():
                for _ in range(_REQUESTS):
                    run.attempt(_ask, run, telemetry, lambda draw: ask(draw_request(draw, paths, hosts)))
        finally:
            stock.set_global_response_propagator(before)


def _ask(run: ProgramRun, telemetry: KeptTelemetry, ask: Callable[[random.Random], Any]) -> Any:
    with around(run, telemetry):
        return ask(run.draw)


def call_wsgi(app: Any, request: Request, **more: str) -> tuple[Any, ...]:
    """What an application of WSGI answers; `more` is in the environ."""
    found: list[Any] = []
    environ = as_environ(request) | more
    body: Iterable[bytes] = app(environ, lambda status, headers, *_: found.append((status, len(headers))))
    try:
        found.extend(body)
    finally:
        if hasattr(body, "close"):
            body.close()
    return tuple(found)
