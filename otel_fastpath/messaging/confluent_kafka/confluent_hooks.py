"""The hooks around messages that confluent-kafka sends and receives. Plain Python; compiled as `confluent_hooks_c`.

Each does what stock's does, in the same order.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from opentelemetry.instrumentation import confluent_kafka as _stock
from opentelemetry.instrumentation.confluent_kafka import utils as _utils
from opentelemetry.semconv._incubating.attributes import messaging_attributes as _names
from opentelemetry.semconv.attributes.server_attributes import SERVER_ADDRESS as _HOST
from opentelemetry.semconv.attributes.server_attributes import SERVER_PORT as _PORT
from opentelemetry.semconv.trace import MessagingDestinationKindValues, SpanAttributes
from opentelemetry.trace import Link, SpanKind

from otel_fastpath.compiled.helpers import get_item
from otel_fastpath.messaging.confluent_kafka.stock_confluent import HOOKED
from otel_fastpath.messaging.message_headers import remote_context, write_header
from otel_fastpath.messaging.message_hooks import describe, is_usual, own_tracer
from otel_fastpath.patching import faults
from otel_fastpath.patching.cache import keep
from otel_fastpath.patching.swapping.switches import Switch, make_switchable
from otel_fastpath.trace.context.context_functions import attach_known, known_context
from otel_fastpath.trace.context.current_context import with_span
from otel_fastpath.wrapping.replacements import Replacements

if TYPE_CHECKING:
    from collections.abc import Callable

_CONSUMER = SpanKind.CONSUMER
_PRODUCER = SpanKind.PRODUCER
_SYSTEM = _names.MESSAGING_SYSTEM
_ID = _names.MESSAGING_MESSAGE_ID
_OPERATION = _names.MESSAGING_OPERATION
_DESTINATION = SpanAttributes.MESSAGING_DESTINATION
_KIND = SpanAttributes.MESSAGING_DESTINATION_KIND
_PARTITION = SpanAttributes.MESSAGING_KAFKA_PARTITION
_QUEUE = MessagingDestinationKindValues.QUEUE.value
_PUBLISH = _names.MessagingOperationTypeValues.PUBLISH.value
_PROCESS = _names.MessagingOperationTypeValues.PROCESS.value
_SENDING = "sending a message of Kafka's"
_RECEIVING = "receiving messages of Kafka's"
# The index of the headers in the arguments of `Producer.produce`.
_HEADERS = 6
# Lists of servers, and the attributes of the first one.
_addresses: dict[str, dict[str, Any]] = {}
# What other code may replace in stock's modules is looked up at each call.
_globals = vars(_stock)
_utils_globals = vars(_utils)
_replacements = Replacements(HOOKED)


def are_known() -> bool:
    """Whether what the hooks of stock call is stock's own; what that is has been looked at then."""
    return not _replacements.exist()


def bind_produce(original: Callable[..., Any]) -> Callable[..., Any]:
    """Make the replacement for `wrap_produce`."""
    switch = Switch()

    def wrap_produce(func: Any, instance: Any, tracer: Any, args: Any, kwargs: Any) -> Any:
        scope_of_host = None
        try:
            if not switch.inert and is_usual(own_tracer(tracer), None, _replacements):
                topic = kwargs.get("topic") or (args[0] if args else None)
                headers = args[_HEADERS] if len(args) > _HEADERS else kwargs.get("headers")
                found = _attributes(topic, instance, _PUBLISH, None, None)
                if found is not None and (headers is None or type(headers) is list):
                    scope_of_host = tracer.start_as_current_span(name=f"{topic} send", kind=_PRODUCER)
        except Exception as error:
            faults.absorb(_SENDING, error)
        if scope_of_host is None:
            return original(func, instance, tracer, args, kwargs)
        with scope_of_host as span:
            if headers is None:
                headers = kwargs["headers"] = []
            describe(span, found, _SENDING)
            _inject(headers, span)
            wrapped = func
            return wrapped(*args, **kwargs)

    return make_switchable(original, wrap_produce, switch)


def _inject(headers: Any, span: Any) -> None:
    """Write the headers of the span, which is the current one."""
    is_written = False
    try:
        is_written = write_header(headers, span, is_current=True)
    except Exception as error:
        faults.absorb(_SENDING, error)
    if not is_written:
        inject = _globals["propagate"].inject
        inject(headers, setter=_globals["_kafka_setter"])


def bind_poll(original: Callable[..., Any]) -> Callable[..., Any]:
    """Make the replacement for `wrap_poll`."""
    return _bind_receiving(original, False)  # noqa: FBT003  # its field


def bind_consume(original: Callable[..., Any]) -> Callable[..., Any]:
    """Make the replacement for `wrap_consume`."""
    return _bind_receiving(original, True)  # noqa: FBT003  # its field


def _bind_receiving(original: Callable[..., Any], has_many: bool) -> Callable[..., Any]:
    """Make the replacement for what receives one message, or a list of them."""
    switch = Switch()

    def wrap_receiving(func: Any, instance: Any, tracer: Any, args: Any, kwargs: Any) -> Any:
        is_ours = False
        try:
            own = own_tracer(tracer)
            is_ours = not switch.inert and is_usual(own, None, _replacements)
        except Exception as error:
            faults.absorb(_RECEIVING, error)
        if not is_ours:
            return original(func, instance, tracer, args, kwargs)
        if instance._current_consume_span:
            _stock_end = _globals["_end_current_consume_span"]
            _stock_end(instance)
        wrapped = func
        received = wrapped(*args, **kwargs)
        scope_of_host: Any = None
        try:
            if received and (not has_many or type(received) is list):
                records = received if has_many else [received]
                found, links = _attributes_of(instance, records, has_many), _links(records)
                if found is not None and links is not None:
                    scope_of_host = own.start_as_current_span("recv", end_on_exit=True, kind=_CONSUMER)
        except Exception as error:
            faults.absorb(_RECEIVING, error)
        if scope_of_host is None:
            # What is left to stock is all that it does once it has the messages.
            return original(lambda *_args, **_kwargs: received, instance, tracer, args, kwargs)
        with scope_of_host:
            _start(own, instance, found, links)
        _make_current(instance)
        return received

    return make_switchable(original, wrap_receiving, switch)


def _attributes_of(instance: Any, records: Any, has_many: bool) -> Any:
    """The attributes of messages that are received; None if stock must make them."""
    first = records[0]
    if has_many:
        return _attributes(first.topic(), instance, _PROCESS, None, None)
    return _attributes(first.topic(), instance, _PROCESS, first.partition(), first.offset())


def _links(records: Any) -> Any:
    """The links to the spans that sent messages; None if stock must make them."""
    links = []
    for record in records:
        headers = record.headers()
        # Propagators other than W3C's may find something without headers, too.
        context = remote_context(() if headers is None else headers)
        if context is None:
            return None
        spans = [item for item in context.values() if hasattr(item, "get_span_context")]
        links.extend([Link(context=span.get_span_context()) for span in spans])
    return links


def _start(tracer: Any, instance: Any, found: dict[str, Any], links: Any) -> None:
    """Make the span of what is received, which lasts until the next is asked for."""
    try:
        span = tracer.start_span(name=f"{found[_DESTINATION]} process", links=links, kind=_CONSUMER)
        instance._current_consume_span = span
        describe(span, found, _RECEIVING)
    except Exception as error:
        faults.absorb(_RECEIVING, error)


def _make_current(instance: Any) -> None:
    """Make this span the current one."""
    try:
        span, context = instance._current_consume_span, known_context(None)
        token = None if context is None else attach_known(with_span(context, span))
        if token is None:
            token = _globals["context"].attach(_globals["trace"].set_span_in_context(span))
        instance._current_context_token = token
    except Exception as error:
        faults.absorb(_RECEIVING, error)
        instance._current_context_token = None


def _attributes(topic: Any, instance: Any, operation: Any, partition: Any, offset: Any) -> Any:
    """The attributes of messages; None if stock must make them."""
    address = _address(instance)
    if type(topic) is not str or address is None:
        return None
    found = {_SYSTEM: "kafka", _DESTINATION: topic}
    if partition is not None:
        found[_PARTITION] = partition
    found[_KIND] = _QUEUE
    found[_OPERATION] = operation
    found.update(address)
    if partition is not None and offset is not None and topic:
        found[_ID] = f"{topic}.{partition}.{offset}"
    return found


def _address(instance: Any) -> Any:
    """The attributes of the first server; None if stock must make them."""
    config = getattr(instance, "config", None)
    if type(config) is not dict:
        return None
    servers = config.get("bootstrap.servers") or config.get("bootstrap_servers")
    if type(servers) is not str:
        return None
    found = get_item(_addresses, servers)
    if found is None:
        host, colon, port = servers.split(",")[0].strip().rpartition(":")
        # Of a port that is no number, stock says so at each message.
        if not colon or not port.isdecimal():
            return None
        found = {_HOST: host, _PORT: int(port)}
        keep(_addresses, servers, found)
    return found
