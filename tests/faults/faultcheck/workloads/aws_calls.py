"""Calls of AWS by botocore and aiobotocore; handlers of botocore's own events answer."""

from __future__ import annotations

import asyncio
import json
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import aiobotocore.session
import botocore.session
from aiobotocore.awsrequest import AioAWSResponse
from botocore.awsrequest import AWSResponse
from botocore.config import Config
from botocore.exceptions import ClientError
from opentelemetry import trace
from opentelemetry.instrumentation.botocore import AiobotocoreInstrumentor, BotocoreInstrumentor
from opentelemetry.sdk.trace.export import SimpleSpanProcessor

from faultcheck.workloads.base import Workload
from faultcheck.workloads.lambda_events import LambdaFunction

if TYPE_CHECKING:
    from faultcheck.host import Host

_KEYS = {"region_name": "eu-west-1", "aws_access_key_id": "key", "aws_secret_access_key": "secret"}
_ANSWERS: dict[str, Any] = {
    "dynamodb": {"Item": {"id": {"S": "1"}}, "ConsumedCapacity": {"TableName": "t", "CapacityUnits": 0.5}},
    "sqs": {"MessageId": "1"},
    "s3": None,
    "lambda": {},
}


class _Content(SimpleNamespace):
    """What a response is read from."""

    def stream(self, *_args: Any, **_more: Any) -> Any:
        return iter([self.body])

    async def read(self) -> bytes:
        return self.body  # type: ignore[no-any-return]  # given


class AwsCalls(Workload):
    """Calls that succeed and calls that fail, and a Lambda function's events."""

    about = ("otel_fastpath/cloud/", "otel_fastpath/others/propagators/aws_xray.py")

    def prepare(self) -> None:
        """The clients, and where the spans go."""
        self.telemetry.tracer_provider.add_span_processor(SimpleSpanProcessor(self.telemetry.exporter()))
        self.headers: list[Any] = []
        self.function = LambdaFunction()
        session = botocore.session.get_session()
        config = Config(retries={"max_attempts": 0}, parameter_validation=False)
        self.clients = {}
        for name in _ANSWERS:
            client = session.create_client(name, config=config, **_KEYS)  # type: ignore[call-overload]  # of any service
            client.meta.events.register(f"before-send.{name}", self._answering(AWSResponse, name))
            self.clients[name] = client
        self.loop = asyncio.new_event_loop()
        self.aio = self.loop.run_until_complete(self._make_aio(config))

    async def _make_aio(self, config: Config) -> Any:
        made = aiobotocore.session.get_session().create_client("dynamodb", config=config, **_KEYS)
        client = await made.__aenter__()
        client.meta.events.register("before-send.dynamodb", self._answering(AioAWSResponse, "dynamodb"))
        return client

    def begin(self) -> None:
        """Both are instrumented, with hooks."""
        given = self.telemetry.providers()
        BotocoreInstrumentor().instrument(**given, request_hook=self._request, response_hook=self._response)
        AiobotocoreInstrumentor().instrument(**given)
        self.function.instrument(**given)

    def run(self, host: Host) -> None:
        """Call each of them, twice."""
        for turn in ("first", "again"):
            host.step(f"{turn}: get an item", self._call, "dynamodb", "get_item", {"TableName": "t", "Key": {}})
            host.step(f"{turn}: of another table", self._call, "dynamodb", "get_item", {"TableName": "fail", "Key": {}})
            host.step(f"{turn}: put an object", self._call, "s3", "put_object", {"Bucket": "b", "Key": "k"})
            host.step(f"{turn}: fails", self._call, "s3", "put_object", {"Bucket": "b", "Key": "fail"})
            host.step(
                f"{turn}: send", self._call, "sqs", "send_message", {"QueueUrl": "http://q/1", "MessageBody": "x"}
            )
            host.step(f"{turn}: invoke", self._call, "lambda", "invoke", {"FunctionName": "f", "Payload": b"{}"})
            host.step(f"{turn}: await an item", self._await, "t")
            host.step(f"{turn}: await one, fails", self._await, "fail")
            self.function.run(host, turn)

    def _answering(self, kind: type, name: str) -> Any:
        def answer(request: Any, **_more: Any) -> Any:
            self.headers.append(request.headers.get("X-Amzn-Trace-Id") is not None)
            is_failing = "fail" in request.url or b"fail" in (request.body or b"")
            body = b"" if _ANSWERS[name] is None else json.dumps(_ANSWERS[name]).encode()
            return kind(request.url, 400 if is_failing else 200, {"x-amzn-RequestId": "1"}, _Content(body=body))

        return answer

    def _call(self, name: str, method: str, given: dict[str, Any]) -> Any:
        self.headers.clear()
        try:
            answered = getattr(self.clients[name], method)(**given)
            answered = answered["ResponseMetadata"]["HTTPStatusCode"]
        except ClientError as error:
            answered = str(error)
        return answered, list(self.headers), trace.get_current_span().is_recording()

    def _await(self, table: str) -> Any:
        self.headers.clear()
        try:
            answered = self.loop.run_until_complete(self.aio.get_item(TableName=table, Key={}))
            answered = answered["ResponseMetadata"]["HTTPStatusCode"]
        except ClientError as error:
            answered = str(error)
        return answered, list(self.headers), trace.get_current_span().is_recording()

    @staticmethod
    def _request(span: Any, service: str, operation: str, _params: Any) -> None:
        span.set_attribute("asked", f"{service} {operation}")

    @staticmethod
    def _response(span: Any, _service: str, _operation: str, result: Any) -> None:
        span.set_attribute("answered", "ResponseMetadata" in result)
