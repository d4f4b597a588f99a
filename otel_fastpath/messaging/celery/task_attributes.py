"""The attributes of tasks, as stock's `set_attributes_from_context` sets them. Plain Python.

Compiled as `task_attributes_c`.
"""

from __future__ import annotations

from typing import Any

from opentelemetry.instrumentation.celery.utils import CELERY_CONTEXT_ATTRIBUTES
from opentelemetry.semconv._incubating.attributes.messaging_attributes import MESSAGING_MESSAGE_ID
from opentelemetry.semconv.trace import SpanAttributes

from otel_fastpath.compiled.helpers import get_item

_DESTINATION = SpanAttributes.MESSAGING_DESTINATION
_DELIVERY = "delivery_info"
_DECLARE = "declare"
_LIMITS = "timelimit"
_RETRIES = "retries"
_ROUTING_KEY = "routing_key"
_SPECIAL = frozenset({_DELIVERY, _DECLARE, _LIMITS, _RETRIES})
_NAMES = {
    "origin": "celery.hostname",
    "id": MESSAGING_MESSAGE_ID,
    "correlation_id": SpanAttributes.MESSAGING_CONVERSATION_ID,
    _ROUTING_KEY: _DESTINATION,
    _DECLARE: SpanAttributes.MESSAGING_DESTINATION_KIND,
}
# Each key, in stock's order, and its attribute.
_KEYS = tuple([(key, _NAMES.get(key, f"celery.{key}")) for key in CELERY_CONTEXT_ATTRIBUTES])
# Their values are compared with "" without a call of other code.
_PLAIN = frozenset({bool, int, float, list, tuple, dict})
_NUMBERS = frozenset({bool, int, float, type(None)})
_TEXTS = _NUMBERS | {str}
# In place of a value that is not set.
NOTHING = object()
_KINDS = {"direct": "queue", "topic": "topic"}


def add_attributes(found: dict[str, Any], given: dict[str, Any]) -> bool:
    """Add the attributes of a signal's arguments, or of the fields of a request.

    False if stock must set them: it may be that some are added.
    """
    for key, name in _KEYS:
        value = get_item(given, key)
        if value is None:
            continue
        kind = type(value)
        if kind is str:
            if not value:
                continue
        elif kind not in _PLAIN:
            return False
        if kind is not str or key in _SPECIAL:
            value = _special(found, key, value)
            if value is None:
                return False
            if value is NOTHING:
                continue
        _put(found, name, value)
    return True


def _special(found: dict[str, Any], key: str, value: Any) -> Any:
    """The value of an attribute that stock does not set as it is; `NOTHING`; None if stock must do it."""
    if key == _RETRIES:
        return NOTHING if value == 0 else value
    if key == _LIMITS:
        return _limits(value)
    if key == _DECLARE:
        return _kind_of(value)
    if key == _DELIVERY:
        if type(value) is not dict:
            return None
        # Other values may have texts that other code makes, which may fail.
        for part, each in value.items():
            if type(part) is not str or type(each) not in _TEXTS:
                return None
        routing_key = value.get(_ROUTING_KEY)
        if routing_key is not None:
            _put(found, _DESTINATION, routing_key)
        return str(value)
    return value


def _put(found: dict[str, Any], name: str, value: Any) -> None:
    """Set an attribute; one that is set again moves to the end, as in a span."""
    found.pop(name, None)
    found[name] = value


def _limits(value: Any) -> Any:
    """What is set of the hard and the soft limit."""
    if type(value) is not list and type(value) is not tuple:
        return None
    for each in value:
        if type(each) not in _NUMBERS:
            return None
    if None not in value:
        return value
    if len(value) == 2 and value[0] is None and value[1] is None:  # noqa: PLR2004  # the two
        return NOTHING
    return ["" if each is None else str(each) for each in value]


def _kind_of(queues: Any) -> str | None:
    """The kind of the first queue's exchange that has a known one."""
    if type(queues) is list or type(queues) is tuple:
        for queue in queues:
            kind = getattr(getattr(queue, "exchange", None), "type", None)
            if type(kind) is not str:
                return None
            if kind in _KINDS:
                return _KINDS[kind]
    return None
