"""Random messages of pika leave the same telemetry with stock's hooks and with this package's."""

# ruff: noqa: ARG001  # the fixture `ours` puts the hooks in their places

from __future__ import annotations

import contextvars

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from message_contexts import PARENT, PROPAGATORS, around
from opentelemetry import context, propagate, trace
from opentelemetry.instrumentation.utils import is_instrumentation_enabled
from opentelemetry.sdk.trace import SpanLimits
from opentelemetry.sdk.trace.sampling import ALWAYS_OFF
from own_tracers import OwnTracers
from pika.adapters.blocking_connection import (
    _ConsumerCancellationEvt,
    _ConsumerDeliveryEvt,
    _QueueConsumerGeneratorInfo,
)
from pika.spec import Basic, BasicProperties

from .conftest import Telemetry, stock_hooks


class OwnProperties(BasicProperties):
    """An application's own."""


VALUES = {
    "traceparent": st.sampled_from((PARENT, PARENT, PARENT.replace("-01", "-00"), "00-0", b"x", 7, None, [PARENT])),
    "tracestate": st.sampled_from(("a=1,b=2", None, "")),
    "baggage": st.sampled_from(("user=bob", None)),
    "x-tenant": st.just("shop"),
    "broken": st.just("x"),
}
HEADERS = st.one_of(st.none(), st.fixed_dictionaries({}, optional=VALUES))
IDS = st.sampled_from((None, None, "one", "", 7, b"x"))
PROPERTIES = st.one_of(
    st.none(),
    st.tuples(st.sampled_from((BasicProperties, BasicProperties, OwnProperties)), HEADERS, IDS, IDS),
)
PLACES = st.tuples(st.sampled_from(("orders", "orders", "", "\u00e4")), st.sampled_from(("new", "new", "", None, 7)))
ERRORS = st.sampled_from((None, None, None, LookupError("the broker's"), KeyboardInterrupt()))
MESSAGES = st.tuples(PLACES, PROPERTIES)
STEPS = st.recursive(
    st.one_of(
        st.tuples(st.just("publish"), MESSAGES, st.sampled_from(("positional", "named", "short")), ERRORS),
        st.tuples(st.just("receive"), MESSAGES, ERRORS),
        st.tuples(st.just("take"), st.lists(st.one_of(MESSAGES, st.none()), max_size=3)),
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
        "hooks": st.sampled_from((None, None, "plain", "failing", "odd")),
        "kind": st.sampled_from(("blocking", "blocking", "async", "other", "without")),
    }
)


class Run:
    """One run of a program."""

    def __init__(self, telemetry, rabbit, chosen, tracers):
        self.rabbit, self.kind, self.happened = rabbit, chosen["hooks"], []
        self.tracer = telemetry.tracers.get_tracer("application")
        rabbit.during = self.look
        self.channel, self.consume = rabbit.channel(tracers, chosen["kind"], **self.hooks())

    def look(self):
        """What the application sees."""
        span = trace.get_current_span()
        found = context.get_current()
        self.happened.append((sorted(found), str(found.get("user")), getattr(span, "name", ""), span.is_recording()))

    def hooks(self):
        """The user's."""
        if self.kind is None:
            return {}
        return dict.fromkeys(("publish_hook", "consume_hook"), "none" if self.kind == "odd" else self.hook)

    def hook(self, span, body, properties):
        """One of them."""
        self.look()
        span.set_attribute("hooked", f"{body} {sorted(properties.headers)}")
        if self.kind == "failing":
            raise LookupError("the hook's")

    def do(self, steps):
        """Run the steps."""
        for what, *rest in steps:
            if what in {"span", "bag", "suppressed", "remote"}:
                with around(self.tracer, what):
                    self.do(*rest)
                continue
            try:
                self.happened.append(str(getattr(self, what)(*rest)))
            except BaseException as error:
                self.happened.append((type(error).__name__, str(error)))
            self.look()

    def properties(self, drawn):
        """Properties of a message."""
        if drawn is None:
            return None
        kind, headers, message_id, correlation_id = drawn
        headers = None if headers is None else dict(headers)
        return kind(headers=headers, message_id=message_id, correlation_id=correlation_id, type="order")

    def publish(self, message, how, error):
        """Send one."""
        (exchange, routing_key), drawn = message
        self.rabbit.error = error
        properties = self.properties(drawn)
        try:
            if how == "short":
                return self.channel.basic_publish(exchange, routing_key, b"{}")
            if how == "positional":
                return self.channel.basic_publish(exchange, routing_key, b"{}", properties, 1)
            return self.channel.basic_publish(
                exchange=exchange, routing_key=routing_key, body=b"{}", properties=properties
            )
        finally:
            self.happened.append(str(properties))

    def receive(self, message, error):
        """Receive one in the callback."""
        (exchange, routing_key), drawn = message
        self.rabbit.error = error
        if not is_instrumentation_enabled():
            # Stock ends a span that it has not: see `test_a_consumer_that_is_suppressed`.
            return None
        method = Basic.Deliver("tag", 1, exchange=exchange, routing_key=routing_key)
        return self.consume(method, self.properties(drawn), b"{}")

    def take(self, messages):
        """Iterate over some, and once more than there are."""
        pending = _QueueConsumerGeneratorInfo((), "tag").pending_events
        for each in messages:
            if each is None:
                pending.append(_ConsumerCancellationEvt(None))
                continue
            (exchange, routing_key), drawn = each
            method = Basic.Deliver("tag", 1, exchange=exchange, routing_key=routing_key)
            pending.append(_ConsumerDeliveryEvt(method, self.properties(drawn), b"{}"))
        for _ in messages:
            event = pending.popleft()
            self.happened.append((type(event).__name__, str(getattr(event, "properties", ""))))
            self.look()
            with self.tracer.start_as_current_span("work"):
                pass
        pending.popleft()


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
    try:
        given_tracers = tracers[chosen["tracers"]]
        run = Run(telemetry, rabbit, chosen, given_tracers)
        hook = run.hooks().get("consume_hook")
        with telemetry.instrumented(given_tracers, **({} if hook is None else {"consume_hook": hook})):
            contextvars.Context().run(run.do, program)
    finally:
        propagate.set_global_textmap(before)
    logged = [(each.name, each.levelname, str(each.msg)) for each in caplog.records if "opentelemetry" in each.name]
    sent = [(*args[:3], str(args[3]), *args[4:], more) for args, more in rabbit.sent]
    return [telemetry.shown(run.happened), telemetry.shown(sent), telemetry.seen(), logged]


@pytest.mark.proves("pika.publish", "pika.callback", "pika.popleft")
@settings(
    max_examples=120, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)
@given(chosen=SETTINGS, program=PROGRAMS)
def test_random_messages(ours, rabbit, caplog, chosen, program):
    """Spans, messages, results, exceptions, contexts and log records are the same."""
    caplog.set_level("DEBUG")
    left = happens(chosen, program, rabbit, caplog)
    with stock_hooks():
        right = happens(chosen, program, rabbit, caplog)
    assert left == right
