"""The hooks around messages that aio-pika sends and receives. Plain Python; compiled as `aio_pika_hooks_c`.

Each does what stock's does, in the same order. Stock makes the properties of a message anew each time that it asks for
them; here, the message's own fields are read.
"""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any

from aio_pika import Connection, IncomingMessage, Message, RobustConnection
from opentelemetry.context.context import Context
from opentelemetry.instrumentation.aio_pika import callback_decorator as _receiving
from opentelemetry.instrumentation.aio_pika import publish_decorator as _sending
from opentelemetry.semconv._incubating.attributes import messaging_attributes as _names
from opentelemetry.semconv._incubating.attributes.net_attributes import NET_PEER_NAME as _HOST
from opentelemetry.semconv._incubating.attributes.net_attributes import NET_PEER_PORT as _PORT
from opentelemetry.semconv.trace import MessagingOperationValues, SpanAttributes
from opentelemetry.trace import SpanKind
from yarl import URL

from otel_fastpath.messaging.aio_pika.stock_aio_pika import HOOKED
from otel_fastpath.messaging.message_headers import inject_mapped, mapped_context
from otel_fastpath.messaging.message_hooks import add_texts, give_back, is_usual, own_tracer
from otel_fastpath.patching import faults
from otel_fastpath.trace.context.context_functions import attach_known
from otel_fastpath.wrapping.call_span import is_suppressed
from otel_fastpath.wrapping.replacements import Replacements
from otel_fastpath.wrapping.stock_hooks import variables

if TYPE_CHECKING:
    from collections.abc import Callable

_CONSUMER = SpanKind.CONSUMER
_PRODUCER = SpanKind.PRODUCER
_SYSTEM = _names.MESSAGING_SYSTEM
_ID = _names.MESSAGING_MESSAGE_ID
_OPERATION = _names.MESSAGING_OPERATION
_DESTINATION = SpanAttributes.MESSAGING_DESTINATION
_TEMPORARY = SpanAttributes.MESSAGING_TEMP_DESTINATION
_CONVERSATION = SpanAttributes.MESSAGING_CONVERSATION_ID
_RECEIVE = MessagingOperationValues.RECEIVE.value
_USUAL_PORT = 5672
_SENDING = "sending a message with aio-pika"
_RECEIVING = "receiving a message with aio-pika"
# Stock asks for their `connection` first: earlier releases had one.
_CONNECTIONS = frozenset(kind for kind in (Connection, RobustConnection) if not hasattr(kind, "connection"))
# Other ones have no properties, for which stock's hook raises an error.
_EXPIRATIONS = frozenset({type(None), int, float, timedelta})
# What other code may replace in stock's modules is looked up at each call.
_sending_globals = vars(_sending)
_receiving_globals = vars(_receiving)
_replacements = Replacements(HOOKED)


def are_known() -> bool:
    """Whether what the hooks of stock call is stock's own; what that is has been looked at then."""
    return not _replacements.exist()


def bind_publish(original: Callable[..., Any]) -> Callable[..., Any]:
    """Make the replacement for the hook around `Exchange.publish`."""
    tracer = variables(original)["tracer"]

    async def traced_publish(wrapped: Any, instance: Any, args: Any, kwargs: Any) -> Any:
        span = None
        try:
            own = own_tracer(tracer)
            given = _given(args, kwargs)
            if given is not None and is_usual(own, None, _replacements) and not is_suppressed():
                message, routing_key, rest = given
                name = instance.name
                if type(name) is str and type(routing_key) is str and type(message.headers) is dict:
                    destination = f"{name},{routing_key}"
                    found = _attributes(message, destination, instance.channel)
                    if found is not None:
                        found[_TEMPORARY] = True
                        span = own.start_span(f"{destination} send", None, _PRODUCER, found)
        except Exception as error:
            faults.absorb(_SENDING, error)
        if span is None:
            return await original(wrapped, instance, args, kwargs)
        _stock_scope = _sending_globals["trace"].use_span
        with _stock_scope(span, end_on_exit=True):
            inject_mapped(message.headers, _SENDING)
            return await wrapped(message, routing_key, **rest)

    return traced_publish


def _given(args: Any, kwargs: Any) -> Any:
    """The message, its routing key and the other arguments; None if stock must find them."""
    count = len(args)
    if not count or type(args[0]) is not Message or "message" in kwargs:
        return None
    if count == 1 and "routing_key" in kwargs:
        rest = kwargs.copy()
        return args[0], rest.pop("routing_key"), rest
    return None if count != 2 or "routing_key" in kwargs else (args[0], args[1], kwargs)  # noqa: PLR2004  # these two


def bind_callback(original: Callable[..., Any], *, self: Any, callback: Any) -> Callable[..., Any]:
    """Make the replacement for the callback of a consumer."""
    tracer, queue, wrapped = self._tracer, self._queue, callback

    async def consume(message: Any) -> Any:
        span = token = None
        try:
            own = own_tracer(tracer)
            if type(message) is IncomingMessage and is_usual(own, None, _replacements) and not is_suppressed():
                destination = message.exchange or message.routing_key
                found = _attributes(message, destination, queue.channel) if type(destination) is str else None
                context = None if found is None else _remote_context(message.headers or {})
                # What is suppressed there is not for this hook to say.
                if type(context) is Context:
                    token = attach_known(context)
                    if found is not None and token is not None and not is_suppressed():
                        found[_OPERATION] = _RECEIVE
                        span = own.start_span(f"{destination} receive", None, _CONSUMER, found)
        except Exception as error:
            faults.absorb(_RECEIVING, error)
        if span is None:
            give_back(token, _RECEIVING)
            return await original(message)
        try:
            _stock_scope = _receiving_globals["trace"].use_span
            with _stock_scope(span, end_on_exit=True):
                return await wrapped(message)
        finally:
            give_back(token, _RECEIVING)

    return consume


def _remote_context(headers: Any) -> Any:
    """The context that the propagators read."""
    context = mapped_context(headers)
    return _receiving_globals["propagate"].extract(headers) if context is None else context


def _attributes(message: Any, destination: str, channel: Any) -> dict[str, Any] | None:
    """The attributes of a message, but for the operation; None if stock must make them."""
    connection: Any = getattr(channel, "_connection", None)
    if type(connection) not in _CONNECTIONS or type(message.expiration) not in _EXPIRATIONS:
        return None
    url = connection.url
    if type(url) is not URL:
        return None
    found = {_SYSTEM: "rabbitmq", _DESTINATION: destination, _HOST: url.host, _PORT: url.port or _USUAL_PORT}
    return found if add_texts(found, _ID, message.message_id, _CONVERSATION, message.correlation_id) else None
