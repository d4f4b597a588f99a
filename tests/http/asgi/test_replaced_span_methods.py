"""Methods of spans that other code has replaced are called: a server's hook does not do their work itself then."""

from __future__ import annotations

import pytest
from asgicheck import scope, serve
from opentelemetry.sdk.trace import Span

pytestmark = pytest.mark.proves("asgi.request")


def _replacement(method, calls):
    def replaced(self, *args):
        calls.append((method.__name__, args))
        return method(self, *args)

    return replaced


@pytest.mark.parametrize("name", ["set_attribute", "set_attributes", "end"])
def test_in_their_class(instrumentor, core, recorded, monkeypatch, name):
    """Also while the package is active."""
    instrumentor.instrument(core=core)
    before, _, _ = serve(recorded, [scope()])
    calls = []
    monkeypatch.setattr(Span, name, _replacement(getattr(Span, name), calls))
    after, _, _ = serve(recorded, [scope()])
    assert after == before
    if name != "set_attributes":
        assert calls


@pytest.mark.parametrize("name", ["set_attribute", "end"])
def test_of_one_span(both_ways, recorded, name):
    """As a hook may do."""

    def run():
        calls = []

        def hook(span, _scope):
            method = getattr(span, name)
            setattr(span, name, lambda *args: (calls.append(args), method(*args)))

        spans, _, _ = serve(recorded, [scope()], keywords={"server_request_hook": hook})
        return spans, calls

    stock, ours = both_ways(run)
    assert ours == stock
    assert ours[1]
