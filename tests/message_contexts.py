"""The contexts in which messages are sent and received, and the propagators that write and read their headers."""

# ruff: noqa: ARG002, D102, D105  # the methods are an interface's

from __future__ import annotations

from opentelemetry import baggage, context
from opentelemetry.baggage.propagation import W3CBaggagePropagator
from opentelemetry.instrumentation.utils import suppress_instrumentation
from opentelemetry.propagators.b3 import B3MultiFormat
from opentelemetry.propagators.composite import CompositePropagator
from opentelemetry.propagators.textmap import TextMapPropagator
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

PARENT = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"


class OwnPropagator(TextMapPropagator):
    """An application's own, which fails at some messages."""

    def extract(self, carrier, context=None, getter=None):
        if getter.get(carrier, "broken"):
            raise LookupError("read")
        return baggage.set_baggage("keys", str(getter.keys(carrier)), context)

    def inject(self, carrier, context=None, setter=None):
        setter.set(carrier, "own", "sent")
        if len(carrier) > 2:
            raise LookupError("written")

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


class attached:  # noqa: N801
    """A context that is the current one in a block."""

    def __init__(self, made):
        self._made = made

    def __enter__(self):
        self._token = context.attach(self._made)

    def __exit__(self, *_error):
        context.detach(self._token)


def around(tracer, what):
    """What a step is in: "span", "suppressed", "bag" or "remote"."""
    if what == "span":
        return tracer.start_as_current_span("around")
    if what == "suppressed":
        return suppress_instrumentation()
    remote = TraceContextTextMapPropagator().extract({"traceparent": PARENT, "tracestate": "a=1,b=2"})
    return attached(baggage.set_baggage("user", "ann") if what == "bag" else remote)
