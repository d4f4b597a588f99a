"""An application adds names to lists of stock's: which attributes a metric has, and which parameters are redacted."""

from __future__ import annotations

import sys
from contextlib import ExitStack
from unittest import mock

import pytest
import users
from client_hosts import CLIENTS, serving
from combinations import crossed
from opentelemetry.instrumentation import _semconv
from opentelemetry.util import http
from server_hosts import ASGI, SERVERS, environ, scope

from otel_fastpath import compiled

pytestmark = [
    pytest.mark.filterwarnings("ignore:Inheritance class _InstrumentedApplication:DeprecationWarning"),
]
# As they are before a test changes them.
for _core in ("c", "py"):
    compiled.load("http.conventions", _core)
LISTS = sorted(name for name, value in vars(_semconv).items() if isinstance(value, list))
# What one request has, and another of its kind has not.
NAMES = ("http.target", "http.url", "net.peer.ip", "url.path", "url.full", "client.address", "user_agent.original")
PATHS = ("/items/3", "/items/4", "/items/3")
QUERY = "api_key=secret&a=1"


@pytest.fixture(scope="module")
def server():
    """The URL of a server for the clients."""
    with serving() as url:
        yield url


def _run(name, url):
    """The host, called with paths and addresses of different users."""
    if name in CLIENTS:
        calls = [("GET", f"{{url}}/200?{QUERY}{number}") for number in range(3)]
        return lambda given: CLIENTS[name](given, url, calls)
    if name == "aiohttp.web":
        requests = [(f"{path}?{QUERY}", {}) for path in PATHS]
    elif name in ASGI:
        requests = [
            scope(path, query_string=QUERY.encode(), client=(f"10.0.0.{number}", 5000))
            for number, path in enumerate(PATHS)
        ]
    else:
        requests = [
            environ(path, QUERY_STRING=QUERY, REMOTE_ADDR=f"10.0.0.{number}") for number, path in enumerate(PATHS)
        ]
    return lambda given: SERVERS[name](given, requests)


def _extend(stack):
    """Add to the lists themselves."""
    for name in LISTS:
        own = getattr(_semconv, name)
        stack.callback(own.__setitem__, slice(None), own.copy())
        own.extend(NAMES)
    redacted = http.PARAMS_TO_REDACT
    stack.callback(redacted.__setitem__, slice(None), redacted.copy())
    redacted.append("api_key")


def _replace(stack):
    """Put other lists where the instrumentations have stock's."""
    for name in LISTS:
        made = [*getattr(_semconv, name), *NAMES]
        for module in [found for key, found in sys.modules.items() if key.startswith("opentelemetry.instrumentation.")]:
            if name in vars(module):
                stack.enter_context(mock.patch.object(module, name, made))
    stack.enter_context(mock.patch.object(http, "PARAMS_TO_REDACT", [*http.PARAMS_TO_REDACT, "api_key"]))


@pytest.mark.parametrize(
    ("name", "is_before", "change"), crossed([*SERVERS, *CLIENTS], [False, True], [_extend, _replace])
)
@pytest.mark.usefixtures("conventions")
def test_it_is_as_with_stock(instrumentor, core, server, name, is_before, change):
    """Before this package instruments, or once it has learnt what requests of a kind have in common."""
    run = _run(name, server)
    with ExitStack() as changes:
        change(changes)
        expected = users.telemetry(run, {})
    with ExitStack() as changes:
        if is_before:
            change(changes)
        instrumentor.instrument(core=core, disabled="exceptions")
        if not is_before:
            users.telemetry(run, {})
            change(changes)
        found = users.telemetry(run, {})
        instrumentor.uninstrument()
    assert found == expected
