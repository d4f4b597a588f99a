"""Where an endpoint is, and what stock's extensions for DynamoDB and SQS say of a call. Plain Python.

Compiled as `aws_extensions_c`. What has unusual types is left to stock's own functions.
"""

from __future__ import annotations

import sys
from json.encoder import encode_basestring_ascii
from typing import Any
from urllib.parse import urlparse

from opentelemetry.instrumentation import botocore as _stock
from opentelemetry.instrumentation.botocore import extensions as _package
from opentelemetry.instrumentation.botocore.extensions import dynamodb, sqs
from opentelemetry.instrumentation.botocore.extensions.types import _AwsSdkExtension
from opentelemetry.semconv._incubating.attributes.messaging_attributes import MESSAGING_MESSAGE_ID, MESSAGING_SYSTEM
from opentelemetry.semconv._incubating.attributes.net_attributes import NET_PEER_NAME
from opentelemetry.semconv.trace import SpanAttributes

from otel_fastpath.cloud.botocore.stock_botocore import EXTENSIONS
from otel_fastpath.compiled.facts import Facts
from otel_fastpath.compiled.helpers import get_item
from otel_fastpath.patching.cache import keep
from otel_fastpath.patching.stock import UNKNOWN

DYNAMODB = dynamodb._DynamoDbExtension
_facts = Facts(UNKNOWN)
# That of releases before 0.66 names a message otherwise, and runs itself.
SQS = sqs._SqsExtension if hasattr(_stock, "http_status_to_status_code") else object()
_DESTINATION = SpanAttributes.MESSAGING_DESTINATION
_URL = SpanAttributes.MESSAGING_URL
# The list of messages in an answer, and where their ids are.
_LISTS = {"SendMessageBatch": "Successful", "ReceiveMessage": "Messages"}
# What other code may replace in stock's modules is looked up at each call.
_globals = vars(_stock)
_dynamodb_globals = vars(dynamodb)
_db = _dynamodb_globals["db_attributes"]
_DB_OPERATION = _db.DB_OPERATION
_DB_SYSTEM = _db.DB_SYSTEM
_DYNAMODB_SYSTEM = _db.DbSystemValues.DYNAMODB.value
_STATUS = _globals["HTTP_STATUS_CODE"]
_dumping = dynamodb._conv_val_to_single_json_tuple
_loader_code: Any = vars(_package)["_lazy_load"]("", "").__code__
# Of stock's functions that import an extension: the names of its module and class.
_loaders: dict[Any, tuple[str, str]] = {}
# The address of an endpoint -> its attributes, and what DynamoDB's extension calls its peer.
_endpoints: dict[str, tuple[dict[str, Any], Any]] = {}


def endpoint(url: Any) -> tuple[dict[str, Any], Any]:
    """The attributes of an endpoint, which are not to be changed, and its peer name."""
    found = get_item(_endpoints, url) if type(url) is str else None
    if found is None:
        found = _globals["get_server_attributes"](url), urlparse(url).netloc
        if type(url) is str:
            keep(_endpoints, url, found)
    return found


def kind_of(loader: Any) -> Any:
    """The class of the extension that a function of stock's imports; None if it must import it, or is not stock's."""
    if loader is None:
        return _AwsSdkExtension
    names = get_item(_loaders, loader)
    if names is None:
        if getattr(loader, "__code__", None) is not _loader_code:
            return None
        cells = dict(zip(loader.__code__.co_freevars, loader.__closure__, strict=True))
        module = cells["module"].cell_contents
        names = f"{_package.__name__}{module}" if module.startswith(".") else module, cells["cls"].cell_contents
        keep(_loaders, loader, names)
    return getattr(sys.modules.get(names[0]), names[1], None)


def are_described(kind: Any) -> bool:
    """Whether this module does what this kind of extension does, and what that calls is stock's own."""
    return (kind is DYNAMODB or kind is SQS) and (_facts.hold() or EXTENSIONS.holds_again(_facts))


def describe_request(kind: Any, operation: Any, params: Any, peer: Any, attributes: dict[str, Any]) -> bool:
    """Add what the extension of a known kind does before the span starts; False if it must do it itself."""
    if type(params) is not dict:
        return False
    if kind is DYNAMODB:
        attributes[_DB_SYSTEM] = _DYNAMODB_SYSTEM
        attributes[_DB_OPERATION] = operation
        attributes[NET_PEER_NAME] = peer
        found = _dynamodb_globals["_OPERATION_MAPPING"].get(operation)
        return found is None or _add(params, found.start_attributes, attributes)
    url = params.get("QueueUrl")
    if url:
        if type(url) is not str:
            return False
        attributes["aws.queue_url"] = url
        attributes[MESSAGING_SYSTEM] = "aws.sqs"
        attributes[_URL] = url
        attributes[_DESTINATION] = url.rpartition("/")[2]
    return True


def add_request(operation: Any, params: dict[str, Any], found: dict[str, Any]) -> bool:
    """Add what DynamoDB's extension sets after the span has started; False if it must do it itself."""
    named = _dynamodb_globals["_OPERATION_MAPPING"].get(operation)
    return named is None or _add(params, named.request_attributes, found)


def describe_answer(kind: Any, operation: Any, result: dict[str, Any], found: dict[str, Any]) -> bool:
    """Add what the extension of a known kind sets after a call that succeeded; False if it must do it itself."""
    if kind is DYNAMODB:
        named = _dynamodb_globals["_OPERATION_MAPPING"].get(operation)
        return named is None or _add(result, named.response_attributes, found)
    message = result
    if operation != "SendMessage":
        name = _LISTS.get(operation)
        messages = None if name is None else result.get(name)
        if not messages:
            return True
        if type(messages) is not list or type(messages[0]) is not dict:
            return False
        message = messages[0]
    message_id = message.get("MessageId")
    if type(message_id) is not str:
        return False
    found[MESSAGING_MESSAGE_ID] = message_id
    return True


def add_metadata(result: dict[str, Any], found: dict[str, Any]) -> bool:
    """Add what stock's `_apply_response_attributes` sets; False if it must do it itself."""
    metadata = result.get("ResponseMetadata")
    if metadata is None:
        return True
    if type(metadata) is not dict:
        return False
    request_id = metadata.get("RequestId")
    if request_id is None:
        headers = metadata.get("HTTPHeaders")
        if headers is not None:
            if type(headers) is not dict:
                return False
            request_id = headers.get("x-amzn-RequestId") or headers.get("x-amz-request-id") or headers.get("x-amz-id-2")
    if request_id:
        found["aws.request_id"] = request_id
    retries = metadata.get("RetryAttempts")
    if retries is not None:
        found["retry_attempts"] = retries
    status = metadata.get("HTTPStatusCode")
    if status is not None:
        found[_STATUS] = status
    return True


def _add(given: dict[str, Any], attributes: dict[str, Any] | None, found: dict[str, Any]) -> bool:
    """Add the attributes that a table of DynamoDB's extension finds; False if that must do it itself."""
    if attributes is None:
        return True
    for name, (path, convert) in attributes.items():
        value: Any = given
        for part in (path,) if type(path) is str else path:
            if type(value) is not dict:
                return False
            value = value.get(part)
            if value is None:
                break
        if value is not None and convert is not None:
            text = json_text(value) if convert is _dumping else None
            value = convert(value) if text is None else (text,)
        if value is not None:
            found[name] = value
    return True


def json_text(value: Any) -> str | None:
    """What `json.dumps` makes of texts, numbers, and dicts of these; None if it must do it."""
    kind = type(value)
    if kind is str:
        return encode_basestring_ascii(value)
    if kind is float:
        # Not a number, and the infinite ones, are written otherwise.
        return repr(value) if value - value == 0 else None
    if kind is int:
        return repr(value)
    if kind is not dict:
        return None
    parts = []
    for key, each in value.items():
        text = json_text(each) if type(key) is str else None
        if text is None:
            return None
        parts.append(f"{encode_basestring_ascii(key)}: {text}")
    return f"{{{', '.join(parts)}}}"
