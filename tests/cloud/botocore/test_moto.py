"""Clients that talk HTTP to moto's server: the telemetry is stock's, and the header arrives."""

# ruff: noqa: ARG001  # the fixture `ours` puts the hooks in their places

from __future__ import annotations

import asyncio
import re
from contextlib import suppress

import aiobotocore.session
import boto3
import pytest
from moto.server import ThreadedMotoServer, create_backend_app
from opentelemetry.instrumentation.botocore import AiobotocoreInstrumentor, BotocoreInstrumentor

from .conftest import HEADER, KEYS, Telemetry, stock_hooks

TABLE = {
    "TableName": "orders",
    "KeySchema": [{"AttributeName": "id", "KeyType": "HASH"}],
    "AttributeDefinitions": [{"AttributeName": "id", "AttributeType": "S"}],
    "ProvisionedThroughput": {"ReadCapacityUnits": 1, "WriteCapacityUnits": 2},
}
KEY = {"id": {"S": "4711"}}


@pytest.fixture
def received(monkeypatch):
    """The headers of X-Ray that arrive at a server."""
    found = []

    def create(service):
        app = create_backend_app(service)
        inner = app.wsgi_app

        def note(environ, start_response):
            found.append(environ.get("HTTP_X_AMZN_TRACE_ID"))
            return inner(environ, start_response)

        app.wsgi_app = note
        return app

    monkeypatch.setattr("moto.moto_server.threaded_moto_server.DomainDispatcherApplication", _dispatching(create))
    return found


def _dispatching(create):
    from moto.moto_server.werkzeug_app import DomainDispatcherApplication

    return lambda _create: DomainDispatcherApplication(create)


@pytest.fixture
def url(received):
    """Where the server is."""
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    yield f"http://{host}:{port}"
    server.stop()


def _use(url, name, steps):
    client = boto3.client(name, endpoint_url=url, **KEYS)
    for method, given in steps:
        with suppress(client.exceptions.ClientError):
            getattr(client, method)(**given)


def work(url):
    """Calls of three services, and of one by aiobotocore."""
    read = {"TableName": "orders", "Key": KEY, "ConsistentRead": True, "ReturnConsumedCapacity": "TOTAL"}
    query = {"KeyConditionExpression": "id=:i", "ExpressionAttributeValues": {":i": KEY["id"]}, "Limit": 3}
    steps = [
        ("create_table", TABLE),
        ("put_item", {"TableName": "orders", "Item": KEY, "ReturnConsumedCapacity": "INDEXES"}),
        ("get_item", read),
        ("get_item", {**read, "TableName": "none"}),
        ("batch_get_item", {"RequestItems": {"orders": {"Keys": [KEY]}}}),
        ("query", {"TableName": "orders", **query}),
        ("scan", {"TableName": "orders"}),
        ("list_tables", {}),
        ("delete_table", {"TableName": "orders"}),
    ]
    _use(url, "dynamodb", steps[:-1])
    bucket = {"Bucket": "invoices"}
    create = {**bucket, "CreateBucketConfiguration": {"LocationConstraint": "eu-west-1"}}
    objects = [
        ("create_bucket", create),
        ("put_object", {**bucket, "Key": "4711", "Body": b"text"}),
        ("get_object", {**bucket, "Key": "4711"}),
        ("get_object", {**bucket, "Key": "none"}),
        ("list_objects_v2", bucket),
        ("delete_object", {**bucket, "Key": "4711"}),
        ("delete_bucket", bucket),
    ]
    _use(url, "s3", objects)
    queue = f"{url}/123456789012/shipping"
    messages = [
        ("create_queue", {"QueueName": "shipping"}),
        ("send_message", {"QueueUrl": queue, "MessageBody": "4711"}),
        ("send_message_batch", {"QueueUrl": queue, "Entries": [{"Id": "1", "MessageBody": "4711"}]}),
        ("receive_message", {"QueueUrl": queue, "MaxNumberOfMessages": 2}),
        ("receive_message", {"QueueUrl": f"{queue}none"}),
        ("delete_queue", {"QueueUrl": queue}),
    ]
    _use(url, "sqs", messages)

    async def read_again():
        async with aiobotocore.session.get_session().create_client("dynamodb", endpoint_url=url, **KEYS) as client:
            await client.get_item(**read)

    asyncio.run(read_again())
    _use(url, "dynamodb", steps[-1:])


def emitted(url, received):
    """What the work leaves behind, and which span each request belongs to."""
    telemetry = Telemetry()
    received.clear()
    with telemetry.instrumented(BotocoreInstrumentor, AiobotocoreInstrumentor):
        work(url)
    spans = telemetry.spans.get_finished_spans()
    names = {f"{span.context.span_id:016x}": span.name for span in spans}
    headers = [names[re.search("Parent=([0-9a-f]+);Sampled=1", header)[1]] for header in received]
    # Ids of requests and messages are others each time.
    seen = re.sub(r"(request_id|message\.id)', '[^']*'", r"\1'", repr(telemetry.seen()))
    return headers, seen


@pytest.mark.proves("botocore.calls", "aiobotocore.calls")
@pytest.mark.filterwarnings("ignore::ResourceWarning")
def test_the_telemetry_is_equal(ours, url, received):
    """Each request has the header of its span."""
    assert HEADER == "X-Amzn-Trace-Id"
    headers, seen = emitted(url, received)
    with stock_hooks():
        assert emitted(url, received) == (headers, seen)
    assert len(headers) == 23
    assert headers[:3] == ["DynamoDB.CreateTable", "DynamoDB.PutItem", "DynamoDB.GetItem"]
