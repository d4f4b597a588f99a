"""Invocations of a handler of AWS Lambda, as its runtime calls it."""

from __future__ import annotations

import os
import sys
from types import ModuleType, SimpleNamespace
from typing import TYPE_CHECKING, Any, Final
from unittest import mock

from opentelemetry import baggage, trace
from opentelemetry.instrumentation.aws_lambda import AwsLambdaInstrumentor

from otel_fastpath.tools.prove.libraries.modes import instrumented, providers

if TYPE_CHECKING:
    import random

    from otel_fastpath.tools.prove.program import ProgramRun

_EVENTS: Final = 12
_MODULE: Final = "prove_lambda_function"
_PARENT: Final = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
_CONTEXT: Final = SimpleNamespace(
    function_name="charge",
    invoked_function_arn="arn:aws:lambda:eu-west-1:123456789012:function:charge:live",
    aws_request_id="8476a536-e9f4-11e8-9739-2dfe598c3fcd",
)
_HEADERS: Final[tuple[dict[str, Any], ...]] = (
    {},
    {"Traceparent": _PARENT, "Host": "shop", "User-Agent": "x", "X-Forwarded-Proto": "https"},
    {"traceparent": _PARENT, "tracestate": "a=1", "baggage": "user=ann", "host": "shop"},
)
_QUERIES: Final[tuple[Any, ...]] = (None, {"full": "1"}, {"full name": "x y", "a": ["1", "2"]})
_ATTRIBUTES: Final[tuple[Any, ...]] = (
    None,
    {"traceparent": {"stringValue": _PARENT, "StringValue": _PARENT}},
    {"traceparent": {"stringValue": _PARENT, "StringValue": _PARENT}, "baggage": {"stringValue": "user=ann"}},
)


def _handle(event: dict[str, Any], _context: Any) -> Any:
    trace.get_current_span().set_attribute("baggage", str(dict(baggage.get_all())))
    if event.get("fails"):
        raise LookupError("the host's")
    return {"statusCode": 200, "body": "{}"}


def _rest(draw: random.Random) -> dict[str, Any]:
    return {
        "headers": draw.choice(_HEADERS),
        "multiValueHeaders": draw.choice((None, {"Host": ["other"]})),
        "requestContext": {"stage": "prod"},
        "httpMethod": "GET",
        "resource": "/orders/{id}",
        "queryStringParameters": draw.choice(_QUERIES),
    }


def _http(draw: random.Random) -> dict[str, Any]:
    asked = {"method": "GET", "path": "/orders/4711", "userAgent": "x"}
    return {
        "version": "2.0",
        "headers": draw.choice(_HEADERS),
        "rawQueryString": draw.choice(("", "full=1")),
        "requestContext": {"domainName": "shop", "http": asked},
    }


def _queue(draw: random.Random) -> dict[str, Any]:
    source = {"eventSource": "aws:sqs", "eventSourceARN": "arn:aws:sqs:eu-west-1:123456789012:orders"}
    attributes = [draw.choice(_ATTRIBUTES) for _ in range(draw.randrange(1, 4))]
    return {"Records": [{**source, "messageId": str(each), "messageAttributes": each} for each in attributes]}


def _own(draw: random.Random) -> dict[str, Any]:
    return {"items": [1], "fails": draw.randrange(2)}


def run_lambda(run: ProgramRun) -> None:
    """Events of each kind."""
    telemetry = run.telemetry()
    module: Any = ModuleType(_MODULE)
    module.handler = _handle

    def invoke(draw: random.Random) -> Any:
        return module.handler(draw.choice((_rest, _rest, _http, _queue, _own))(draw), _CONTEXT)

    environment = {"AWS_LAMBDA_FUNCTION_NAME": "charge", "_HANDLER": f"{_MODULE}.handler"}
    given = providers(telemetry, "tracer", "meter")
    with (
        mock.patch.dict(sys.modules, {_MODULE: module}),
        mock.patch.dict(os.environ, environment),
        instrumented(run, telemetry, AwsLambdaInstrumentor(), **given),
    ):
        for draw in run.halves():
            for _ in range(_EVENTS):
                run.attempt(invoke, draw)


PROGRAM: Final = run_lambda
