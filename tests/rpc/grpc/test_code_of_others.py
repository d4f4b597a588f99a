"""Calls of gRPC beside code of others: interceptors, wrappers, subclasses, and what replaces functions of stock's."""

# ruff: noqa: ARG001  # the fixture `ours` puts the functions in their places

from __future__ import annotations

import grpc
import pytest
import wrapt
from executed_functions import executed
from opentelemetry import trace
from opentelemetry.instrumentation.grpc import (
    GrpcAioInstrumentorClient,
    GrpcAioInstrumentorServer,
    GrpcInstrumentorClient,
    GrpcInstrumentorServer,
    _client,
)
from opentelemetry.instrumentation.grpc.grpcext import intercept_channel
from stock_in_place import place, stored

from . import called
from .called import call, serving
from .conftest import NAMES, PLACES, Telemetry, states
from .test_calls import both, through_aio, through_sync


@pytest.mark.parametrize("is_first", [True, False])
def test_interceptors_of_others(ours, is_first):
    """Before and after stock's, in clients and servers."""

    class Client(grpc.UnaryUnaryClientInterceptor):
        def intercept_unary_unary(self, continuation, client_call_details, request):
            trace.get_current_span().set_attribute("client", "yes")
            return continuation(client_call_details, request)

    class Server(grpc.ServerInterceptor):
        def intercept_service(self, continuation, handler_call_details):
            handler = continuation(handler_call_details)

            def behavior(request, context):
                trace.get_current_span().set_attribute("server", "yes")
                return handler.unary_unary(request, context)

            return grpc.unary_unary_rpc_method_handler(behavior)

    def run():
        telemetry = Telemetry()
        servers = (Server(), telemetry.server()) if is_first else (telemetry.server(), Server())
        with serving(*servers) as address, grpc.insecure_channel(address) as plain:
            if is_first:
                channel = grpc.intercept_channel(intercept_channel(plain, telemetry.client()), Client())
            else:
                channel = intercept_channel(grpc.intercept_channel(plain, Client()), telemetry.client())
            results = [call(channel, "unary_unary", each) for each in (b"ok", b"abort:INTERNAL")]
            telemetry.wait_for(4)
            return results, telemetry.seen()

    assert len(both(run)[1]) == 4


@pytest.mark.parametrize("was_first", [True, False])
def test_either_may_be_first_and_last(instrumentor, core, was_first):
    """Instrumented before or after this package is; channels and servers that exist are affected at once."""
    before = {name: stored(target) for name, target in PLACES.items()}
    stocks = (
        GrpcInstrumentorClient(),
        GrpcInstrumentorServer(),
        GrpcAioInstrumentorClient(),
        GrpcAioInstrumentorServer(),
    )
    if not was_first:
        instrumentor.instrument(core=core)
    for each in stocks:
        each.instrument()
    try:
        if was_first:
            instrumentor.instrument(core=core)
        assert set(states(instrumentor).values()) == {("applied", "")}
        assert not any(stored(PLACES[name]) is each for name, each in before.items())
        with serving() as address, grpc.insecure_channel(address) as channel:
            assert call(channel, "unary_unary", b"ok") == b"FalseNone"
            assert "inject" not in executed(lambda: call(channel, "unary_unary", b"ok"), NAMES)
            instrumentor.uninstrument()
            assert {name: stored(target) for name, target in PLACES.items()} == before
            assert call(channel, "unary_unary", b"ok") == b"FalseNone"
    finally:
        for each in stocks:
            each.uninstrument()


@pytest.mark.parametrize("name", sorted(PLACES))
@pytest.mark.parametrize("is_before", [True, False])
def test_a_vendors_wrapper(instrumentor, core, name, is_before):
    """It is called for each call, and what it wraps stays until it is taken away."""
    owner, attribute = place(PLACES[name])
    before, called_ = stored(PLACES[name]), []

    def wrapper(wrapped, _instance, args, kwargs):
        called_.append(attribute)
        return wrapped(*args, **kwargs)

    def wrap():
        wrapt.wrap_function_wrapper(owner, attribute, wrapper)

    if is_before:
        wrap()
    instrumentor.instrument(core=core)
    if not is_before:
        wrap()
    try:
        for through in (through_sync, through_aio):
            for kind in ("unary_unary", "unary_stream"):
                assert [span[0] for span in through(kind, b"ok")[1]] == ["order", *[called.METHODS[kind]] * 2]
        assert called_
        assert states(instrumentor)[name][0] == ("skipped" if is_before else "applied")
        instrumentor.uninstrument()
        assert len(through_sync("unary_unary", b"ok")[1]) == 3
    finally:
        setattr(owner, attribute, before)


@pytest.mark.parametrize("place_", ["_CarrierSetter.set", "_make_future_done_callback", "_safe_invoke"])
def test_what_other_code_replaces_is_called(ours, monkeypatch, place_):
    """Also what these functions call no more."""
    telemetry, found = Telemetry(), []
    *path, name = place_.split(".")
    owner = getattr(_client, path[0]) if path else _client
    original = getattr(owner, name)

    def replacement(*args):
        found.append(args)
        return original(*args)

    with serving() as address, grpc.insecure_channel(address) as plain:
        channel = intercept_channel(plain, telemetry.client(request_hook=lambda *_given: None))
        call(channel, "unary_unary", b"ok")
        monkeypatch.setattr(owner, name, replacement)
        call(channel, "unary_unary", b"ok", "future")
        telemetry.wait_for(2)
    assert found


def test_a_subclass_sees_what_came_of_a_call(ours):
    """An interceptor with a method of its own is given stock's object."""
    telemetry, found = Telemetry(), []

    class Own(_client.OpenTelemetryClientInterceptor):
        def _trace_result(self, span, rpc_info, result):
            found.append((rpc_info.full_method, rpc_info.timeout))
            return super()._trace_result(span, rpc_info, result)

    with serving() as address, grpc.insecure_channel(address) as plain:
        channel = intercept_channel(plain, Own(telemetry.tracers.get_tracer("own")))
        call(channel, "unary_unary", b"ok", timeout=9)
    assert found == [("/shop.Orders/unary_unary", 9)]
