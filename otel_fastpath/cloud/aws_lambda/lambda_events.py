"""What stock's wrapper of a Lambda handler reads of an event. Plain Python; compiled as `lambda_events_c`.

The wrapper itself is stock's: these are functions that it calls. Stock copies the headers one by one into a dict that
is blind to case, with five functions for each; here, that is filled at once, and what is looked for is read from it.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

from opentelemetry import propagate
from opentelemetry.instrumentation import aws_lambda as _stock
from opentelemetry.instrumentation.aws_lambda import _sqs
from opentelemetry.instrumentation.cidict import CIDict
from opentelemetry.semconv._incubating.attributes import http_attributes, net_attributes

from otel_fastpath.compiled.facts import Facts
from otel_fastpath.patching import faults
from otel_fastpath.patching.stock import as_defined, unreplaced
from otel_fastpath.patching.swapping.switches import Switch, make_switchable
from otel_fastpath.trace.propagation.composite import _read
from otel_fastpath.trace.propagation.global_propagator import w3c_reader

if TYPE_CHECKING:
    from collections.abc import Callable

_METHOD = http_attributes.HTTP_METHOD
_ROUTE = http_attributes.HTTP_ROUTE
_TARGET = http_attributes.HTTP_TARGET
# The headers that are attributes, in stock's order.
_SHOWN = {
    "user-agent": http_attributes.HTTP_USER_AGENT,
    "x-forwarded-proto": http_attributes.HTTP_SCHEME,
    "host": net_attributes.NET_HOST_NAME,
}
# What the propagators of W3C read.
_READ = dict.fromkeys(("traceparent", "tracestate", "baggage"), "")
_LENGTHS = frozenset(map(len, (*_SHOWN, *_READ)))
_PLACE = "the event of a Lambda function"
# What a query leaves as it is.
_is_plain = re.compile(r"[\w.~-]*", re.ASCII).fullmatch
# What other code may replace in stock's modules is looked up at each call.
_globals = vars(_stock)
_sqs_globals = vars(_sqs)
_default = _stock._default_event_context_extractor
_blind = [unreplaced(CIDict, name) for name in ("__init__", "__setitem__", "__getitem__", "_get_entry")]
_blind.append((CIDict, "_normalize_key", CIDict._normalize_key))
_reader = as_defined(propagate, "get_global_textmap")
_reading = Facts(
    [
        *_blind,
        (_stock, "CIDict", CIDict),
        (_stock, "get_global_textmap", _reader),
        unreplaced(_stock, "_default_event_context_extractor"),
    ]
)
_describing = Facts([*_blind, (_stock, "CIDict", CIDict), (_stock, "urlencode", urlencode)])
_linking = Facts([*_blind, (_sqs, "CIDict", CIDict), (_sqs, "get_global_textmap", _reader)])


def bind_parent_context(original: Callable[..., Any]) -> Callable[..., Any]:
    """Make the replacement for `_determine_parent_context`."""
    switch = Switch()

    def _determine_parent_context(lambda_event: Any, event_context_extractor: Any) -> Any:
        try:
            is_default = event_context_extractor is _default or event_context_extractor is None
            headers = _headers(lambda_event) if is_default and not switch.inert and _reading.hold() else None
            if headers is not None:
                context = _remote(_named(headers, _READ))
                return _globals["get_global_textmap"]().extract(_blind_dict(headers)) if context is None else context
        except Exception as error:
            faults.absorb(_PLACE, error)
        return original(lambda_event, event_context_extractor)

    return make_switchable(original, _determine_parent_context, switch)


def bind_rest_attributes(original: Callable[..., Any]) -> Callable[..., Any]:
    """Make the replacement for `_get_api_gateway_v1_proxy_attributes`."""
    switch = Switch()

    def _get_api_gateway_v1_proxy_attributes(lambda_event: Any) -> Any:
        try:
            headers = None if switch.inert or not _describing.hold() else _headers(lambda_event)
            attributes = None if headers is None else _describe(lambda_event, _named(headers, _SHOWN))
            if attributes is not None:
                return attributes
        except Exception as error:
            faults.absorb(_PLACE, error)
        return original(lambda_event)

    return make_switchable(original, _get_api_gateway_v1_proxy_attributes, switch)


def bind_links(original: Callable[..., Any]) -> Callable[..., Any]:
    """Make the replacement for `_get_sqs_span_links`."""
    switch = Switch()

    def _get_sqs_span_links(records: Any) -> Any:
        try:
            links = None if switch.inert or not _linking.hold() else _links(records)
            if links is not None:
                return links
        except Exception as error:
            faults.absorb(_PLACE, error)
        return original(records)

    return make_switchable(original, _get_sqs_span_links, switch)


def _headers(event: Any) -> dict[str, Any] | None:
    """The headers of an event; None if stock must look for them."""
    if type(event) is not dict:
        return None
    extract = _globals.get("_extract_http_headers")
    # Before 0.66, those with several values were not looked at.
    headers = event.get("headers") if extract is None else extract(event)
    return headers if type(headers) is dict else None


def _named(headers: dict[Any, Any], wanted: dict[str, str]) -> dict[str, Any]:
    """Those of the headers that are wanted, as a dict that is blind to case finds them: of several, the last."""
    found = {}
    for name, value in headers.items():
        # No other name is as long in lower case as these are.
        if isinstance(name, str) and len(name) in _LENGTHS:
            lower = name.lower()
            if lower in wanted:
                found[lower] = value
    return found


def _blind_dict(headers: dict[Any, Any]) -> Any:
    """A `CIDict` of these."""
    made = CIDict.__new__(CIDict)
    made._data = {(key.lower() if isinstance(key, str) else key): (key, value) for key, value in headers.items()}
    return made


def _remote(found: dict[str, Any]) -> Any:
    """The context that the propagators of W3C read from these headers; None if others must, or it is not simple."""
    if w3c_reader() is None or "baggage" in found or type(found.get("traceparent", "")) is not str:
        return None
    return _read(found, None)


def _describe(event: dict[str, Any], headers: dict[str, Any]) -> dict[str, Any] | None:
    """The attributes of an event of a REST API; None if stock must find them."""
    attributes = {_METHOD: event.get("httpMethod")}
    for name, attribute in _SHOWN.items():
        if name in headers:
            attributes[attribute] = headers[name]
    if "resource" in event:
        attributes[_ROUTE] = target = event["resource"]
        if query := event.get("queryStringParameters"):
            text = _query(query)
            if text is None:
                return None
            target = f"{target}?{text}"
        attributes[_TARGET] = target
    return attributes


def _query(given: Any) -> str | None:
    """What `urlencode` makes of it, if that leaves each text as it is."""
    if type(given) is not dict:
        return None
    texts = []
    for name, value in given.items():
        if type(name) is not str or type(value) is not str or not (_is_plain(name) and _is_plain(value)):
            return None
        texts.append(f"{name}={value}")
    return "&".join(texts)


def _links(records: list[dict[str, Any]]) -> list[Any] | None:
    """The links of the messages of a queue that have the context of a valid span; None if stock must make them."""
    links = []
    getter = _sqs_globals["_sqs_getter"]
    for record in records:
        if type(record) is not dict:
            return None
        attributes = record.get("messageAttributes")
        if not attributes or not isinstance(attributes, dict):
            continue
        found = {name: getter.get({name: value}, name) for name, value in _named(attributes, _READ).items()}
        context = _remote({name: values[0] for name, values in found.items() if values})
        if context is None:
            context = _sqs_globals["get_global_textmap"]().extract(_blind_dict(attributes), getter=getter)
        span_context = _sqs_globals["get_current_span"](context).get_span_context()
        if span_context and span_context.is_valid:
            named = {_sqs_globals["MESSAGING_MESSAGE_ID"]: record.get("messageId", "")}
            links.append(_sqs_globals["Link"](context=span_context, attributes=named))
    return links
