"""The hooks around messages that pika sends and receives. Plain Python; compiled as `pika_hooks_c`.

Each does what stock's does, in the same order.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Any

from opentelemetry.instrumentation.pika import utils as _stock
from opentelemetry.semconv._incubating.attributes.messaging_attributes import MESSAGING_MESSAGE_ID as _ID
from opentelemetry.semconv._incubating.attributes.messaging_attributes import MESSAGING_SYSTEM as _SYSTEM
from opentelemetry.semconv._incubating.attributes.net_attributes import NET_PEER_NAME as _HOST
from opentelemetry.semconv._incubating.attributes.net_attributes import NET_PEER_PORT as _PORT
from opentelemetry.semconv.trace import MessagingOperationValues, SpanAttributes
from opentelemetry.trace import SpanKind
from pika.adapters.blocking_connection import BlockingChannel, BlockingConnection, _ConsumerDeliveryEvt
from pika.channel import Channel
from pika.spec import Basic, BasicProperties

from otel_fastpath.messaging.message_headers import inject_mapped, mapped_context
from otel_fastpath.messaging.message_hooks import add_texts, describe, give_back, is_usual, own_tracer
from otel_fastpath.messaging.pika.stock_pika import HOOKED
from otel_fastpath.patching import faults
from otel_fastpath.patching.swapping.switches import Switch, make_switchable
from otel_fastpath.trace.context.context_functions import attach_known
from otel_fastpath.trace.context.current_context import detach, restore
from otel_fastpath.wrapping.call_span import is_suppressed
from otel_fastpath.wrapping.replacements import Replacements
from otel_fastpath.wrapping.starting import end_span

if TYPE_CHECKING:
    from collections.abc import Callable

_CONSUMER = SpanKind.CONSUMER
_PRODUCER = SpanKind.PRODUCER
_OPERATION = SpanAttributes.MESSAGING_OPERATION
_TEMPORARY = SpanAttributes.MESSAGING_TEMP_DESTINATION
_DESTINATION = SpanAttributes.MESSAGING_DESTINATION
_CONVERSATION = SpanAttributes.MESSAGING_CONVERSATION_ID
_RECEIVE = MessagingOperationValues.RECEIVE.value
_SENDING = "sending a message with pika"
_RECEIVING = "receiving a message with pika"
_no_hook = _stock.dummy_callback
# What other code may replace in stock's module is looked up at each call.
_globals = vars(_stock)
_replacements = Replacements(HOOKED)


def are_known() -> bool:
    """Whether what the hooks of stock call is stock's own; what that is has been looked at then."""
    return not _replacements.exist()


def bind_publish(
    original: Callable[..., Any], *, original_function: Any, channel: Any, tracer: Any, publish_hook: Any
) -> Callable[..., Any]:
    """Make the replacement for the `basic_publish` that a channel has."""
    wrapped = original_function

    def publish(exchange: Any, routing_key: Any, body: Any, properties: Any = None, mandatory: Any = False) -> Any:
        span = None
        try:
            own = own_tracer(tracer)
            if is_usual(own, None, _replacements) and not is_suppressed():
                sent = BasicProperties(headers={}) if properties is None else properties
                found = _attributes(exchange, routing_key, sent, _TEMPORARY, True)  # noqa: FBT003  # its value
                if found is not None and _add_peer(found, channel):
                    span = own.start_span(f"{found[_DESTINATION]} send", None, _PRODUCER)
        except Exception as error:
            faults.absorb(_SENDING, error)
        if span is None:
            return original(exchange, routing_key, body, properties, mandatory)
        describe(span, found, _SENDING)
        _stock_scope = _globals["trace"].use_span
        with _stock_scope(span, end_on_exit=True):
            inject_mapped(sent.headers, _SENDING)
            if publish_hook is not _no_hook:
                _call_hook(publish_hook, span, body, sent)
            return wrapped(exchange, routing_key, body, sent, mandatory)

    return publish


def bind_callback(
    original: Callable[..., Any], *, callback: Any, tracer: Any, consume_hook: Any, **_unused: Any
) -> Callable[..., Any]:
    """Make the replacement for the callback of a consumer."""
    wrapped = callback

    def consume(channel: Any, method: Any, properties: Any, body: Any) -> Any:
        span = token = None
        try:
            own = own_tracer(tracer)
            if is_usual(own, None, _replacements) and type(method) is Basic.Deliver:
                found = _attributes(method.exchange, method.routing_key, properties, _OPERATION, _RECEIVE)
                if found is not None and _add_peer(found, channel):
                    context = _remote_context(properties.headers)
                    token = attach_known(context) if context else None
                    if not is_suppressed() and (token is not None or not context):
                        span = own.start_span(f"{found[_DESTINATION]} receive", None, _CONSUMER)
        except Exception as error:
            faults.absorb(_RECEIVING, error)
        if span is None:
            give_back(token, _RECEIVING)
            return original(channel, method, properties, body)
        try:
            describe(span, found, _RECEIVING)
            _stock_scope = _globals["trace"].use_span
            with _stock_scope(span, end_on_exit=True):
                if consume_hook is not _no_hook:
                    _call_hook(consume_hook, span, body, properties)
                return wrapped(channel, method, properties, body)
        finally:
            give_back(token, _RECEIVING)

    return consume


def bind_popleft(original: Callable[..., Any]) -> Callable[..., Any]:
    """Make the replacement for what takes the next message of `BlockingChannel.consume`."""
    switch = Switch()

    def popleft(self: Any, *args: Any, **kwargs: Any) -> Any:
        found = None
        try:
            if not switch.inert and not args and not kwargs:
                own, queue = own_tracer(self._self_tracer), self.__wrapped__
                if self._self_consume_hook is _no_hook and is_usual(own, None, _replacements):
                    found = _attributes_of_first(queue)
                    wrapped = queue.popleft
        except Exception as error:
            faults.absorb(_RECEIVING, error)
        if found is None:
            return original(self, *args, **kwargs)
        try:
            left = self._self_active_token
            if left:
                detach(left)
        except Exception as error:
            _stock_log = _globals["_LOG"].exception
            _stock_log(error)
        event = wrapped()
        _receive(self, own, event.properties.headers, found)
        return event

    return make_switchable(original, popleft, switch)


def _attributes_of_first(queue: Any) -> Any:
    """The attributes of the next message; None if stock must take it."""
    if type(queue) is not deque or not queue or is_suppressed():
        return None
    event = queue[0]
    if type(event) is not _ConsumerDeliveryEvt or type(event.method) is not Basic.Deliver:
        return None
    method = event.method
    return _attributes(method.exchange, method.routing_key, event.properties, _OPERATION, _RECEIVE)


def _receive(proxy: Any, tracer: Any, headers: Any, found: dict[str, Any]) -> None:
    """Make the span of a message, end it, and leave it the current one."""
    span = token = None
    try:
        context = _remote_context(headers)
        token = _attach(context) if context else None
        span = tracer.start_span(f"{found[_DESTINATION]} receive", None, _CONSUMER)
        if token is not None:
            detach(token)
            token = None
        describe(span, found, _RECEIVING)
        proxy._self_active_token = _attach(_globals["trace"].set_span_in_context(span))
    except Exception as error:
        faults.absorb(_RECEIVING, error)
        if token is not None:
            restore(token)
    if span is not None:
        end_span(span, _RECEIVING)


def _attach(context: Any) -> Any:
    token = attach_known(context)
    return _globals["context"].attach(context) if token is None else token


def _call_hook(hook: Any, span: Any, body: Any, properties: Any) -> None:
    """Call a hook of the user's."""
    try:
        hook(span, body, properties)
    except Exception as hook_exception:
        _stock_log = _globals["_LOG"].exception
        _stock_log(hook_exception)


def _attributes(exchange: Any, routing_key: Any, properties: Any, operation: str, value: Any) -> Any:
    """The attributes of a message, whose properties have headers from here on; None if stock must make them."""
    if type(exchange) is not str or type(routing_key) is not str or type(properties) is not BasicProperties:
        return None
    found = {_SYSTEM: "rabbitmq", operation: value, _DESTINATION: exchange or routing_key}
    if not add_texts(found, _ID, properties.message_id, _CONVERSATION, properties.correlation_id):
        return None
    if properties.headers is None:
        properties.headers = {}
    return found


def _add_peer(found: dict[str, Any], channel: Any) -> bool:
    """Add the address of the broker; False if stock must do it."""
    kind = type(channel)
    if kind is BlockingChannel:
        connection = channel.connection
        if type(connection) is not BlockingConnection:
            return False
        parameters = connection._impl.params
    elif kind is Channel:
        parameters = channel.connection.params
    else:
        return False
    found[_HOST], found[_PORT] = parameters.host, parameters.port
    return True


def _remote_context(headers: Any) -> Any:
    """The context that the propagators read."""
    context = mapped_context(headers)
    if context is None:
        return _globals["propagate"].extract(headers, getter=_globals["_pika_getter"])
    return context
