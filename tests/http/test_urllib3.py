"""Calls of urllib3 emit what they emit with the stock instrumentation's own hook."""

from __future__ import annotations

import pytest
import urllib3
from clientcheck import Call, World, stocks_own_hooks, told_by_both
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from opentelemetry import context
from opentelemetry.instrumentation import urllib3 as stock
from opentelemetry.instrumentation.utils import is_http_instrumentation_enabled
from urllib3.connectionpool import HTTPConnectionPool, HTTPSConnectionPool

POOLS = {"http://h": HTTPConnectionPool("h"), "http://h:8000": HTTPConnectionPool("h", 8000)} | {
    "https://s": HTTPSConnectionPool("s", 443)
}
CALLS = st.builds(
    Call,
    method=st.sampled_from(["GET", "POST", "get", "QUERY", "PURGE"]),
    url=st.builds(
        "|".join,
        st.tuples(st.sampled_from(sorted(POOLS)), st.sampled_from(["/", "/a?sig=SECRET", "http://proxied/b?c"])),
    ),
    status=st.sampled_from([200, 200, 301, 404, 500, 99, 0]),
    headers=st.sampled_from([{}, {"x-answer": "1", "content-length": "0"}]),
    version=st.sampled_from(["11", "10", "0"]),
    is_suppressed=st.booleans(),
    parent=st.sampled_from(["", "sampled", "dropped"]),
)
# How a caller passes the body and the headers.
WAYS = {
    "nothing": ((), {}),
    "positions": ((b"body", {"a": "b"}, False), {}),
    "keywords": ((), {"body": "text", "headers": {"a": "b"}, "preload_content": False}),
    "headers": ((), {"headers": urllib3.HTTPHeaderDict({"authorization": "secret"})}),
    "stream": ((), {"body": iter([b"1"])}),
    "wrong": ((), {"method": "GET"}),
}
PROOF = settings(max_examples=20, deadline=None, suppress_health_check=list(HealthCheck))


def _run(calls, ways, monkeypatch, **options):
    world, outcomes, current = World(), [], []

    def urlopen(
        _pool, method, url, body=None, headers=None, retries=None, redirect=True, preload_content=True, **response_kw
    ):
        call = current[0]
        state = context.get_value("httpbase_instrumentation_state")
        found = method, url, body is None, sorted(headers or {}), retries, redirect, preload_content, response_kw
        waiting = state and [span.is_recording() for span in state["need_ip"]]
        outcomes.append((*found, is_http_instrumentation_enabled(), waiting))
        if not call.status:
            raise urllib3.exceptions.HTTPError("refused")
        return urllib3.HTTPResponse(status=call.status, headers=call.headers, version=int(call.version))

    with monkeypatch.context() as patched:
        patched.setattr(HTTPConnectionPool, "urlopen", urlopen)
        instrumentor = stock.URLLib3Instrumentor()
        instrumentor.instrument(tracer_provider=world.tracers, meter_provider=world.meters, **options)
        try:
            for call, way in zip(calls, ways, strict=False):
                current[:] = [call]
                pool, _, url = call.url.partition("|")
                args, kwargs = WAYS[way]
                with world.around(call):
                    try:
                        outcomes.append(POOLS[pool].urlopen(call.method, url, *args, **kwargs).status)
                    except Exception as error:
                        outcomes.append((type(error), str(error)))
        finally:
            instrumentor.uninstrument()
        assert HTTPConnectionPool.urlopen is urlopen
    return outcomes, world.seen()


def _options(kind):
    def request_hook(span, pool, request):
        span.set_attribute("hook.request", f"{pool.host} {request.method} {request.url} {sorted(request.headers)}")
        if kind == "raising":
            raise LookupError("the hook failed")

    def response_hook(span, _pool, response):
        span.set_attribute("hook.response", f"{response.status} {is_http_instrumentation_enabled()}")

    if kind == "captured":
        names = {"captured_request_headers": ["auth.*", "a"], "captured_response_headers": ["x-answer"]}
        return names | {"sensitive_headers": ["authorization"]}
    if kind == "filtered":
        return {"url_filter": lambda url: url.partition("?")[0], "excluded_urls": "proxied"}
    return {"request_hook": request_hook, "response_hook": response_hook} if kind else {}


@pytest.mark.proves("urllib3.urlopen")
@pytest.mark.usefixtures("conventions")
def test_random_calls(instrumented, no_faults, monkeypatch):
    """Whatever the method, the URL and the answer are, and however the arguments are passed."""

    @PROOF
    @given(
        calls=st.lists(CALLS, min_size=1, max_size=6),
        ways=st.lists(st.sampled_from(sorted(WAYS)), min_size=6, max_size=6),
        kind=st.sampled_from(["", "", "plain", "raising", "captured", "filtered"]),
    )
    def holds(calls, ways, kind):
        with stocks_own_hooks(instrumented, "urllib3."):
            expected = _run(calls, ways, monkeypatch, **_options(kind))
        assert told_by_both(_run(calls, ways, monkeypatch, **_options(kind))) == told_by_both(expected)
        assert no_faults.counts() == {}

    holds()
