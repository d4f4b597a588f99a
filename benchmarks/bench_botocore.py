"""Calls of AWS by botocore's own code: `bare` and `instrumented` callables of scenarios.

    python benchmarks/bench_botocore.py               the table: stock, pure and compiled core
    otel-fastpath budget check --file benchmarks/budgets.toml --only 'aws*'

The set-ups are `stock`, `pure` and `compiled`. In place of the connection, a handler of botocore's own `before-send`
event answers.
"""

from __future__ import annotations

import asyncio
import functools
import itertools
import json
import sys
from contextlib import suppress
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import aiobotocore.client  # its instrumentation wraps what is imported
import aiobotocore.session
import botocore.session
from aiobotocore.awsrequest import AioAWSResponse
from bench_span import batching
from botocore.awsrequest import AWSResponse
from botocore.config import Config
from botocore.exceptions import ClientError
from opentelemetry.instrumentation.botocore import AiobotocoreInstrumentor, BotocoreInstrumentor
from setups import ways

if TYPE_CHECKING:
    from collections.abc import Callable

_HOSTS = 1_000
_OK = 200
_ID = "7a62c49f-347e-4fc4-9331-6e8e7a96aa73"
_QUEUE = "https://sqs.eu-west-1.amazonaws.com/123456789012/orders"
_TOPIC = "arn:aws:sns:eu-west-1:123456789012:orders"
_KEYS = {"region_name": "eu-west-1", "aws_access_key_id": "key", "aws_secret_access_key": "secret"}
_ITEM = {"Item": {"id": {"S": "4711"}}, "ConsumedCapacity": {"TableName": "orders", "CapacityUnits": 0.5}}
# Service -> the body of its answers.
_ANSWERS = {
    "dynamodb": json.dumps(_ITEM).encode(),
    "s3": b"",
    "sqs": json.dumps({"MessageId": _ID, "MD5OfMessageBody": "9a0364b9e99bb480dd25e1f0284c8555"}).encode(),
    "lambda": b"{}",
}
_HEADERS = {"x-amzn-RequestId": _ID, "x-amz-request-id": _ID, "Content-Type": "application/x-amz-json-1.0"}


class _Content(SimpleNamespace):
    """What a response is read from."""

    def stream(self, *_args: Any, **_more: Any) -> Any:
        return iter([self.body])

    async def read(self) -> bytes:
        return self.body  # type: ignore[no-any-return]  # given


def _answering(kind: type, body: bytes, status: int = _OK) -> Callable[..., Any]:
    def answer(request: Any, **_more: Any) -> Any:
        return kind(request.url, status, _HEADERS, _Content(body=body))

    return answer


class Given:
    """The objects that the callables of this file use.

    Attributes:
        bare: Clients by their services, without the instrumentation.
        traced: Likewise, with it.
    """

    def __init__(self) -> None:
        self._session = botocore.session.get_session()
        self._config = Config(parameter_validation=True, retries={"max_attempts": 0})
        self._spans = batching()
        self.bare, self.traced = SimpleNamespace(), SimpleNamespace()
        for clients in (self.bare, self.traced):
            for name in _ANSWERS:
                setattr(clients, name.replace("lambda", "lmbd"), self._client(name))
            clients.failing = self._client("dynamodb", 400)
        for client in vars(self.bare).values():
            _keep_methods(client)
        BotocoreInstrumentor().instrument(tracer_provider=self._spans)

    @functools.cached_property
    def loop(self) -> asyncio.AbstractEventLoop:
        """Where clients of aiobotocore are called, which are made then."""
        BotocoreInstrumentor().uninstrument()
        loop = asyncio.new_event_loop()
        for clients in (self.bare, self.traced):
            clients.aio = loop.run_until_complete(self._aio_client())
        _keep_methods(self.bare.aio)
        AiobotocoreInstrumentor().instrument(tracer_provider=self._spans)
        return loop

    @functools.cached_property
    def next_url(self) -> Callable[[], str]:
        """Returns one of many addresses in turn."""
        return itertools.cycle([f"https://tenant-{number}.example.com" for number in range(_HOSTS)]).__next__

    def _client(self, service: str, status: int = _OK) -> Any:
        client = self._session.create_client(service, config=self._config, **_KEYS)
        body = _ANSWERS[service] if status == _OK else b'{"__type": "ResourceNotFoundException", "message": "no"}'
        client.meta.events.register(f"before-send.{service}", _answering(AWSResponse, body, status))
        return client

    async def _aio_client(self) -> Any:
        session = aiobotocore.session.get_session()
        client = await session.create_client("dynamodb", config=self._config, **_KEYS).__aenter__()
        client.meta.events.register("before-send.dynamodb", _answering(AioAWSResponse, _ANSWERS["dynamodb"]))
        return client


def _keep_methods(client: Any) -> None:
    """Let a client call the methods that its classes have now, whatever is put around them."""
    for owner, name in ((client, "_make_api_call"), (client._endpoint, "prepare_request")):
        setattr(owner, name, getattr(owner, name))


stock, pure, compiled = ways(Given)


def _pair(use: Callable[[Any, Given], object]) -> tuple[Callable[[Given], None], Callable[[Given], None]]:
    """The call without the instrumentation, and with it."""

    def bare(given: Given) -> None:
        use(given.bare, given)

    def instrumented(given: Given) -> None:
        use(given.traced, given)

    # The table finds them by these names.
    name = use.__name__.removeprefix("_")
    bare.__name__, instrumented.__name__ = f"{name}_bare", name
    return bare, instrumented


def _get_item(clients: Any, _given: Given) -> None:
    clients.dynamodb.get_item(TableName="orders", Key={"id": {"S": "4711"}}, ReturnConsumedCapacity="TOTAL")


def _put_object(clients: Any, _given: Given) -> None:
    clients.s3.put_object(Bucket="orders", Key="4711", Body=b"{}")


def _send_message(clients: Any, _given: Given) -> None:
    clients.sqs.send_message(QueueUrl=_QUEUE, MessageBody="{}")


def _invoke(clients: Any, _given: Given) -> None:
    clients.lmbd.invoke(FunctionName="charge", Payload=b"{}")


def _fail(clients: Any, _given: Given) -> None:
    with suppress(ClientError):
        clients.failing.get_item(TableName="orders", Key={"id": {"S": "4711"}})


def _await_item(clients: Any, given: Given) -> None:
    loop = given.loop
    asked = clients.aio.get_item(TableName="orders", Key={"id": {"S": "4711"}}, ReturnConsumedCapacity="TOTAL")
    loop.run_until_complete(asked)


def _call_many(clients: Any, given: Given) -> None:
    clients.s3.meta._endpoint_url = given.next_url()
    _put_object(clients, given)


get_item_bare, get_item = _pair(_get_item)
put_object_bare, put_object = _pair(_put_object)
send_message_bare, send_message = _pair(_send_message)
invoke_bare, invoke = _pair(_invoke)
fail_bare, fail = _pair(_fail)
await_item_bare, await_item = _pair(_await_item)
call_many_bare, call_many = _pair(_call_many)

# Row of the table -> bare and instrumented.
ROWS = {
    "aws, DynamoDB": (get_item_bare, get_item),
    "aws, S3": (put_object_bare, put_object),
    "aws, SQS": (send_message_bare, send_message),
    "aws, Lambda": (invoke_bare, invoke),
    "aws, a call fails": (fail_bare, fail),
    "aws, aiobotocore": (await_item_bare, await_item),
    "aws, 1,000 endpoints in turn": (call_many_bare, call_many),
}

if __name__ == "__main__":
    from table import main

    sys.exit(main("Calls of AWS", "bench_botocore", ROWS, ("stock", "pure", "compiled")))
