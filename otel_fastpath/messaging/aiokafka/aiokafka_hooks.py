"""The hooks around messages that aiokafka sends and receives. Plain Python; compiled as `aiokafka_hooks_c`.

Each does what stock's does, in the same order. Where a hook of the user's looks at a message, stock's own code runs;
without one, nobody can see that the span is not the current one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from opentelemetry.instrumentation.aiokafka import utils as _stock
from opentelemetry.semconv._incubating.attributes import messaging_attributes as _names
from opentelemetry.semconv.attributes.server_attributes import SERVER_ADDRESS as _SERVERS
from opentelemetry.trace import SpanKind

from otel_fastpath.messaging.aiokafka.stock_aiokafka import HOOKED
from otel_fastpath.messaging.message_headers import remote_context, write_header
from otel_fastpath.messaging.message_hooks import describe, finish, is_usual, json_of, own_tracer
from otel_fastpath.messaging.stock_messages import again
from otel_fastpath.patching import faults
from otel_fastpath.wrapping.replacements import Replacements
from otel_fastpath.wrapping.stock_hooks import variables

if TYPE_CHECKING:
    from collections.abc import Callable

_CONSUMER = SpanKind.CONSUMER
_PRODUCER = SpanKind.PRODUCER
_SYSTEM = _names.MESSAGING_SYSTEM
_CLIENT = _names.MESSAGING_CLIENT_ID
_TOPIC = _names.MESSAGING_DESTINATION_NAME
_PARTITION = _names.MESSAGING_DESTINATION_PARTITION_ID
_KEY = _names.MESSAGING_KAFKA_MESSAGE_KEY
_GROUP = _names.MESSAGING_CONSUMER_GROUP_NAME
_COUNT = _names.MESSAGING_BATCH_MESSAGE_COUNT
_NAME = _names.MESSAGING_OPERATION_NAME
_TYPE = _names.MESSAGING_OPERATION_TYPE
_OFFSET = _names.MESSAGING_KAFKA_MESSAGE_OFFSET
_ID = _names.MESSAGING_MESSAGE_ID
_KAFKA = _names.MessagingSystemValues.KAFKA.value
_PUBLISH = _names.MessagingOperationTypeValues.PUBLISH.value
_RECEIVE = _names.MessagingOperationTypeValues.RECEIVE.value
_SENDING = "sending a message of Kafka's"
_RECEIVING = "receiving messages of Kafka's"
# Indexes of arguments of `AIOKafkaProducer.send`.
_KEY_GIVEN = 2
_PLACE = 3
_HEADERS = 5
_SERIALIZED = frozenset({bytes, bytearray, memoryview, type(None)})
# The texts of keys of these types are made without a call of other code.
_PLAIN = frozenset({bytes, str, int, type(None)})
# What other code may replace in stock's module is looked up at each call.
_globals = vars(_stock)
_replacements = Replacements(HOOKED)


def are_known() -> bool:
    """Whether what the hooks of stock call is stock's own; what that is has been looked at then."""
    return not _replacements.exist()


def bind_send(original: Callable[..., Any]) -> Callable[..., Any]:
    """Make the replacement for what `_wrap_send` returns."""
    own = variables(original)
    tracer, hook = own["tracer"], own["async_produce_hook"]

    async def traced_send(wrapped: Any, instance: Any, args: Any, kwargs: Any) -> Any:
        found = None
        try:
            own = own_tracer(tracer)
            topic = args[0] if args else kwargs.get("topic")
            key = args[_KEY_GIVEN] if len(args) > _KEY_GIVEN else kwargs.get("key")
            if type(topic) is str and type(key) in _PLAIN and is_usual(own, hook, _replacements):
                headers = args[_HEADERS] if len(args) > _HEADERS else kwargs.get("headers")
                found = _shared(instance.client)
        except Exception as error:
            faults.absorb(_SENDING, error)
        if found is None:
            return await original(wrapped, instance, args, kwargs)
        args = args[:_HEADERS]
        kwargs["headers"] = headers = [] if headers is None else headers
        partition = None
        try:
            value = args[1] if len(args) > 1 else kwargs.get("value")
            key_bytes = _serialized(instance._key_serializer, key)
            value_bytes = _serialized(instance._value_serializer, value)
            if type(key_bytes) in _SERIALIZED and type(value_bytes) in _SERIALIZED:
                given = args[_PLACE] if len(args) > _PLACE else kwargs.get("partition")
                await instance.client._wait_on_metadata(topic)
                partition = instance._partition(topic, given, key, value, key_bytes, value_bytes)
        except Exception as exception:
            _stock_log = _globals["_LOG"].debug
            _stock_log("Unable to extract partition: %s", exception)
        _send(own, topic, key, headers, found, partition)
        return await wrapped(*args, **kwargs)

    return traced_send


def _serialized(serializer: Any, value: Any) -> Any:
    return serializer(value) if serializer else value


def _send(tracer: Any, topic: Any, key: Any, headers: Any, found: dict[str, Any], partition: Any) -> None:
    """Make the span of a message, and write its headers."""
    span = None
    is_written = False
    try:
        _add_place(found, topic, partition, key)
        found[_NAME] = "send"
        found[_TYPE] = _PUBLISH
        span = tracer.start_span(f"{topic} send", None, _PRODUCER)
        is_written = write_header(headers, span, is_current=False)
    except Exception as error:
        faults.absorb(_SENDING, error)
    if span is None:
        return
    if is_written:
        finish(span, found, _SENDING)
        return
    describe(span, found, _SENDING)
    _stock_scope, _stock_context = _globals["trace"].use_span, _globals["trace"].set_span_in_context
    with _stock_scope(span, end_on_exit=True):
        inject = _globals["propagate"].inject
        inject(headers, context=_stock_context(span), setter=_globals["_aiokafka_setter"])


def bind_getone(original: Callable[..., Any]) -> Callable[..., Any]:
    """Make the replacement for what `_wrap_getone` returns."""
    own = variables(original)
    tracer, hook = own["tracer"], own["async_consume_hook"]

    async def traced_getone(wrapped: Any, instance: Any, args: Any, kwargs: Any) -> Any:
        record = await wrapped(*args, **kwargs)
        span = None
        try:
            own = own_tracer(tracer)
            if record and type(record.key) in _PLAIN and is_usual(own, hook, _replacements):
                span = _receive(own, record, _shared(instance._client), instance._group_id)
        except Exception as error:
            faults.absorb(_RECEIVING, error)
        return record if span is not None else await original(again(record), instance, args, kwargs)

    return traced_getone


def bind_getmany(original: Callable[..., Any]) -> Callable[..., Any]:
    """Make the replacement for what `_wrap_getmany` returns."""
    own = variables(original)
    tracer, hook = own["tracer"], own["async_consume_hook"]

    async def traced_getmany(wrapped: Any, instance: Any, args: Any, kwargs: Any) -> Any:
        records = await wrapped(*args, **kwargs)
        scope_of_host: Any = None
        shared: Any = None
        try:
            own = own_tracer(tracer)
            if type(records) is dict and records and is_usual(own, hook, _replacements) and _are_plain(records):
                shared, group = _shared(instance._client), instance._group_id
                if shared is not None:
                    count = sum([len(of_topic) for of_topic in records.values()])
                    found = _received(shared.copy(), group, count)
                    topics = ", ".join(sorted({place.topic for place in records}))
                    scope_of_host = own.start_as_current_span(f"{topics} receive", kind=_CONSUMER)
        except Exception as error:
            faults.absorb(_RECEIVING, error)
        if scope_of_host is None:
            return await original(again(records), instance, args, kwargs)
        places_of_host = records
        with scope_of_host as span:
            describe(span, found, _RECEIVING)
            for place in places_of_host:
                _receive_topic(own, place, records[place], shared, group)
        return records

    return traced_getmany


def _are_plain(records: dict[Any, Any]) -> bool:
    """Whether the texts of all keys can be made without a call of other code."""
    for of_topic in records.values():
        for record in of_topic:
            if type(record.key) not in _PLAIN:
                return False
    return True


def _receive_topic(tracer: Any, place: Any, records: Any, shared: dict[str, Any], group: Any) -> None:
    """Make the span of one topic's messages, and those of these."""
    try:
        found = shared.copy()
        _add_place(found, place.topic, place.partition, None)
        _received(found, group, len(records))
        with tracer.start_as_current_span(f"{place.topic} receive", kind=_CONSUMER) as topic_span:
            describe(topic_span, found, _RECEIVING)
            for record in records:
                span = _receive(tracer, record, shared.copy(), group)
                topic_span.add_link(span.get_span_context())
    except Exception as error:
        faults.absorb(_RECEIVING, error)


def _receive(tracer: Any, record: Any, found: Any, group: Any) -> Any:
    """Make the span of a message; None if stock must do it."""
    if found is None:
        return None
    topic, partition, offset = record.topic, record.partition, record.offset
    context = remote_context(record.headers)
    if context is None:
        context = _globals["propagate"].extract(record.headers, getter=_globals["_aiokafka_getter"])
    _add_place(found, topic, partition, record.key)
    _received(found, group, None)
    found[_OFFSET] = offset
    if partition is not None:
        found[_ID] = f"{topic}.{partition}.{offset}"
    span = tracer.start_span(f"{topic} receive", context, _CONSUMER)
    finish(span, found, _RECEIVING)
    return span


def _shared(client: Any) -> dict[str, Any] | None:
    """The attributes that all messages of a client have; None if stock must make them."""
    servers = json_of(client._bootstrap_servers)
    return None if servers is None else {_SYSTEM: _KAFKA, _SERVERS: servers, _CLIENT: client._client_id}


def _add_place(found: dict[str, Any], topic: Any, partition: Any, key: Any) -> None:
    """Add what a message is found by."""
    found[_TOPIC] = topic
    if partition is not None:
        found[_PARTITION] = str(partition)
    if key is not None:
        text = None
        if type(key) is bytes:
            try:
                text = key.decode()
            except UnicodeDecodeError:
                text = None
        found[_KEY] = str(key) if text is None else text


def _received(found: dict[str, Any], group: Any, count: Any) -> dict[str, Any]:
    """Add what is said of messages that are received."""
    if group is not None:
        found[_GROUP] = group
    if count is not None:
        found[_COUNT] = count
    found[_NAME] = "receive"
    found[_TYPE] = _RECEIVE
    return found
