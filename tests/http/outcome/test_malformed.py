"""What a server or a middleware must not put into a request: it is served as with stock, and is no fault of ours."""

from __future__ import annotations

import pytest
import users
from newer_releases import flask_counts_out
from odd_values import ODD, ODD_IDS
from opentelemetry.instrumentation.asgi import OpenTelemetryMiddleware
from opentelemetry.util.http import ExcludeList
from server_hosts import SERVERS, environ, run, scope

from otel_fastpath.http.servers.malformed import is_malformed_environ, is_malformed_scope

MALFORMED = {
    "a query that is a text": {"query_string": "a=1"},
    "an address without a port": {"client": ("a",)},
    "a header whose name cannot be a key": {"headers": [(bytearray(b"host"), b"h")]},
    "a header of three": {"headers": [(b"host", b"h", b"more")]},
    "no path": {"path": None},
}
ENVIRONS = {
    "a protocol that is a number": {"SERVER_PROTOCOL": 5},
    "a method that is a list": {"REQUEST_METHOD": ["GET"]},
    "a port that is no number": {"SERVER_PORT": "http"},
    "an address that is a pair": {"REMOTE_ADDR": ("1.2.3.4", 5), "REMOTE_PORT": ("a",)},
    "a parent that is bytes": {"HTTP_TRACEPARENT": b"00"},
}


def _served(names, make, changes):
    return [
        pytest.param(name, make, changes[each], id=f"{name}, {each}", marks=flask_counts_out if name == "flask" else ())
        for name in names
        for each in changes
    ]


@pytest.mark.parametrize(
    ("name", "make", "change"),
    [*_served(("asgi", "FastAPI's own"), scope, MALFORMED), *_served(("wsgi", "flask", "django"), environ, ENVIRONS)],
)
def test_the_outcome_is_stocks(instrumentor, core, no_faults, name, make, change):
    """Also the exception that stock lets a request fail with."""
    requests = [make("/items/3"), make("/items/3", **change), make("/items/4")]
    expected = users.telemetry(lambda given: SERVERS[name](given, requests), {})
    instrumentor.instrument(core=core, disabled="exceptions")
    found = users.telemetry(lambda given: SERVERS[name](given, requests), {})

    assert found == expected
    assert no_faults.counts() == {}


@pytest.mark.parametrize("change", ENVIRONS)
def test_an_environ_is_malformed(change):
    """Each of them, and no usual request."""
    assert is_malformed_environ(environ("/", **ENVIRONS[change]))
    assert not is_malformed_environ(environ("/", REMOTE_ADDR="1.2.3.4", REMOTE_PORT="5000"))


@pytest.mark.parametrize("value", ODD, ids=ODD_IDS)
def test_to_ask_for_an_environ_raises_nothing(value):
    """Also of a port that cannot be compared, or is neither true nor false: the question is asked after an error."""
    assert is_malformed_environ(environ("/", SERVER_PORT=value))


@pytest.mark.parametrize("change", MALFORMED)
def test_it_is_malformed(change):
    """Each of them, and no usual request."""
    assert is_malformed_scope(scope("/", **MALFORMED[change]))
    assert not is_malformed_scope(scope("/"))
    assert not is_malformed_scope({"type": "websocket", "path": "/", "headers": []})


def test_a_method_of_a_list_of_urls_is_asked(instrumentor, core):
    """Stock calls what was put on the object itself."""
    instrumentor.instrument(core=core)
    urls = ExcludeList(["never"])
    urls.url_disabled = lambda url: "/3" in url

    def host(given):
        async def app(_scope, _receive, _send):
            pass

        async def main():
            middleware = OpenTelemetryMiddleware(app, excluded_urls="never", **given)
            middleware.excluded_urls = urls
            for path in ("/items/3", "/items/4"):
                await middleware(scope(path), None, None)

        run(main)

    found = users.telemetry(host, {})
    assert "/items/4" in found
    assert "/items/3" not in found
