"""What one might take for a fault of this package, and is as with OpenTelemetry alone: see differences.toml."""

from __future__ import annotations

from asgicheck import scope, serve
from opentelemetry.instrumentation import _semconv


def _only(both_ways, recorded, **request):
    """The name and attributes of the request's own span, which are the same on both ways."""

    def run():
        given = {key: value for key, value in scope(**request).items() if value is not None}
        spans, _, _ = serve(recorded, [given])
        return spans[-1][0], dict(spans[-1][2])

    stock, ours = both_ways(run)
    assert ours == stock
    return ours


def test_the_name_of_a_websocket(both_ways, recorded):
    """It begins with HTTP: a websocket has no method."""
    name, _ = _only(both_ways, recorded, type="websocket", path="/chat", method=None)
    assert name == "HTTP /chat"


def test_a_unix_socket(both_ways, recorded):
    """Its path has a port that is None."""
    _, attributes = _only(both_ways, recorded, server=("/run/app.sock", None))
    assert attributes["http.host"] == "/run/app.sock:None"


def test_the_address_of_the_server_has_its_port(both_ways, recorded, monkeypatch):
    """`server.address` is not the host alone, and not that of the Host header."""
    monkeypatch.setenv("OTEL_SEMCONV_STABILITY_OPT_IN", "http")
    monkeypatch.setattr(_semconv._OpenTelemetrySemanticConventionStability, "_initialized", False)
    _, attributes = _only(both_ways, recorded)
    assert attributes["server.address"] == "127.0.0.1:8000"
