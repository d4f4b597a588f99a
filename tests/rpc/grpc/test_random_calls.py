"""Random calls leave the same telemetry with stock's functions and with this package's."""

# ruff: noqa: ARG001, ARG002, D102, D105  # the fixture `ours` puts the functions in their places; methods are an interface's

from __future__ import annotations

import asyncio
import contextvars

import grpc
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from opentelemetry import baggage, context, propagate, trace
from opentelemetry.baggage.propagation import W3CBaggagePropagator
from opentelemetry.instrumentation.grpc import filters
from opentelemetry.instrumentation.grpc.grpcext import intercept_channel
from opentelemetry.instrumentation.utils import suppress_instrumentation
from opentelemetry.propagators.b3 import B3MultiFormat
from opentelemetry.propagators.composite import CompositePropagator
from opentelemetry.propagators.textmap import TextMapPropagator
from opentelemetry.sdk.trace import SpanLimits
from opentelemetry.sdk.trace.sampling import ALWAYS_OFF
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator
from own_tracers import OwnTracers

from .called import KINDS, aio_call, aio_serving, call, serving
from .conftest import Telemetry, stock_functions

PARENT = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"


class OwnPropagator(TextMapPropagator):
    """An application's own, with one key, which is not in lower case."""

    def extract(self, carrier, context=None, getter=None):
        return baggage.set_baggage("user", str(carrier.get("own")), context)

    def inject(self, carrier, context=None, setter=None):
        setter.set(carrier, "Own", "sent")

    @property
    def fields(self):
        return {"own"}


PROPAGATORS = {
    "usual": lambda: CompositePropagator([TraceContextTextMapPropagator(), W3CBaggagePropagator()]),
    "one": TraceContextTextMapPropagator,
    "b3": B3MultiFormat,
    "own": OwnPropagator,
    "baggage first": lambda: CompositePropagator([W3CBaggagePropagator(), TraceContextTextMapPropagator()]),
}
METADATA = (
    None,
    (),
    (("x-tenant", "shop"),),
    (("x-tenant", "shop"), ("x-tenant", "other"), ("x-more-bin", b"\x00\xff")),
    (("traceparent", PARENT),),
    (("traceparent", "00-0"), ("tracestate", "a=1")),
    (("traceparent", PARENT), ("tracestate", "a=1"), ("baggage", "user=bob")),
    (("user-agent", "own"),),
)
REQUESTS = st.one_of(
    st.sampled_from((b"ok", b"ok", b"raise:shop", b"plain:shop", b"attribute:x", b"late:shop")),
    st.builds(
        lambda what, code: f"{what}:{code}".encode(),
        st.sampled_from(("abort", "code", "details")),
        st.sampled_from([code.name for code in grpc.StatusCode if code is not grpc.StatusCode.OK]),
    ),
)
STEPS = st.recursive(
    st.tuples(
        st.just("call"),
        st.sampled_from(KINDS),
        REQUESTS,
        st.sampled_from(("call", "call", "with_call", "future")),
        st.sampled_from(METADATA),
        st.sampled_from((tuple, list, iter, "metadata")),
    ),
    lambda inner: st.tuples(st.sampled_from(("span", "bag", "suppressed", "remote")), st.lists(inner, max_size=2)),
    max_leaves=4,
)
PROGRAMS = st.lists(STEPS, min_size=1, max_size=4)
SETTINGS = st.fixed_dictionaries(
    {
        "propagator": st.sampled_from(("usual", "usual", "usual", *sorted(PROPAGATORS))),
        "sampler": st.sampled_from((None, None, None, ALWAYS_OFF)),
        "most": st.sampled_from((None, None, 3)),
        "tracers": st.sampled_from(("sdk", "sdk", "sdk", "own", "none")),
        "has_hooks": st.booleans(),
        "filter": st.sampled_from((None, None, "unary_unary")),
        "is_aio": st.booleans(),
    }
)


class Run:
    """One run of a program."""

    def __init__(self, telemetry):
        self.tracer = telemetry.tracers.get_tracer("application")
        self.happened = []

    def around(self, what):
        """What a step is in."""
        if what == "span":
            return self.tracer.start_as_current_span("around")
        if what == "suppressed":
            return suppress_instrumentation()
        remote = TraceContextTextMapPropagator().extract({"traceparent": PARENT, "tracestate": "a=1,b=2"})
        return attached(baggage.set_baggage("user", "ann") if what == "bag" else remote)

    def hook(self, span, message):
        span.set_attribute("hooked", type(message).__name__ if hasattr(message, "code") else str(message))
        if message == b"attribute:x":
            raise LookupError("the application's")

    def do(self, channel, steps):
        for what, *rest in steps:
            if what == "call":
                kind, request, how, metadata, form = rest
                found = call(channel, kind, request, how, metadata=made(metadata, form))
                self.happened.append((found, sorted(context.get_current()), trace.get_current_span().is_recording()))
                continue
            with self.around(what):
                self.do(channel, *rest)

    async def do_aio(self, channel, steps):
        for what, *rest in steps:
            if what == "call":
                kind, request, _, metadata, form = rest
                found = await aio_call(channel, kind, request, metadata=made(metadata, form))
                self.happened.append((found, sorted(context.get_current()), trace.get_current_span().is_recording()))
                continue
            with self.around(what):
                await self.do_aio(channel, *rest)


def made(metadata, form):
    """Metadata in one of the forms that it may have."""
    if metadata is None or form is iter:
        return metadata
    return grpc.aio.Metadata(*metadata) if form == "metadata" else form(metadata)


class attached:  # noqa: N801
    """A context that is the current one in a block."""

    def __init__(self, made):
        self._made = made

    def __enter__(self):
        self._token = context.attach(self._made)

    def __exit__(self, *_error):
        context.detach(self._token)


def happens(chosen, program):
    """What happens in the program."""
    given_ = {} if chosen["sampler"] is None else {"sampler": chosen["sampler"]}
    if chosen["most"] is not None:
        given_["span_limits"] = SpanLimits(max_attributes=chosen["most"])
    telemetry = Telemetry(**given_)
    run = Run(telemetry)
    tracers = {"sdk": telemetry.tracers, "own": OwnTracers(telemetry.tracers), "none": trace.NoOpTracerProvider()}
    tracers = tracers[chosen["tracers"]]
    filter_ = chosen["filter"] and filters.negate(filters.method_name(chosen["filter"]))
    hooks = {"request_hook": run.hook, "response_hook": run.hook} if chosen["has_hooks"] else {}
    before = propagate.get_global_textmap()
    propagate.set_global_textmap(PROPAGATORS[chosen["propagator"]]())

    async def aio():
        server = telemetry.aio_server(tracers, filter_=filter_)
        client = telemetry.aio_client(tracers, filter_=filter_, **hooks)
        async with aio_serving(server) as address, grpc.aio.insecure_channel(address, interceptors=client) as channel:
            await run.do_aio(channel, program)

    def sync():
        server = telemetry.server(tracers, filter_=filter_)
        client = telemetry.client(tracers, filter_=filter_, **hooks)
        with serving(server) as address, grpc.insecure_channel(address) as plain:
            run.do(intercept_channel(plain, client), program)

    try:
        contextvars.Context().run(lambda: asyncio.run(aio()) if chosen["is_aio"] else sync())
    finally:
        propagate.set_global_textmap(before)
    return run.happened, sorted(telemetry.seen(), key=str)


@pytest.mark.proves("grpc.*")
@settings(
    max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)
@given(chosen=SETTINGS, program=PROGRAMS)
def test_random_calls(ours, chosen, program):
    """Spans, metadata, results, exceptions and contexts are the same."""
    left = happens(chosen, program)
    with stock_functions():
        right = happens(chosen, program)
    assert left == right
