"""Random messages of aio-pika leave the same telemetry with stock's hooks and with this package's."""

# ruff: noqa: ARG001  # the fixture `ours` puts the hooks in their places

from __future__ import annotations

import asyncio
import contextvars
from datetime import timedelta

import aio_pika
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from message_contexts import PARENT, PROPAGATORS, around
from opentelemetry import context, propagate, trace
from opentelemetry.sdk.trace import SpanLimits
from opentelemetry.sdk.trace.sampling import ALWAYS_OFF
from own_tracers import OwnTracers

from .conftest import Telemetry, incoming, stock_hooks


class OwnMessage(aio_pika.Message):
    """An application's own."""


class OwnIncoming(aio_pika.IncomingMessage):
    """Likewise."""


VALUES = {
    "traceparent": st.sampled_from((PARENT, PARENT, PARENT.replace("-01", "-00"), "00-0", b"x", 7, None, [PARENT])),
    "tracestate": st.sampled_from(("a=1,b=2", None, "")),
    "baggage": st.sampled_from(("user=bob", None)),
    "x-tenant": st.just("shop"),
    "broken": st.just("x"),
}
HEADERS = st.one_of(st.none(), st.fixed_dictionaries({}, optional=VALUES))
IDS = st.sampled_from((None, None, "one", "", 7, b"x"))
EXPIRATIONS = st.sampled_from((None, None, 5, 0.5, timedelta(seconds=2), "soon"))
MESSAGES = st.tuples(st.sampled_from((False, False, True)), HEADERS, IDS, IDS, EXPIRATIONS)
KEYS = st.sampled_from(("new", "new", "", "\u00e4", 7, None))
ERRORS = st.sampled_from((None, None, None, LookupError("the broker's"), KeyboardInterrupt()))
STEPS = st.recursive(
    st.one_of(
        st.tuples(
            st.just("publish"), MESSAGES, KEYS, st.sampled_from(("positional", "named", "all", "odd", "short")), ERRORS
        ),
        st.tuples(st.just("receive"), MESSAGES, st.sampled_from(("orders", "orders", "", None)), KEYS, ERRORS),
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
        "kind": st.sampled_from(("plain", "plain", "robust", "odd", "without")),
        "name": st.sampled_from(("orders", "orders", "", 7)),
    }
)


class Run:
    """One run of a program."""

    def __init__(self, telemetry, rabbit, chosen):
        self.rabbit, self.chosen, self.happened = rabbit, chosen, []
        self.tracer = telemetry.tracers.get_tracer("application")
        rabbit.during = self.look

    def look(self):
        """What the application sees."""
        span = trace.get_current_span()
        found = context.get_current()
        self.happened.append((sorted(found), str(found.get("user")), getattr(span, "name", ""), span.is_recording()))

    async def main(self, steps):
        """Run all steps."""
        self.exchange, self.callback = await self.rabbit.consumer(self.chosen["kind"])
        self.exchange.name = self.chosen["name"]
        await self.do(steps)

    async def do(self, steps):
        """Run some."""
        for what, *rest in steps:
            if what in {"span", "bag", "suppressed", "remote"}:
                with around(self.tracer, what):
                    await self.do(*rest)
                continue
            try:
                self.happened.append(type(await getattr(self, what)(*rest)).__name__)
            except BaseException as error:
                self.happened.append((type(error).__name__, str(error)))
            self.look()

    @staticmethod
    def fields(drawn):
        """The fields of a message."""
        _, headers, message_id, correlation_id, expiration = drawn
        fields = {"message_id": message_id, "correlation_id": correlation_id, "expiration": expiration}
        return fields if headers is None else {**fields, "headers": dict(headers)}

    async def publish(self, drawn, key, how, error):
        """Send one."""
        message = (OwnMessage if drawn[0] else aio_pika.Message)(b"{}", **self.fields(drawn))
        self.rabbit.error = error
        try:
            if how == "positional":
                return await self.exchange.publish(message, key, mandatory=False)
            if how == "named":
                return await self.exchange.publish(message, routing_key=key, timeout=3)
            if how == "all":
                return await self.exchange.publish(message=message, routing_key=key)
            if how == "odd":
                return await self.exchange.publish(message, key, routing_key=key)
            return await self.exchange.publish(message)
        finally:
            self.happened.append(str(message.headers))

    async def receive(self, drawn, exchange, key, error):
        """Receive one in the callback."""
        kind = OwnIncoming if drawn[0] else aio_pika.IncomingMessage
        self.rabbit.error = error
        return await self.callback(incoming(kind, exchange, key, **self.fields(drawn)))


def happens(chosen, program, rabbit, caplog):
    """What happens in the program."""
    given_ = {} if chosen["sampler"] is None else {"sampler": chosen["sampler"]}
    if chosen["most"] is not None:
        given_["span_limits"] = SpanLimits(max_attributes=chosen["most"])
    telemetry = Telemetry(**given_)
    caplog.clear()
    rabbit.sent.clear()
    tracers = {"sdk": telemetry.tracers, "own": OwnTracers(telemetry.tracers), "none": trace.NoOpTracerProvider()}
    before = propagate.get_global_textmap()
    propagate.set_global_textmap(PROPAGATORS[chosen["propagator"]]())
    run = Run(telemetry, rabbit, chosen)
    try:
        with telemetry.instrumented(tracers[chosen["tracers"]]):
            contextvars.Context().run(lambda: asyncio.run(run.main(program)))
    finally:
        propagate.set_global_textmap(before)
    logged = [(each.name, each.levelname, str(each.msg)) for each in caplog.records if "opentelemetry" in each.name]
    sent = [(str(args[0].headers), *args[1:], more) for args, more in rabbit.sent]
    return [telemetry.shown(run.happened), telemetry.shown(sent), telemetry.seen(), logged]


@pytest.mark.proves("aio_pika.hooks", "aio_pika.callback")
@settings(
    max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)
@given(chosen=SETTINGS, program=PROGRAMS)
def test_random_messages(ours, rabbit, caplog, chosen, program):
    """Spans, messages, results, exceptions, contexts and log records are the same."""
    caplog.set_level("DEBUG")
    left = happens(chosen, program, rabbit, caplog)
    with stock_hooks():
        right = happens(chosen, program, rabbit, caplog)
    assert left == right
