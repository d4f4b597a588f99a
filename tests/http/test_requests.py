"""Calls of requests emit what they emit with the stock instrumentation's own hook."""

from __future__ import annotations

import urllib.parse
from types import SimpleNamespace

import pytest
import requests
from clientcheck import Call, World, stocks_own_hooks
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from opentelemetry import context
from opentelemetry.instrumentation import requests as stock
from opentelemetry.instrumentation.utils import is_http_instrumentation_enabled
from requests.adapters import BaseAdapter

SERVERS = st.sampled_from(
    [
        *("http://localhost:8000", "https://example.org", "http://a", "http://EXAMPLE.org:80", "https://u:p@h:444"),
        *("http://[::1]:8000", "https://xn--fiqs8s.icom.museum", "http://u@h", "http://h:99999", "ftp://h"),
    ]
)
PATHS = st.text(alphabet="abc.-_0:;@%?&=/+~ é中'\"|[]{}\\^`<>", max_size=12).map(lambda text: "/" + text)
QUERIES = st.sampled_from(["", "?q=1", "?sig=SECRET&a=%20b", "?Signature=a+b&x", "?%73ig=1", "?a=http://x@y/", "#f"])
CALLS = st.builds(
    Call,
    method=st.sampled_from(["GET", "POST", "get", "QUERY", "PURGE"]),
    url=st.builds("".join, st.tuples(SERVERS, PATHS, QUERIES)),
    status=st.sampled_from([200, 200, 301, 404, 500, 99, 0, -404]),
    headers=st.sampled_from([{}, {"x-answer": "1", "user-agent": "GoogleBot/2.1"}, {"User-Agent": b"alwayson"}]),
    version=st.sampled_from(["11", "10", "0", ""]),
    is_suppressed=st.booleans(),
    parent=st.sampled_from(["", "sampled", "dropped"]),
)
PROOF = settings(max_examples=15, deadline=None, suppress_health_check=list(HealthCheck))


class Stub(BaseAdapter):
    """Answers in the place of a server, and notes the headers that it gets and the context in which it is called."""

    def __init__(self, call, outcomes):
        super().__init__()
        self.call = call
        self.outcomes = outcomes

    def send(self, request, **_more):
        """As a server would."""
        state = context.get_value("httpbase_instrumentation_state")
        found = [name.lower() for name in request.headers], is_http_instrumentation_enabled()
        self.outcomes.append((*found, state and [span.is_recording() for span in state["need_ip"]]))
        response = requests.Response()
        response.status_code = abs(self.call.status)
        response.headers.update({"x-answer": "1"})
        response.request, response.url, response._content = request, request.url, b""
        response.raw = SimpleNamespace(version=int(self.call.version)) if self.call.version else None
        if self.call.status > 0:
            return response
        raise requests.ConnectionError("refused", response=response if self.call.status else None)

    def close(self):
        """There is nothing to close."""


def _run(calls, hooks):
    world, outcomes = World(), []
    instrumentor = stock.RequestsInstrumentor()
    instrumentor.instrument(tracer_provider=world.tracers, meter_provider=world.meters, **hooks)
    try:
        for call in calls:
            outcomes.append(_outcome(world, call, outcomes))
    finally:
        instrumentor.uninstrument()
    return outcomes, world.seen()


def _outcome(world, call, outcomes):
    with requests.Session() as session, world.around(call):
        for scheme in ("http://", "https://"):
            session.mount(scheme, Stub(call, outcomes))
        try:
            request = requests.Request(call.method, call.url, headers=call.headers | {"authorization": "secret"})
            prepared = session.prepare_request(request)
            return session.send(prepared, allow_redirects=False).status_code
        except Exception as error:
            return type(error), str(error)


def _hooks(kind):
    def request_hook(span, request):
        span.set_attribute("hook.request", f"{request.method} {request.url} {is_http_instrumentation_enabled()}")
        if kind == "raising":
            raise LookupError("the hook failed")

    def response_hook(span, request, response):
        span.set_attribute("hook.response", f"{request.url} {response.status_code}")

    return {"request_hook": request_hook, "response_hook": response_hook} if kind else {}


@pytest.mark.proves("requests.send")
@pytest.mark.usefixtures("conventions")
def test_random_calls(instrumented, no_faults):
    """Whatever the method, the URL and the answer are, with hooks and without, sampled or not."""

    @PROOF
    @given(calls=st.lists(CALLS, min_size=1, max_size=6), kind=st.sampled_from(["", "", "plain", "raising"]))
    def holds(calls, kind):
        with stocks_own_hooks(instrumented, "requests."):
            expected = _run(calls, _hooks(kind))
        assert _run(calls, _hooks(kind)) == expected
        assert no_faults.counts() == {}

    holds()


@pytest.mark.usefixtures("conventions")
def test_configured(instrumented, no_faults, monkeypatch):
    """Captured headers, also sanitized, and excluded URLs."""
    monkeypatch.setenv("OTEL_INSTRUMENTATION_HTTP_CAPTURE_HEADERS_CLIENT_REQUEST", "auth.*")
    monkeypatch.setenv("OTEL_INSTRUMENTATION_HTTP_CAPTURE_HEADERS_CLIENT_RESPONSE", "x-answer")
    monkeypatch.setenv("OTEL_INSTRUMENTATION_HTTP_CAPTURE_HEADERS_SANITIZE_FIELDS", "authorization")
    calls = [Call(version="11"), Call(url="http://h/health", version=""), Call(status=500, version="11")]

    with stocks_own_hooks(instrumented, "requests."):
        expected = _run(calls, {"excluded_urls": "health"})

    assert len(expected[1][0]) == 2
    assert dict(expected[1][0][0][2])["http.request.header.authorization"] == ("[REDACTED]",)
    assert _run(calls, {"excluded_urls": "health"}) == expected
    assert no_faults.counts() == {}


def test_instrumented_before_and_after(instrumentor, core, monkeypatch):
    """The order does not matter, and stock's uninstrumenting restores the very same method."""
    calls = []
    send = requests.Session.send
    # Stock calls it for each call, ours for each new method and server.
    parse = stock.urlparse
    monkeypatch.setattr(stock, "urlparse", lambda url: (calls.append(url), parse(url))[1])
    stock.RequestsInstrumentor().instrument()
    try:
        wrapper = requests.Session.send
        code = wrapper.__code__
        for is_ours in (True, False, True):
            if is_ours:
                instrumentor.instrument(core=core)
            elif instrumentor.is_instrumented_by_opentelemetry:
                instrumentor.uninstrument()
            assert requests.Session.send is wrapper
            for _ in range(3):
                assert _outcome(World(), Call(version="11"), []) == 200
            assert len(calls) == (0 if is_ours else 3)
            calls.clear()
        instrumentor.uninstrument()
        assert wrapper.__code__ is code
    finally:
        stock.RequestsInstrumentor().uninstrument()
    assert requests.Session.send is send


@pytest.mark.usefixtures("instrumented")
def test_a_fault_of_ours_does_not_reach_the_host(no_faults, monkeypatch):
    """The call is made once, and stock's code runs."""
    # Calling it raises a TypeError in our own function; stock has it by name.
    monkeypatch.setattr(urllib.parse, "urlparse", None)
    outcomes, (spans, _) = _run([Call(version="11")], {})

    assert outcomes[-1] == 200
    assert len(outcomes) == 2
    assert len(spans) == 1
    assert sum(no_faults.counts().values()) == 1
