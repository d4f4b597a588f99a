"""The handler of a function of AWS Lambda, called as its runtime calls it."""

from __future__ import annotations

import os
import sys
from types import ModuleType, SimpleNamespace
from typing import TYPE_CHECKING, Any
from unittest import mock

from opentelemetry import baggage, trace
from opentelemetry.instrumentation.aws_lambda import AwsLambdaInstrumentor

if TYPE_CHECKING:
    from faultcheck.host import Host

_MODULE = "faultcheck_lambda_function"
_PARENT = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
_CONTEXT = SimpleNamespace(
    function_name="charge",
    invoked_function_arn="arn:aws:lambda:eu-west-1:123456789012:function:charge",
    aws_request_id="1",
)
_HEADERS = {"Traceparent": _PARENT, "Host": "shop", "User-Agent": "x"}
_REST: dict[str, Any] = {
    "headers": _HEADERS,
    "httpMethod": "GET",
    "resource": "/orders/{id}",
    "queryStringParameters": {"full": "1"},
    "requestContext": {"stage": "prod"},
}
_MESSAGE = {
    "eventSource": "aws:sqs",
    "eventSourceARN": "arn:aws:sqs:eu-west-1:123456789012:orders",
    "messageId": "1",
    "messageAttributes": {"traceparent": {"stringValue": _PARENT, "StringValue": _PARENT}},
}
_EVENTS: dict[str, dict[str, Any]] = {
    "REST API": _REST,
    "a query to be quoted": {**_REST, "queryStringParameters": {"full name": "x y"}},
    "with baggage": {"headers": {**_HEADERS, "baggage": "user=ann"}},
    "messages": {"Records": [_MESSAGE, _MESSAGE]},
    "a message of a producer with baggage": {
        "Records": [{**_MESSAGE, "messageAttributes": {"baggage": {"stringValue": "a=b"}}}]
    },
    "an event of one's own": {"items": [1]},
    "fails": {"items": None},
}


def _handler(event: dict[str, Any], _context: Any) -> Any:
    items = event.get("items", [1])
    return {"statusCode": 200, "items": len(items), "user": baggage.get_baggage("user")}


class LambdaFunction:
    """A function that gets events of each kind, and one that it fails with."""

    def __init__(self) -> None:
        self._module: Any = ModuleType(_MODULE)
        self._module.handler = _handler
        sys.modules[_MODULE] = self._module

    def instrument(self, **given: Any) -> None:
        """It is instrumented with these providers."""
        with mock.patch.dict(os.environ, {"AWS_LAMBDA_FUNCTION_NAME": "charge", "_HANDLER": f"{_MODULE}.handler"}):
            AwsLambdaInstrumentor().instrument(**given)

    def run(self, host: Host, turn: str) -> None:
        """Each event."""
        for name, event in _EVENTS.items():
            host.step(f"{turn}: an event, {name}", self._invoke, event)

    def _invoke(self, event: dict[str, Any]) -> Any:
        try:
            answered = self._module.handler(event, _CONTEXT)
        except TypeError as error:
            answered = str(error)
        return answered, trace.get_current_span().is_recording()
