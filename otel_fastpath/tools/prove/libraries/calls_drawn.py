"""A server on a loopback port, and calls to it, drawn at random."""

from __future__ import annotations

import functools
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from otel_fastpath.tools.prove.libraries.modes import around, hooks, in_mode, instrumented, providers

if TYPE_CHECKING:
    import random
    from collections.abc import Callable, Sequence

    from otel_fastpath.tools.prove.program import ProgramRun
    from otel_fastpath.tools.prove.telemetry_kept import KeptTelemetry

HOOKS: Final = ("request_hook", "response_hook")
_CALLS: Final = 6
_METHODS: Final = ("GET", "GET", "POST", "ODD")
_PATHS: Final = ("/200", "/200?a=1", "/404", "/500", "/304", "/items/9")
_HEADERS: Final = (("x-user", "ann"), ("x-secret", "hidden"), ("user-agent", "googlebot"))
# Whatever the client is asked for.
EXCLUDED: Final = "items/9,a=1"
# A port at which there is no server.
_REFUSED: Final = "http://127.0.0.1:1"
_RARE: Final = 6


class _AnsweringHandler(BaseHTTPRequestHandler):
    """Answers with the status that the path names."""

    def do_GET(self) -> None:
        """Answer."""
        self.rfile.read(int(self.headers.get("content-length") or 0))
        text = self.path.partition("?")[0].strip("/")
        self.send_response(int(text) if text.isdecimal() else 200)
        self.send_header("Content-Length", "2")
        self.send_header("X-Answer", "yes")
        self.end_headers()
        if text != "304":
            self.wfile.write(b"ok")

    do_POST = do_ODD = do_GET  # noqa: N815  # the names are the base's

    def date_time_string(self, *_args: Any) -> str:
        """The same in each run."""
        return "Sat, 28 Nov 2026 00:00:00 GMT"

    def log_message(self, *_args: Any) -> None:
        """Log nothing."""


@functools.cache
def url_served() -> str:
    """The URL of a server that runs as long as this process."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), _AnsweringHandler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return f"http://127.0.0.1:{server.server_port}"


class DrawnCall(NamedTuple):
    """A call of a client: its method, URL, headers and body."""

    method: str
    url: str
    headers: dict[str, str]
    body: bytes | None


def draw_call(draw: random.Random, *, is_difficult: bool) -> DrawnCall:
    """A call; a difficult one may be refused, or have a password in its URL."""
    method = draw.choice(_METHODS)
    server, path = url_served(), draw.choice(_PATHS)
    if is_difficult and draw.randrange(_RARE) == 0:
        server, path = _REFUSED, "/"
    elif is_difficult and draw.randrange(_RARE) == 0:
        # The port may have the same figures as the path.
        server, path = server.replace("http://", "http://user:password@"), path.replace("200", "200?sig=secret")
    headers = {name: text for name, text in _HEADERS if draw.randrange(2)}
    return DrawnCall(method, f"{server}{path}", headers, b"abc" if method == "POST" else None)


def call_servers(
    run: ProgramRun,
    instrumentor: Any,
    ask: Callable[[DrawnCall], Any],
    names: Sequence[str] = HOOKS,
    *,
    is_difficult: bool = True,
    also: Sequence[Callable[[], Any]] = (),
    **options: Any,
) -> None:
    """Make drawn calls, in two halves, in one of the modes, while the library is instrumented.

    Args:
        run: The run.
        instrumentor: Stock's.
        ask: Makes a call.
        names: The names of the hooks that the instrumentor takes.
        is_difficult: See `draw_call`; what some of stock's instrumentations record of such calls is not right:
            docs/differences.md.
        also: Further steps of each half.
        options: Further arguments for the instrumentor.
    """
    # It is no part of what is seen.
    url_served()
    telemetry = run.telemetry()
    make = functools.partial(_make, run, telemetry, ask, is_difficult=is_difficult)
    given = providers(telemetry) | hooks(run, names) | options
    with in_mode(run), instrumented(run, telemetry, instrumentor, make, **given):
        for _ in run.halves():
            for _ in range(_CALLS):
                run.attempt(make)
            for each in also:
                run.attempt(each)


def _make(run: ProgramRun, telemetry: KeptTelemetry, ask: Callable[[DrawnCall], Any], *, is_difficult: bool) -> Any:
    call = draw_call(run.draw, is_difficult=is_difficult)
    with around(run, telemetry):
        return ask(call)
