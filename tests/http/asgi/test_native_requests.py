"""Random requests with FastAPI's own telemetry: the same spans and metrics as with FastAPI's own code."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import subprocess
import sys
from types import SimpleNamespace

import pytest
from asgicheck import (
    BODY,
    HOST,
    REMOTE,
    START,
    answers,
    application,
    receive_empty,
    requests,
    scope,
    send_nowhere,
    with_one_wrong,
)
from fastapi import FastAPI
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from opentelemetry import context, trace
from opentelemetry.sdk.trace import Span, SpanProcessor
from starlette.exceptions import HTTPException
from starlette.websockets import WebSocketDisconnect

pytest.importorskip("fastapi.telemetry", reason="FastAPI has telemetry of its own from 0.142 on")

from fastapi import applications
from fastapi.telemetry import _api, _asgi
from sabotage import as_ours, broken

QUICK = settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


def telemetry_of(made, **further):
    """What FastAPI calls for each request, with these providers."""
    return FastAPI(telemetry={**made.providers, **further})._native_telemetry


def serve(recorded, sent, app, **further):
    """Serve these requests; return what was recorded and what the application's host saw."""
    made = recorded()
    own = telemetry_of(made, **further)
    seen = []

    async def every():
        for request in sent:
            try:
                await own(app=app, scope=request, receive=receive_empty, send=send_nowhere)
                seen.append("served")
            except BaseException as error:
                seen.append(repr(error))
            seen.extend((dict(context.get_current()), "fastapi.telemetry" in request))

    asyncio.run(every())
    return made.spans(), made.metrics(), seen


@pytest.mark.proves("fastapi_own.request")
@QUICK
@given(
    sent=st.lists(requests, min_size=1, max_size=3),
    messages=answers,
    raised=st.sampled_from([None, ValueError("no"), KeyboardInterrupt(), WebSocketDisconnect(1000)]),
    further=st.sampled_from([{}, {"tracing": False}, {"metrics": False}, {"logs": False}, {"operation_spans": False}]),
)
def test_random_requests(both_ways, recorded, sent, messages, raised, further):
    """Methods, targets, headers, messages, exceptions."""
    # See `test_a_status_that_is_a_text`.
    messages = [
        {**message, "status": int(message["status"])} if "status" in message else message for message in messages
    ]
    app = application(messages, raised)

    stock, ours = both_ways(lambda: serve(recorded, [dict(each) for each in sent], app, **further))

    assert ours == stock


def test_a_status_that_is_a_text(instrumented, recorded):
    """The response is sent; FastAPI's own code raises an error."""
    del instrumented
    spans, metrics, seen = serve(recorded, [scope()], application([{**START, "status": "200"}, BODY]))

    assert seen[0] == "served"
    assert dict(spans[0][2])["error.type"] == "200"
    assert len(metrics) == 2


@pytest.mark.proves("fastapi_own.operation")
@pytest.mark.parametrize("name", ["endpoint", "background_task"])
@pytest.mark.parametrize(
    "error",
    [None, ValueError("no"), HTTPException(404), WebSocketDisconnect(1000), KeyboardInterrupt(), StopIteration()],
)
def test_parts_of_a_request(both_ways, recorded, name, error):
    """The span around a part of a request, which may raise anything."""

    class Callable:
        def __call__(self):
            pass

    async def app(_scope, _receive, send):
        for function in (None, serve, Callable(), contextlib.suppress):
            with contextlib.suppress(BaseException), _api._operation(name=name, function=function):
                trace.get_current_span().set_attribute("inside", value=True)
                if error is not None:
                    raise error
        await send(dict(START))
        await send(dict(BODY))

    stock, ours = both_ways(lambda: serve(recorded, [scope(headers=[HOST, REMOTE])], app))

    assert ours == stock
    assert len(ours[0]) == 5


@pytest.mark.proves("fastapi_own.stack")
def test_the_middleware_is_found_where_stock_finds_it(both_ways):
    """At any depth; classes of the same name elsewhere, circles, and attributes that raise."""

    class Layer:
        app = None

    middleware = type("OpenTelemetryMiddleware", (Layer,), {"__module__": "opentelemetry.instrumentation.asgi"})
    namesake = type("OpenTelemetryMiddleware", (Layer,), {"__module__": "mine"})

    def stack(*kinds):
        layers = [kind() for kind in kinds]
        for outer, inner in itertools.pairwise(layers):
            outer.app = inner
        return layers

    circle = stack(Layer, Layer)
    circle[1].app = circle[0]
    around = stack(Layer, namesake)
    around[1].app = around[0]
    stacks = [
        None,
        circle[0],
        around[0],
        *(stack(*kinds)[0] for kinds in ((Layer,), (middleware,), (Layer, namesake, middleware), (namesake, Layer))),
        stack(*[Layer] * 200, middleware)[0],
    ]

    stock, ours = both_ways(lambda: [applications._legacy_otel(each) for each in stacks])

    assert ours == stock == [False, False, False, False, True, True, False, True]


@pytest.mark.parametrize("place", ["before", "while the span is started"])
def test_a_fault_of_ours_is_not_the_requests(both_ways, recorded, no_faults, place):
    """FastAPI's own code serves the request instead: once, and with the same telemetry."""
    served = []

    async def app(_scope, _receive, send):
        served.append(trace.get_current_span())
        await send(dict(START))
        await send(dict(BODY))

    def run():
        made = recorded()
        own = telemetry_of(made)
        asked = "_instruments" if place == "before" else "_get_tracer"
        given, faults = getattr(own, asked), [as_ours(broken)] if served else []

        def flaky(**keywords):
            return (faults.pop() if faults else given)(**keywords)

        # With this package, which is the second time, who asks first gets an error.
        setattr(own, asked, as_ours(flaky))
        request = scope(headers=[HOST, REMOTE])
        asyncio.run(own(app=app, scope=request, receive=receive_empty, send=send_nowhere))
        return made.spans(), made.metrics(), dict(context.get_current())

    stock, ours = both_ways(run)

    assert ours == stock
    assert len(served) == 2
    assert no_faults.counts()
    no_faults.forget()


@pytest.mark.parametrize("place", ["span", "duration", "active"])
def test_a_stop_while_a_request_ends(instrumented, recorded, monkeypatch, place):
    """A KeyboardInterrupt in a span's or an instrument's method: the span ends, the context is restored."""
    del instrumented

    def stop(*_args, **_kwargs):
        raise KeyboardInterrupt

    def stop_last(amount, *_args, **_kwargs):
        counted.append(amount)
        if place == "active" and amount < 0:
            raise KeyboardInterrupt

    async def silent(_scope, _receive, _send):
        """Send no last message: the request ends after the application has returned."""

    counted = []
    made = recorded()
    own = telemetry_of(made)
    duration, _ = own._instruments()
    own._active = SimpleNamespace(add=stop_last)
    own._duration = SimpleNamespace(record=stop) if place == "duration" else duration
    if place == "span":
        monkeypatch.setattr(Span, "set_attributes", stop)

    assert interrupted(own, silent) == {}
    assert len(made.spans()) == 1
    assert counted == [1, -1]


def test_a_stop_while_a_request_begins(instrumented, recorded):
    """Likewise in a span processor, and the request is no longer counted as active."""
    del instrumented

    class Stops(SpanProcessor):
        """A processor in which the signal arrives."""

        def on_start(self, span, parent_context=None):  # noqa: ARG002  # the interface
            """See a span start."""
            raise KeyboardInterrupt

    made = recorded()
    made.tracers.add_span_processor(Stops())

    assert interrupted(telemetry_of(made), application([START, BODY])) == {}
    assert [point[5] for point in made.metrics()] == [0]


def interrupted(own, app):
    """The context after a request that a KeyboardInterrupt ends."""

    async def inside():
        with pytest.raises(KeyboardInterrupt):
            await own(app=app, scope=scope(headers=[HOST, REMOTE]), receive=receive_empty, send=send_nowhere)
        return dict(context.get_current())

    return asyncio.run(inside())


@pytest.mark.parametrize("wrong", [{"body": b"x"}, None, 7, {"type": START["type"]}])
def test_a_message_without_a_type_or_a_status(instrumented, recorded, no_faults, wrong):
    """It is passed on as it is, and no fault of ours."""
    del instrumented
    app, receive, send, received, sent = with_one_wrong(wrong)
    made = recorded()
    asyncio.run(telemetry_of(made)(app=app, scope=scope(), receive=receive, send=send))

    assert (received, sent) == ([wrong], [START, wrong, BODY])
    assert len(made.spans()) == 1
    assert no_faults.counts() == {}


def test_unpatched_again(instrumentor):
    """Each of the three functions is FastAPI's own again."""
    before = (_asgi.NativeTelemetry.__call__, _api._traced_operation, applications._legacy_otel)
    instrumentor.instrument()
    assert before != (_asgi.NativeTelemetry.__call__, _api._traced_operation, applications._legacy_otel)
    instrumentor.uninstrument()

    assert before == (_asgi.NativeTelemetry.__call__, _api._traced_operation, applications._legacy_otel)


def test_it_does_not_need_the_package_of_the_instrumentations():
    """`opentelemetry-util-http` comes with instrumentations, and FastAPI's own telemetry needs none."""
    program = """
import sys

sys.modules["opentelemetry.util.http"] = None
from otel_fastpath import FastpathInstrumentor

FastpathInstrumentor().instrument()
import fastapi.telemetry._asgi

print(*(row.state.value for row in FastpathInstrumentor().status() if row.name.startswith("fastapi_own.")))
"""
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False, timeout=60)

    assert (result.stdout.split(), result.stderr) == (["applied"] * 3, "")
