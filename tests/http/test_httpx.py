"""Calls of httpx and httpx2 emit what they emit with the stock instrumentation's own hooks."""

from __future__ import annotations

import asyncio
import copy
import functools
import importlib
import importlib.util

import httpx
import pytest
from clientcheck import Call, World, stocks_own_hooks, told_by_both
from combinations import crossed
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from newer_releases import needs
from opentelemetry.instrumentation import httpx as stock
from opentelemetry.util import http as util
from opentelemetry.util.http import parse_excluded_urls

from otel_fastpath.http.clients import kinds
from otel_fastpath.patching.swapping import swap

# Newer releases of openai bring httpx2.
MODULES = [
    httpx,
    importlib.import_module("httpx2")
    if importlib.util.find_spec("httpx2")
    else pytest.param(None, marks=pytest.mark.skip(reason="httpx2 is not installed")),
]
ODD = "0:;@%?&=/+~ é中'\"|[]{}\\^`<>"
PATHS = st.text(alphabet="abc.-_" + ODD, max_size=12).map(lambda text: "/" + text)
QUERIES = st.sampled_from(
    [
        "",
        "?q=1",
        "?sig=SECRET&a=%20b",
        "?Signature=a+b&x",
        "?AWSAccessKeyId=",
        "?%73ig=1",
        "?a=http://x@y/",
        "#frag",
        "?",
    ]
)
SERVERS = st.sampled_from(
    [
        *("http://localhost:8000", "https://example.org", "http://a", "http://EXAMPLE.org:80", "https://u:p@h:444"),
        *("http://[::1]:8000", "https://中国.icom.museum", "http://xn--fiqs8s.icom.museum:1", "http://u@h", "ftp://h"),
    ]
)
CALLS = st.builds(
    Call,
    method=st.sampled_from(["GET", "POST", "get", "Patch", "QUERY", "PURGE", "BREW-1"]),
    url=st.builds("".join, st.tuples(SERVERS, PATHS, QUERIES)),
    status=st.sampled_from([200, 200, 204, 301, 404, 500, 99, 0, -404]),
    headers=st.sampled_from([{}, {"x-answer": "1", "set-cookie": "secret"}]),
    version=st.sampled_from(["HTTP/1.1", "HTTP/2", ""]),
    is_suppressed=st.booleans(),
    parent=st.sampled_from(["", "sampled", "dropped"]),
)
PROOF = settings(max_examples=15, deadline=None, suppress_health_check=list(HealthCheck))


class Refused(httpx.ConnectError):
    """An exception with a response, as a transport of a user's own may raise."""

    response = None


def _answer(module, call, request):
    status = abs(call.status)
    extensions = {"http_version": call.version.encode()} if call.version else {}
    response = module.Response(status or 200, headers=call.headers, request=request, extensions=extensions)
    if call.status > 0:
        return response
    error = Refused("no connection")
    error.response = response if call.status else None
    raise error


def _run(module, calls, hooks, monkeypatch, through):
    """What a run of these calls emits, and what their caller gets."""
    world, outcomes, current = World(), [], []
    options = {"tracer_provider": world.tracers, "meter_provider": world.meters}

    def handle_request(_transport, request):
        outcomes.append(sorted(name for name in request.headers if name in {"traceparent", "baggage", "x-test"}))
        return _answer(module, current[0], request)

    async def handle_async_request(transport, request):
        await asyncio.sleep(0)
        return handle_request(transport, request)

    class Stub(module.BaseTransport, module.AsyncBaseTransport):
        pass

    Stub.handle_request, Stub.handle_async_request = handle_request, handle_async_request
    with monkeypatch.context() as patched:
        patched.setattr(module.HTTPTransport, "handle_request", handle_request)
        patched.setattr(module.AsyncHTTPTransport, "handle_async_request", handle_async_request)
        kind = stock.HTTPXClientInstrumentor if module is httpx else stock.HTTPX2ClientInstrumentor
        suffix = "" if module is httpx else "Httpx2"
        if through == "instrument":
            kind().instrument(**options, **hooks)
            sync, concurrent = module.HTTPTransport(), module.AsyncHTTPTransport()
        else:
            sync, concurrent = (
                getattr(stock, f"{name}OpenTelemetryTransport{suffix}")(
                    Stub(),
                    **options,
                    request_hook=hooks.get(f"{prefix}request_hook"),
                    response_hook=hooks.get(f"{prefix}response_hook"),
                )
                for name, prefix in (("Sync", ""), ("Async", "async_"))
            )
        try:
            for call in calls:
                current[:] = [call]
                outcomes.append(_outcome(module, world, call, sync, is_async=False))
                outcomes.append(_outcome(module, world, call, concurrent, is_async=True))
        finally:
            if through == "instrument":
                kind().uninstrument()
    return outcomes, world.seen()


def _outcome(module, world, call, transport, *, is_async):
    try:
        request = module.Request(call.method, call.url, headers={"x-test": "1", "authorization": "secret"})
    except Exception as error:
        return type(error)
    with world.around(call):
        try:
            if is_async:
                response = asyncio.run(transport.handle_async_request(request))
            else:
                response = transport.handle_request(request)
        except Exception as error:
            return type(error), str(error)
    return response.status_code, [name for name, _ in request.headers.raw]


def _hooks(kind):
    def request_hook(span, request):
        span.set_attribute(
            "hook.request", f"{request.method} {request.url} {sorted(request.headers)} {type(request.stream).__name__}"
        )
        if kind == "raising":
            raise LookupError("the hook failed")

    def response_hook(span, request, response):
        span.set_attribute("hook.response", f"{request.url} {response.status_code} {sorted(response.extensions)}")
        span.update_name("named by the hook")

    async def async_request_hook(span, request):
        await asyncio.sleep(0)
        request_hook(span, request)

    async def async_response_hook(span, request, response):
        response_hook(span, request, response)

    made = {"request_hook": request_hook, "response_hook": response_hook}
    return made | {"async_request_hook": async_request_hook, "async_response_hook": async_response_hook} if kind else {}


@pytest.mark.proves("httpx.sync", "httpx.async")
@pytest.mark.usefixtures("conventions")
@pytest.mark.parametrize(("name", "through"), crossed(["httpx", "httpx2"], ["instrument", "transport"]))
def test_random_calls(instrumented, no_faults, monkeypatch, name, through):
    """Whatever the method, the URL and the answer are, with hooks and without, sampled or not."""
    module = pytest.importorskip(name)

    @PROOF
    @given(calls=st.lists(CALLS, min_size=1, max_size=6), kind=st.sampled_from(["", "", "plain", "raising"]))
    def holds(calls, kind):
        with stocks_own_hooks(instrumented, "httpx."):
            expected = _run(module, calls, _hooks(kind), monkeypatch, through)
        assert told_by_both(_run(module, calls, _hooks(kind), monkeypatch, through)) == told_by_both(expected)
        assert no_faults.counts() == {}

    holds()


@pytest.mark.usefixtures("conventions")
@pytest.mark.parametrize("module", MODULES)
def test_configured_by_the_environment(instrumented, no_faults, monkeypatch, module):
    """Captured headers, also sanitized, and excluded URLs."""
    monkeypatch.setenv("OTEL_INSTRUMENTATION_HTTP_CAPTURE_HEADERS_CLIENT_REQUEST", "X-.*,authorization")
    monkeypatch.setenv("OTEL_INSTRUMENTATION_HTTP_CAPTURE_HEADERS_CLIENT_RESPONSE", "x-answer,set-cookie")
    monkeypatch.setenv("OTEL_INSTRUMENTATION_HTTP_CAPTURE_HEADERS_SANITIZE_FIELDS", "auth.*,set-cookie")
    monkeypatch.setenv("OTEL_PYTHON_HTTPX_EXCLUDED_URLS", "health,/private")
    answer = {"x-answer": "a, b", "set-cookie": "secret"}
    calls = [
        Call(headers=answer),
        Call(url="http://h/health"),
        Call(status=500, headers=answer),
        Call(url="http://h/b"),
    ]

    with stocks_own_hooks(instrumented, "httpx."):
        expected = _run(module, calls, {}, monkeypatch, "instrument")

    assert "http.request.header.x_test" in dict(expected[1][0][0][2])
    assert len(expected[1][0]) == 6
    assert _run(module, calls, {}, monkeypatch, "instrument") == expected
    assert no_faults.counts() == {}


@needs("opentelemetry-instrumentation-httpx", "0.65b0", "the first whose hooks are of a base class")
def test_instrumented_before_and_after(instrumentor, core, monkeypatch):
    """The order does not matter, and after `uninstrument` stock's own functions run again."""
    own = stock._BaseHTTPXClientInstrumentor.__dict__["_handle_request_wrapper"]
    code = own.__func__.__code__
    calls = []
    monkeypatch.setattr(httpx.HTTPTransport, "handle_request", lambda _, request: httpx.Response(200, request=request))
    # Stock makes one for each call, whether there are hooks or not.
    monkeypatch.setattr(stock, "RequestInfo", lambda *given: calls.append(given))
    stock.HTTPXClientInstrumentor().instrument()
    try:
        transport = httpx.HTTPTransport()
        for is_ours in (True, False, True):
            if is_ours:
                instrumentor.instrument(core=core)
            elif instrumentor.is_instrumented_by_opentelemetry:
                instrumentor.uninstrument()
            for _ in range(3):
                transport.handle_request(httpx.Request("GET", "http://h/a"))
            assert len(calls) == (0 if is_ours else 3)
            calls.clear()
        instrumentor.uninstrument()
        assert stock._BaseHTTPXClientInstrumentor.__dict__["_handle_request_wrapper"] is own
        assert "_handle_request_wrapper" not in vars(stock.HTTPXClientInstrumentor)
        assert own.__func__.__code__ is code
        assert not swap.is_handing_on(stock._SyncOpenTelemetryTransportBase.handle_request)
    finally:
        stock.HTTPXClientInstrumentor().uninstrument()


@needs("opentelemetry-instrumentation-httpx", "0.65b0", "the first whose hooks are of a base class")
@pytest.mark.usefixtures("instrumented")
def test_a_transport_of_stock_that_an_application_uses(monkeypatch):
    """Runs ours, too: stock would make a `RequestInfo` for each call."""
    made = []
    monkeypatch.setattr(stock, "RequestInfo", lambda *given: made.append(given))
    inner = httpx.MockTransport(lambda _: httpx.Response(200))
    request = httpx.Request("GET", "http://h/a")

    assert stock.SyncOpenTelemetryTransport(inner).handle_request(request).status_code == 200
    answer = asyncio.run(stock.AsyncOpenTelemetryTransport(inner).handle_async_request(request))
    assert answer.status_code == 200
    assert made == []


@needs("opentelemetry-instrumentation-httpx", "0.65b0", "the first whose hooks are of a base class")
def test_a_transport_of_stock_that_other_code_has_wrapped(instrumentor, core, monkeypatch):
    """Other code's wrapper runs, before and after ours comes and goes, and so does stock's own method."""
    kind, calls = stock._SyncOpenTelemetryTransportBase, []
    own = vars(kind)["handle_request"]

    @functools.wraps(own)
    def wrapped(*args, **kwargs):
        calls.append(args)
        return own(*args, **kwargs)

    monkeypatch.setattr(kind, "handle_request", wrapped)
    transport = stock.SyncOpenTelemetryTransport(httpx.MockTransport(lambda _: httpx.Response(200)))
    for number in range(1, 4):
        if number == 2:
            instrumentor.instrument(core=core)
        elif number == 3:
            instrumentor.uninstrument()
        assert transport.handle_request(httpx.Request("GET", "http://h/a")).status_code == 200
        assert len(calls) == number


@needs("opentelemetry-instrumentation-httpx", "0.65b0", "the first whose hooks are of a base class")
@pytest.mark.usefixtures("instrumented")
def test_the_settings_of_a_transport_may_change():
    """Stock reads them at each call."""
    inner = httpx.MockTransport(lambda _: httpx.Response(200))
    transport = stock.SyncOpenTelemetryTransport(inner, tracer_provider=World().tracers)
    names = []
    transport._request_hook = lambda span, _request: names.append(span.name)
    transport.handle_request(httpx.Request("GET", "http://h/a"))
    transport._excluded_urls = parse_excluded_urls("h/a")
    transport.handle_request(httpx.Request("GET", "http://h/a"))

    assert names == ["GET"]


@needs("opentelemetry-instrumentation-httpx", "0.65b0", "the first whose hooks are of a base class")
@pytest.mark.usefixtures("instrumented")
def test_a_transport_may_be_copied():
    """Also after a call; without an SDK, there is nothing in it that cannot be."""
    transport = stock.SyncOpenTelemetryTransport(httpx.MockTransport(lambda _: httpx.Response(200)))
    transport.handle_request(httpx.Request("GET", "http://h/a"))

    assert copy.deepcopy(transport).handle_request(httpx.Request("GET", "http://h/a")).status_code == 200


@pytest.mark.usefixtures("instrumented")
@pytest.mark.parametrize("place", [(util, "normalise_request_header_name"), (kinds, "Seen")], ids=["begin", "end"])
def test_a_fault_of_ours_does_not_reach_the_host(no_faults, monkeypatch, place):
    """The call is made once; stock's code runs if the beginning fails."""
    # Calling it raises a TypeError in our own function; stock has it by name.
    monkeypatch.setattr(*place, None)
    outcomes, (spans, _) = _run(httpx, [Call()], {}, monkeypatch, "instrument")

    assert [outcome[0] for outcome in outcomes if isinstance(outcome, tuple)] == [200, 200]
    assert len(spans) == 2
    assert sum(no_faults.counts().values()) == 2


@pytest.mark.usefixtures("instrumented")
def test_real_server(no_faults):
    """Redirects are one span each; a refused connection and a timeout end theirs as errors."""
    import http.server
    import threading

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            self.send_response(302 if self.path == "/from" else 200)
            self.send_header("Location", "/to")
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_args):
            pass

    world = World()
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        stock.HTTPXClientInstrumentor().instrument(tracer_provider=world.tracers, meter_provider=world.meters)
        try:
            with httpx.Client(follow_redirects=True, trust_env=False) as client:
                url = f"http://127.0.0.1:{server.server_port}/from"
                assert client.get(url).status_code == 200
                server.shutdown()
                server.server_close()
                with pytest.raises(httpx.ConnectError):
                    client.get("http://127.0.0.1:1/")
        finally:
            stock.HTTPXClientInstrumentor().uninstrument()
            server.shutdown()
            thread.join()
    spans, points = world.seen()
    assert [dict(span[2]).get("http.status_code") for span in spans] == [302, 200, None]
    assert [span[3].name for span in spans] == ["UNSET", "UNSET", "ERROR"]
    assert [(point[3].get("http.status_code"), point[4]) for point in points] == [(302, 1), (200, 1), (None, 1)]
    assert no_faults.counts() == {}
