"""The hooks around messages that kafka-python sends and receives. Plain Python; compiled as `kafka_hooks_c`.

Each does what stock's does, in the same order. Where a hook of the user's looks at a message that is received, stock's
own code runs; without one, nobody can see that the span is not the current one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from opentelemetry.instrumentation.kafka import utils as _stock
from opentelemetry.semconv._incubating.attributes.messaging_attributes import MESSAGING_SYSTEM as _SYSTEM
from opentelemetry.semconv.trace import SpanAttributes
from opentelemetry.trace import SpanKind

from otel_fastpath.messaging.kafka_python.stock_kafka import HOOKED
from otel_fastpath.messaging.message_headers import remote_context, write_header
from otel_fastpath.messaging.message_hooks import describe, finish, is_usual, json_of, own_tracer
from otel_fastpath.patching import faults
from otel_fastpath.trace.context.scope import raise_as_generator
from otel_fastpath.wrapping.replacements import Replacements
from otel_fastpath.wrapping.stock_hooks import variables

if TYPE_CHECKING:
    from collections.abc import Callable

_CONSUMER = SpanKind.CONSUMER
_PRODUCER = SpanKind.PRODUCER
_DESTINATION = SpanAttributes.MESSAGING_DESTINATION
_PARTITION = SpanAttributes.MESSAGING_KAFKA_PARTITION
_URL = SpanAttributes.MESSAGING_URL
_SENDING = "sending a message of Kafka's"
_RECEIVING = "receiving a message of Kafka's"
_SERVERS = "bootstrap_servers"
# The index of the headers in the arguments of `KafkaProducer.send`, as stock has it.
_HEADERS = 3
# What other code may replace in stock's module is looked up at each call.
_globals = vars(_stock)
_replacements = Replacements(HOOKED)


def are_known() -> bool:
    """Whether what the hooks of stock call is stock's own; what that is has been looked at then."""
    return not _replacements.exist()


def bind_send(original: Callable[..., Any]) -> Callable[..., Any]:
    """Make the replacement for what `_wrap_send` returns."""
    own = variables(original)
    tracer, produce_hook = own["tracer"], own["produce_hook"]

    def traced_send(wrapped: Any, instance: Any, args: Any, kwargs: Any) -> Any:
        scope_of_host = None
        try:
            topic = args[0] if args else kwargs.get("topic")
            if type(topic) is str and type(instance.config) is dict and not _replacements.exist():
                headers = args[_HEADERS] if len(args) > _HEADERS else kwargs.get("headers")
                servers = instance.config.get(_SERVERS)
                scope_of_host = tracer.start_as_current_span(f"{topic} send", kind=_PRODUCER)
        except Exception as error:
            faults.absorb(_SENDING, error)
        if scope_of_host is None:
            return original(wrapped, instance, args, kwargs)
        if headers is None:
            headers = kwargs["headers"] = []
        with scope_of_host as span:
            _inject(headers, span)
            try:
                if callable(produce_hook):
                    produce_hook(span, args, kwargs)
            except Exception as hook_exception:
                _stock_log = _globals["_LOG"].exception
                _stock_log(hook_exception)
            future = wrapped(*args, **kwargs)
            _describe_sent(span, topic, servers, future)
            return future

    return traced_send


def _inject(headers: Any, span: Any) -> None:
    """Write the headers of the span, which is the current one."""
    is_written = False
    try:
        is_written = write_header(headers, span, is_current=True)
    except Exception as error:
        faults.absorb(_SENDING, error)
    if not is_written:
        _stock_context, inject = _globals["trace"].set_span_in_context, _globals["propagate"].inject
        inject(headers, context=_stock_context(span), setter=_globals["_kafka_setter"])


def _describe_sent(span: Any, topic: Any, servers: Any, future: Any) -> None:
    """Set the attributes of a message that was sent."""
    text = None
    try:
        text = json_of(servers)
        place = getattr(getattr(future, "_produce_future", None), "topic_partition", None)
        if text is not None and isinstance(place, tuple) and len(place) > 1:
            describe(span, _attributes(topic, place[1], text), _SENDING)
            return
    except Exception as error:
        faults.absorb(_SENDING, error)
    _stock_partition, _stock_enrich = (
        _globals["KafkaPropertiesExtractor"].extract_send_partition,
        _globals["_enrich_span"],
    )
    _stock_enrich(span, servers, topic, _stock_partition(future))


def bind_next(original: Callable[..., Any]) -> Callable[..., Any]:
    """Make the replacement for what `_wrap_next` returns."""
    own = variables(original)
    tracer, consume_hook = own["tracer"], own["consume_hook"]

    def traced_next(wrapped: Any, instance: Any, args: Any, kwargs: Any) -> Any:
        record = wrapped(*args, **kwargs)
        is_described = False
        try:
            own = own_tracer(tracer)
            if record and is_usual(own, consume_hook, _replacements):
                is_described = _receive(own, instance, record)
        except Exception as error:
            raise_as_generator(error)
            faults.absorb(_RECEIVING, error)
        # What is left to stock is all that it does once it has the message.
        return record if is_described else original(lambda *_args, **_kwargs: record, instance, args, kwargs)

    return traced_next


def _receive(tracer: Any, instance: Any, record: Any) -> bool:
    """Make the span of a message; False if stock must do it."""
    topic, config = record.topic, instance.config
    if type(topic) is not str or type(config) is not dict:
        return False
    servers, context = json_of(config.get(_SERVERS)), remote_context(record.headers)
    if servers is None or context is None:
        return False
    found = _attributes(topic, record.partition, servers)
    span = tracer.start_span(f"{topic} receive", context, _CONSUMER)
    finish(span, found, _RECEIVING)
    return True


def _attributes(topic: Any, partition: Any, servers: Any) -> dict[str, Any]:
    """The attributes of a message."""
    found = {_SYSTEM: "kafka", _DESTINATION: topic}
    if partition is not None:
        found[_PARTITION] = partition
    found[_URL] = servers
    return found
