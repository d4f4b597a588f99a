"""The handler of a Lambda function, called as the runtime calls it: `bare` and `instrumented` callables of scenarios.

    python benchmarks/bench_lambda.py                 the table: stock, pure and compiled core
    otel-fastpath budget check --file benchmarks/budgets.toml --only 'lambda*'

The set-ups are `stock`, `pure` and `compiled`. Each invocation flushes the provider of spans, whose exporter keeps
nothing, and the one of metrics, which has none.
"""

from __future__ import annotations

import os
import sys
from types import ModuleType, SimpleNamespace
from typing import TYPE_CHECKING, Any
from unittest import mock

from bench_span import batching
from opentelemetry.instrumentation.aws_lambda import AwsLambdaInstrumentor
from opentelemetry.sdk.metrics import MeterProvider
from setups import ways

if TYPE_CHECKING:
    from collections.abc import Callable

_MODULE = "bench_lambda_function"
_PARENT = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
_HEADERS = {
    "Accept": "*/*",
    "Accept-Encoding": "gzip, deflate, br",
    "CloudFront-Forwarded-Proto": "https",
    "CloudFront-Is-Desktop-Viewer": "true",
    "CloudFront-Viewer-Country": "DE",
    "Host": "a1b2c3d4e5.execute-api.eu-west-1.amazonaws.com",
    "User-Agent": "python-httpx/0.28.1",
    "traceparent": _PARENT,
    "X-Amzn-Trace-Id": "Root=1-5759e988-bd862e3fe1be46a994272793",
    "X-Forwarded-For": "198.51.100.7, 203.0.113.2",
    "X-Forwarded-Port": "443",
    "X-Forwarded-Proto": "https",
}
_CONTEXT = SimpleNamespace(
    function_name="charge",
    function_version="$LATEST",
    invoked_function_arn="arn:aws:lambda:eu-west-1:123456789012:function:charge",
    aws_request_id="8476a536-e9f4-11e8-9739-2dfe598c3fcd",
)
_REST = {
    "resource": "/orders/{id}",
    "path": "/orders/4711",
    "httpMethod": "GET",
    "headers": _HEADERS,
    "queryStringParameters": {"full": "1"},
    "requestContext": {"resourceId": "4711", "stage": "prod"},
}
_HTTP = {
    "version": "2.0",
    "rawPath": "/orders/4711",
    "rawQueryString": "full=1",
    "headers": {name.lower(): text for name, text in _HEADERS.items()},
    "requestContext": {
        "domainName": "a1b2c3d4e5.execute-api.eu-west-1.amazonaws.com",
        "http": {"method": "GET", "path": "/orders/4711", "userAgent": "python-httpx/0.28.1"},
    },
}
_QUEUE = {
    "Records": [
        {
            "messageId": f"059f36b4-87a3-44ab-83d2-66197{number:07}",
            "body": "{}",
            "messageAttributes": {"traceparent": {"dataType": "String", "StringValue": _PARENT}},
            "eventSource": "aws:sqs",
            "eventSourceARN": "arn:aws:sqs:eu-west-1:123456789012:orders",
        }
        for number in range(3)
    ]
}


def _handler(_event: Any, _context: Any) -> dict[str, Any]:
    return {"statusCode": 200, "body": "{}"}


class Given:
    """The objects that the callables of this file use.

    Attributes:
        bare: The function's handler.
        traced: What stock has put around it.
    """

    def __init__(self) -> None:
        module: Any = ModuleType(_MODULE)
        self.bare = module.handler = _handler
        sys.modules[_MODULE] = module
        with mock.patch.dict(os.environ, {"AWS_LAMBDA_FUNCTION_NAME": "charge", "_HANDLER": f"{_MODULE}.handler"}):
            AwsLambdaInstrumentor().instrument(
                tracer_provider=batching(), meter_provider=MeterProvider(shutdown_on_exit=False)
            )
        self.traced = module.handler


stock, pure, compiled = ways(Given)


def _pair(name: str, event: dict[str, Any]) -> tuple[Callable[[Given], None], Callable[[Given], None]]:
    """The handler without the instrumentation, and with it."""

    def bare(given: Given) -> None:
        given.bare(event, _CONTEXT)

    def instrumented(given: Given) -> None:
        given.traced(event, _CONTEXT)

    # The table finds them by these names.
    bare.__name__, instrumented.__name__ = f"{name}_bare", name
    return bare, instrumented


rest_bare, rest = _pair("rest", _REST)
http_bare, http = _pair("http", _HTTP)
queue_bare, queue = _pair("queue", _QUEUE)
other_bare, other = _pair("other", {"items": [1, 2]})

# Row of the table -> bare and instrumented.
ROWS = {
    "lambda, REST API": (rest_bare, rest),
    "lambda, HTTP API": (http_bare, http),
    "lambda, three messages of SQS": (queue_bare, queue),
    "lambda, an event of one's own": (other_bare, other),
}

if __name__ == "__main__":
    from table import main

    sys.exit(main("Handlers of Lambda functions", "bench_lambda", ROWS, ("stock", "pure", "compiled")))
