"""Calls of urllib3."""

from __future__ import annotations

import io
import socket
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

import urllib3
from opentelemetry.instrumentation.urllib3 import URLLib3Instrumentor
from urllib3.connection import HTTPConnection
from urllib3.connectionpool import HTTPConnectionPool

from otel_fastpath.tools.prove.libraries.calls_drawn import EXCLUDED, DrawnCall, call_servers, url_served

if TYPE_CHECKING:
    from otel_fastpath.tools.prove.program import ProgramRun

_OPTIONS: Final[tuple[dict[str, Any], ...]] = (
    {},
    {"url_filter": lambda url: url.partition("?")[0]},
    {"excluded_urls": EXCLUDED},
)


class _LocalConnection(HTTPConnection):
    """A connection with the server of these programs, whatever its port is said to be."""

    def _new_conn(self) -> socket.socket:
        return socket.create_connection(("127.0.0.1", urlsplit(url_served()).port or 0))


class _LocalPool(HTTPConnectionPool):
    """A pool of such connections."""

    ConnectionCls = _LocalConnection


class _OddConnection(_LocalConnection):
    """One whose answers have a status that is no number."""

    def getresponse(self) -> Any:
        """The answer."""
        answer: Any = super().getresponse()
        answer.status = "odd"
        return answer


class _OddPool(HTTPConnectionPool):
    """A pool of those."""

    ConnectionCls = _OddConnection


class _SecretPool(_LocalPool):
    """One that says that it is of HTTPS."""

    scheme = "https"


def _ask_pool(pool: HTTPConnectionPool, url: str = "/200") -> tuple[Any, bytes]:
    with pool:
        answer = pool.urlopen("GET", url, retries=False, assert_same_host=False)
        return answer.status, answer.data


def _ask_wrongly() -> Any:
    return _LocalPool("shop").urlopen()  # type: ignore[call-arg]  # it is to fail


def run_urllib3(run: ProgramRun) -> None:
    """Calls of a pool manager, and of pools."""
    with urllib3.PoolManager(retries=False) as client:

        def ask(call: DrawnCall) -> tuple[int, bytes]:
            body: Any = call.body
            if body is not None:
                body = run.draw.choice((body, io.BytesIO(body), iter([body, body]), [body]))
            answer = client.request(call.method, call.url, headers=call.headers, body=body)
            return answer.status, answer.data

        also = (
            lambda: _ask_pool(_LocalPool("shop")),
            lambda: _ask_pool(_LocalPool("shop", 80)),
            lambda: _ask_pool(_SecretPool("shop", 443)),
            lambda: _ask_pool(_SecretPool("shop", 80)),
            # As a proxy is asked.
            lambda: _ask_pool(_LocalPool("proxy", 3128), "http://shop/200"),
            lambda: _ask_pool(_OddPool("shop")),
            _ask_wrongly,
        )
        options = _OPTIONS[run.seed % len(_OPTIONS)]
        call_servers(run, URLLib3Instrumentor(), ask, is_difficult=False, also=also, **options)


PROGRAM: Final = run_urllib3
