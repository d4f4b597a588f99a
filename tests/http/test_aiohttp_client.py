"""Requests of aiohttp emit what they emit with the stock instrumentation's own functions."""

from __future__ import annotations

import asyncio
import urllib.parse
from types import SimpleNamespace

import pytest
from aiohttp.tracing import Trace
from clientcheck import Call, World, stocks_own_hooks
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from multidict import CIMultiDict
from opentelemetry.instrumentation import aiohttp_client as stock
from opentelemetry.instrumentation._semconv import _StabilityMode
from yarl import URL

SERVERS = st.sampled_from(
    [
        *("http://localhost:8000", "https://example.org", "http://a", "http://EXAMPLE.org:80", "https://u:p@h:444"),
        *("http://[::1]:8000", "https://xn--fiqs8s.icom.museum", "http://u@h", "ws://h"),
    ]
)
PATHS = st.text(alphabet="abc.-_0:;@%?&=/+~ é中'\"|[]{}^`<>", max_size=12).map(lambda text: "/" + text)
QUERIES = st.sampled_from(["", "?q=1", "?sig=SECRET&a=%20b", "?Signature=a+b&x", "?%73ig=1", "?a=http://x@y/", "#f"])
CALLS = st.builds(
    Call,
    method=st.sampled_from(["GET", "POST", "get", "QUERY", "PURGE"]),
    url=st.builds("".join, st.tuples(SERVERS, PATHS, QUERIES)),
    status=st.sampled_from([200, 200, 301, 404, 500, 99, 0]),
    headers=st.sampled_from([{}, {"x-answer": "1"}]),
    is_suppressed=st.booleans(),
    parent=st.sampled_from(["", "sampled", "dropped"]),
)
PROOF = settings(max_examples=15, deadline=None, suppress_health_check=list(HealthCheck))
MODES = {"": _StabilityMode.DEFAULT, "http": _StabilityMode.HTTP, "http/dup": _StabilityMode.HTTP_DUP}


async def _request(world, config, call):
    """What aiohttp's session does with a trace configuration."""
    url, headers = URL(call.url), CIMultiDict({"X-Test": "1", "authorization": "secret"})
    trace = Trace(None, config, config.trace_config_ctx(trace_request_ctx=None))
    with world.around(call):
        try:
            await trace.send_request_start(call.method, url, headers)
            if call.status:
                response = SimpleNamespace(status=call.status, headers=CIMultiDict(call.headers))
                await trace.send_request_end(call.method, url, headers, response)
            else:
                await trace.send_request_exception(call.method, url, headers, OSError("refused"))
        except LookupError as error:
            return str(error), list(headers)
    return call.status, list(headers)


def _run(calls, mode, **options):
    world = World()
    config = stock.create_trace_config(
        tracer_provider=world.tracers, meter_provider=world.meters, sem_conv_opt_in_mode=MODES[mode], **options
    )
    config.freeze()
    outcomes = [asyncio.run(_request(world, config, call)) for call in calls]
    return outcomes, world.seen()


def _options(kind):
    def request_hook(span, params):
        span.set_attribute("hook.request", f"{params.method} {params.url} {sorted(params.headers)}")
        if kind == "raising":
            raise LookupError("the hook failed")

    def response_hook(span, params):
        span.set_attribute("hook.response", f"{params.method} {type(params).__name__}")

    if kind == "captured":
        names = {"captured_request_headers": ["x-.*", "auth.*"], "captured_response_headers": ["x-answer"]}
        return names | {"sensitive_headers": ["authorization"]}
    if kind == "filtered":
        return {"url_filter": lambda url: str(url.with_query(None))}
    return {"request_hook": request_hook, "response_hook": response_hook} if kind else {}


@pytest.mark.proves("aiohttp_client.trace_config")
def test_random_requests(instrumented, no_faults, conventions):
    """Whatever the method, the URL and the answer are, with hooks and without, sampled or not."""

    @PROOF
    @given(
        calls=st.lists(CALLS, min_size=1, max_size=6),
        kind=st.sampled_from(["", "", "plain", "raising", "captured", "filtered"]),
    )
    def holds(calls, kind):
        with stocks_own_hooks(instrumented, "aiohttp_client."):
            expected = _run(calls, conventions, **_options(kind))
        assert _run(calls, conventions, **_options(kind)) == expected
        assert no_faults.counts() == {}

    holds()


def test_excluded(instrumented, monkeypatch):
    """Excluded URLs are not instrumented, others are."""
    monkeypatch.setenv("OTEL_PYTHON_AIOHTTP_CLIENT_EXCLUDED_URLS", "health")
    calls = [Call(), Call(url="http://h/health")]
    with stocks_own_hooks(instrumented, "aiohttp_client."):
        expected = _run(calls, "")

    assert len(expected[1][0]) == 1
    assert _run(calls, "") == expected


def test_removed_while_a_request_is_running(instrumentor, core):
    """Stock's own function ends what ours began, with all of its attributes."""
    world = World()
    instrumentor.instrument(core=core)
    config = stock.create_trace_config(tracer_provider=world.tracers, meter_provider=world.meters)
    code = config.on_request_end[0].__code__
    trace = Trace(None, config, config.trace_config_ctx(trace_request_ctx=None))
    config.freeze()

    async def run():
        await trace.send_request_start("GET", URL("http://h:1/a"), CIMultiDict())
        instrumentor.uninstrument()
        response = SimpleNamespace(status=200, headers=CIMultiDict())
        await trace.send_request_end("GET", URL("http://h:1/a"), CIMultiDict(), response)

    asyncio.run(run())
    spans, points = world.seen()
    assert config.on_request_end[0].__code__ is not code
    assert dict(spans[0][2])["http.status_code"] == 200
    assert points[0][3] == {"http.method": "GET", "http.host": "h", "net.peer.name": "h", "net.peer.port": 1} | {
        "http.status_code": 200
    }


def test_a_fault_of_ours_does_not_reach_the_host(instrumented, no_faults, monkeypatch):
    """Stock's function runs instead."""
    assert instrumented
    # Calling it raises a TypeError in our own function; stock has it by name.
    monkeypatch.setattr(urllib.parse, "urlparse", None)
    outcomes, (spans, _) = _run([Call()], "")

    assert outcomes[0][0] == 200
    assert len(spans) == 1
    assert sum(no_faults.counts().values()) == 1
