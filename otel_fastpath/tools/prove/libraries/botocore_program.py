"""Calls of AWS by botocore and aiobotocore; a handler of their own event answers them."""

from __future__ import annotations

import functools
import json
import re
from contextlib import ExitStack
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, Final

import aiobotocore.client  # its instrumentation wraps what is imported
import aiobotocore.session
import botocore.session
from aiobotocore.awsrequest import AioAWSResponse
from botocore.awsrequest import AWSResponse
from botocore.config import Config
from opentelemetry.instrumentation.botocore import AiobotocoreInstrumentor, BotocoreInstrumentor

from otel_fastpath.tools.prove.libraries.modes import around, hooks, instrumented, providers, run_at_once

if TYPE_CHECKING:
    import random
    from collections.abc import Iterator

    from otel_fastpath.tools.prove.program import ProgramRun

_KEYS: Final = {"region_name": "eu-west-1", "aws_access_key_id": "key", "aws_secret_access_key": "secret"}
_CALLS: Final = 12
_ID: Final = "7a62c49f-347e-4fc4-9331-6e8e7a96aa73"
_ARN: Final = "arn:aws:{}:eu-west-1:123456789012:{}"
_ROOT: Final = re.compile(r"Root=1-([0-9a-f]{8})-([0-9a-f]{24})")
_CAPACITY: Final[dict[str, Any]] = {"TableName": "orders", "CapacityUnits": 0.5, "Table": {"CapacityUnits": 1}}
_KEY: Final = {"id": {"S": "4711"}}
_QUEUE: Final = "https://sqs.eu-west-1.amazonaws.com/123456789012/orders"
_MESSAGE: Final[dict[str, Any]] = {"MessageId": _ID, "Body": "x", "ReceiptHandle": "r"}
_TABLE: Final[dict[str, Any]] = {
    "TableName": "orders",
    "KeySchema": [{"AttributeName": "id", "KeyType": "HASH"}],
    "AttributeDefinitions": [{"AttributeName": "id", "AttributeType": "S"}],
    "ProvisionedThroughput": {"ReadCapacityUnits": 1, "WriteCapacityUnits": 2},
}
# Service, operation, arguments, and what is answered.
_OPERATIONS: Final[tuple[tuple[str, str, dict[str, Any], dict[str, Any]], ...]] = (
    (
        "dynamodb",
        "GetItem",
        {"TableName": "orders", "Key": _KEY, "ConsistentRead": True, "ProjectionExpression": "id"},
        {"Item": _KEY, "ConsumedCapacity": _CAPACITY},
    ),
    (
        "dynamodb",
        "PutItem",
        {"TableName": "orders", "Item": _KEY},
        {"ConsumedCapacity": _CAPACITY, "ItemCollectionMetrics": {"ItemCollectionKey": _KEY}},
    ),
    (
        "dynamodb",
        "Query",
        {"TableName": "orders", "Limit": 3, "IndexName": "by_name", "Select": "COUNT", "ScanIndexForward": False},
        {"Count": 3, "ScannedCount": 4, "ConsumedCapacity": _CAPACITY},
    ),
    (
        "dynamodb",
        "BatchGetItem",
        {"RequestItems": {"orders": {"Keys": [_KEY]}}},
        {"ConsumedCapacity": [_CAPACITY]},
    ),
    ("dynamodb", "ListTables", {"Limit": 2}, {"TableNames": ["orders", "items"]}),
    ("dynamodb", "CreateTable", _TABLE, {}),
    ("dynamodb", "DescribeLimits", {}, {}),
    ("s3", "PutObject", {"Bucket": "shop", "Key": "4711"}, {}),
    ("sqs", "SendMessage", {"QueueUrl": _QUEUE, "MessageBody": "x"}, _MESSAGE),
    ("sqs", "ReceiveMessage", {"QueueUrl": _QUEUE}, {"Messages": [_MESSAGE]}),
    ("sqs", "ListQueues", {}, {}),
    ("lambda", "Invoke", {"FunctionName": _ARN.format("lambda", "function:pay"), "Payload": b'{"a": 1}'}, {}),
    ("stepfunctions", "StartExecution", {"stateMachineArn": _ARN.format("states", "stateMachine:pay")}, {}),
    ("secretsmanager", "GetSecretValue", {"SecretId": "s"}, {"ARN": _ARN.format("secretsmanager", "secret:s")}),
)
_SERVICES: Final = sorted({each[0] for each in _OPERATIONS})
_ERROR: Final = {"__type": "ResourceNotFoundException", "message": "no such item"}
_STATUSES: Final = (200, 200, 200, 304, 400, 503)


class _Content(SimpleNamespace):
    """What an answer is read from."""

    body: bytes

    def stream(self, *_args: Any, **_more: Any) -> Iterator[bytes]:
        """In one piece."""
        return iter([self.body])

    async def read(self) -> bytes:
        """Likewise."""
        return self.body


class _ServiceAnswers:
    """Answers in the place of AWS, and keeps what was sent along."""

    def __init__(self) -> None:
        self.status, self.body = 200, b""
        self.sent: list[Any] = []

    def connect(self, client: Any, kind: Any) -> Any:
        """Answer this client."""

        def answer(request: Any, **_more: Any) -> Any:
            header = str(request.headers.get("X-Amzn-Trace-Id"))
            self.sent.append(_ROOT.sub(r"Root=\1\2", header))
            return kind(request.url, self.status, {"x-amzn-RequestId": _ID}, _Content(body=self.body))

        client.meta.events.register("before-send.*", answer)
        return client


class _Clients:
    """A client of each service; they are made once."""

    def __init__(self) -> None:
        self.server = server = _ServiceAnswers()
        config: dict[str, Any] = {"retries": {"max_attempts": 0}, "parameter_validation": False}
        session, waiting = botocore.session.get_session(), aiobotocore.session.get_session()

        async def make_waiting(service: str) -> Any:
            made = waiting.create_client(service, config=aiobotocore.config.AioConfig(**config), **_KEYS)
            return server.connect(await made.__aenter__(), AioAWSResponse)

        def make(service: str) -> Any:
            made = session.create_client(service, config=Config(**config), **_KEYS)
            return server.connect(made, AWSResponse)

        self.plain = {service: make(service) for service in _SERVICES}
        self.waiting = {service: run_at_once(make_waiting(service)) for service in _SERVICES}


@functools.cache
def _clients() -> _Clients:
    return _Clients()


def run_botocore(run: ProgramRun) -> None:
    """Calls of both."""
    clients, telemetry = _clients(), run.telemetry()

    def call(draw: random.Random) -> Any:
        service, operation, params, answered = draw.choice(_OPERATIONS)
        server = clients.server
        server.status, server.sent = draw.choice(_STATUSES), run.carried
        # S3 speaks XML.
        text = "" if service == "s3" else json.dumps(answered if server.status < 400 else _ERROR)  # noqa: PLR2004
        server.body = text.encode()
        is_waiting = draw.randrange(2)
        with around(run, telemetry):
            if is_waiting:
                found = run_at_once(clients.waiting[service]._make_api_call(operation, dict(params)))
            else:
                found = clients.plain[service]._make_api_call(operation, dict(params))
        return sorted(found)

    given = providers(telemetry) | hooks(run, ("request_hook", "response_hook"))
    with ExitStack() as entered:
        entered.enter_context(instrumented(run, telemetry, BotocoreInstrumentor(), **given))  # type: ignore[no-untyped-call]
        # Both write a header, which the second leaves as it is: one in three has only the first.
        if run.seed % 3:
            entered.enter_context(instrumented(run, telemetry, AiobotocoreInstrumentor(), **given))  # type: ignore[no-untyped-call]
        for draw in run.halves():
            for _ in range(_CALLS):
                run.attempt(call, draw)


PROGRAM: Final = run_botocore
