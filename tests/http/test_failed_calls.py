"""Calls of httpx and urllib3 that fail: the span has the type of the error, and their duration is recorded."""

from __future__ import annotations

import pytest
from clientcheck import World

httpx = pytest.importorskip("httpx")
urllib3 = pytest.importorskip("urllib3")
httpx_stock = pytest.importorskip("opentelemetry.instrumentation.httpx")
urllib3_stock = pytest.importorskip("opentelemetry.instrumentation.urllib3")

# Nobody listens there.
NOWHERE = "http://127.0.0.1:1/a?sig=SECRET&b=c"


def with_httpx():
    """A call of httpx."""
    with httpx.Client(trust_env=False) as client, pytest.raises(httpx.ConnectError):
        client.get(NOWHERE)


def with_urllib3():
    """A call of urllib3."""
    with urllib3.PoolManager(retries=False) as pools, pytest.raises(urllib3.exceptions.NewConnectionError):
        pools.request("GET", NOWHERE)


LIBRARIES = {
    "httpx": (httpx_stock.HTTPXClientInstrumentor, with_httpx, "ConnectError"),
    "urllib3": (urllib3_stock.URLLib3Instrumentor, with_urllib3, "NewConnectionError"),
}


@pytest.mark.usefixtures("instrumented")
@pytest.mark.parametrize("library", LIBRARIES)
def test_a_refused_connection(conventions, no_faults, library):
    """In each mode of the conventions; a secret in the query is in none of the attributes."""
    kind, call, error = LIBRARIES[library]
    world = World()
    kind().instrument(tracer_provider=world.tracers, meter_provider=world.meters)
    try:
        call()
    finally:
        kind().uninstrument()

    [span], points = world.seen()
    attributes = dict(span[2])
    assert span[3].name == "ERROR"
    assert attributes.get("error.type") == (error if conventions else None)
    assert "SECRET" not in str(attributes)
    found = {name: seen for _, name, _, seen, count in points if name.endswith("duration") and count == 1}
    names = {"": {"http.client.duration"}, "http": {"http.client.request.duration"}}
    assert set(found) == names.get(conventions, names[""] | names["http"])
    if conventions:
        assert found["http.client.request.duration"]["error.type"] == error
        assert found["http.client.request.duration"]["server.address"] == "127.0.0.1"
    assert no_faults.counts() == {}
