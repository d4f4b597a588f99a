"""Calls of AWS by boto3 and aiobotocore, as OpenTelemetry's instrumentation records them: run it to see the spans.

python -m examples.aws_calls

AWS is moto's server on this machine (`pip install 'moto[server]'`).
"""

import asyncio
from contextlib import suppress
from typing import Any

import aiobotocore.session
import boto3
from botocore.exceptions import ClientError
from moto.server import ThreadedMotoServer
from opentelemetry.instrumentation.botocore import AiobotocoreInstrumentor, BotocoreInstrumentor
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from otel_fastpath import FastpathInstrumentor

KEYS = {"region_name": "eu-west-1", "aws_access_key_id": "key", "aws_secret_access_key": "secret"}
TABLE: dict[str, Any] = {
    "TableName": "orders",
    "KeySchema": [{"AttributeName": "id", "KeyType": "HASH"}],
    "AttributeDefinitions": [{"AttributeName": "id", "AttributeType": "S"}],
    "BillingMode": "PAY_PER_REQUEST",
}


def order(url: str) -> None:
    """What a service does with an order."""
    tables, objects, queues = (boto3.client(each, endpoint_url=url, **KEYS) for each in ("dynamodb", "s3", "sqs"))
    tables.create_table(**TABLE)
    tables.put_item(TableName="orders", Item={"id": {"S": "4711"}})
    objects.create_bucket(Bucket="invoices", CreateBucketConfiguration={"LocationConstraint": "eu-west-1"})
    with suppress(ClientError):
        objects.get_object(Bucket="invoices", Key="4711")
    queue = queues.create_queue(QueueName="shipping")["QueueUrl"]
    queues.send_message(QueueUrl=queue, MessageBody="4711")


async def read(url: str) -> None:
    """What an asynchronous service does with it."""
    async with aiobotocore.session.get_session().create_client("dynamodb", endpoint_url=url, **KEYS) as tables:
        await tables.get_item(TableName="orders", Key={"id": {"S": "4711"}})


def main() -> None:
    """Print each span below its parent."""
    exporter = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    FastpathInstrumentor().instrument()
    for each in (BotocoreInstrumentor(), AiobotocoreInstrumentor()):
        each.instrument(tracer_provider=provider)
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    with provider.get_tracer("shop").start_as_current_span("order"):
        order(f"http://{host}:{port}")
        asyncio.run(read(f"http://{host}:{port}"))
    server.stop()
    for span in sorted(exporter.get_finished_spans(), key=lambda span: span.start_time or 0):
        attributes = span.attributes or {}
        print(f"{'  ' if span.parent else ''}{span.name}  {attributes.get('http.status_code', '')}".rstrip())


if __name__ == "__main__":
    main()
