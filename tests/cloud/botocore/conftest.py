"""What the tests of calls of AWS share: clients that a handler answers, and what was emitted."""

from __future__ import annotations

import functools
import inspect
import json
from contextlib import contextmanager
from types import SimpleNamespace

import aiobotocore.session
import botocore.session
import pytest
from aiobotocore.awsrequest import AioAWSResponse
from botocore.awsrequest import AWSResponse
from botocore.config import Config
from opentelemetry.instrumentation import botocore as stock
from opentelemetry.instrumentation.botocore import AiobotocoreInstrumentor, BotocoreInstrumentor
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from otel_fastpath.cloud.botocore import patches, stock_botocore

KEYS = {"region_name": "eu-west-1", "aws_access_key_id": "key", "aws_secret_access_key": "secret"}
HEADER = "X-Amzn-Trace-Id"
ID = "7a62c49f-347e-4fc4-9331-6e8e7a96aa73"
HOOKS = {
    (kind, name): inspect.getattr_static(getattr(stock, kind), name)
    for kind in stock_botocore.INSTRUMENTORS
    for name in stock_botocore.HOOKS
}
ITEM = {"Item": {"id": {"S": "1"}}, "ConsumedCapacity": {"TableName": "t", "CapacityUnits": 0.5}}


@pytest.fixture
def ours(instrumented, no_faults):
    """The hooks of stock run this package's; there must be no fault, and nothing is left instrumented."""
    assert state(instrumented) == ("applied", "")
    yield instrumented
    for each in (BotocoreInstrumentor(), AiobotocoreInstrumentor()):
        if each.is_instrumented_by_opentelemetry:
            each.uninstrument()
    assert no_faults.counts() == {}


def state(instrumentor, name="botocore.calls"):
    """The patch's."""
    return next((row.state.value, row.reason) for row in instrumentor.status() if row.name == name)


@contextmanager
def stock_hooks():
    """Stock's hooks run their own code meanwhile."""
    for diversions in patches.DIVERSIONS.values():
        diversions.undo()
    try:
        yield
    finally:
        for each in stock_botocore.INSTRUMENTORS:
            patches.divert(each)


class _Content(SimpleNamespace):
    """What a response is read from."""

    def stream(self, *_args, **_more):
        return iter([self.body])

    async def read(self):
        return self.body


class Answers:
    """Answers requests in AWS's place; keeps their headers.

    Attributes:
        status: Of the next answers.
        body: Likewise, as it will be JSON.
        error: What is raised instead, or None.
        more: Their further headers.
    """

    def __init__(self):
        self.status, self.body, self.error, self.more = 200, {}, None, {"x-amzn-RequestId": ID}
        self.sent = []

    def client(self, service, **config):
        """A client of botocore's that gets these answers."""
        client = _session().create_client(service, config=_config(config), **KEYS)
        client.meta.events.register("before-send.*", self._answering(AWSResponse))
        return client

    @contextmanager
    def failing(self, status, **body):
        """Answers are errors meanwhile."""
        before = self.status, self.body
        self.status, self.body = status, body
        try:
            yield
        finally:
            self.status, self.body = before

    async def aio_client(self, service):
        """One of aiobotocore's."""
        made = aiobotocore.session.get_session().create_client(service, config=_config({}), **KEYS)
        client = await made.__aenter__()
        client.meta.events.register("before-send.*", self._answering(AioAWSResponse))
        return client

    def _answering(self, kind):
        def answer(request, **_more):
            self.sent.append(request.headers)
            if self.error is not None:
                raise self.error
            # S3 speaks XML.
            body = b"" if "s3." in request.url else json.dumps(self.body).encode()
            return kind(request.url, self.status, self.more, _Content(body=body))

        return answer


@functools.cache
def _session():
    """It keeps what it has read of each service."""
    return botocore.session.get_session()


def _config(given):
    return Config(**{"retries": {"max_attempts": 0}, "parameter_validation": False, **given})


class Telemetry:
    """A provider, and what arrived."""

    def __init__(self, is_batched=False, **given):
        self.spans = InMemorySpanExporter()
        self.tracers = TracerProvider(shutdown_on_exit=False, **given)
        self.tracers.add_span_processor((BatchSpanProcessor if is_batched else SimpleSpanProcessor)(self.spans))

    @contextmanager
    def instrumented(self, *kinds, **given):
        """These are instrumented meanwhile; botocore, if none is named."""
        kinds = kinds or (BotocoreInstrumentor,)
        for kind in kinds:
            kind().instrument(**{"tracer_provider": self.tracers, **given})
        try:
            yield
        finally:
            for kind in kinds:
                kind().uninstrument()
                # Stock's keeps the last one that it was given.
                del kind().propagator

    def seen(self):
        """The spans without ids and times, each with the place of its parent; there will be no more."""
        self.tracers.shutdown()
        spans = self.spans.get_finished_spans()
        numbers = {span.context.span_id: number for number, span in enumerate(spans)}
        return [
            (
                span.name,
                span.kind,
                (span.status.status_code, span.status.description),
                list(span.attributes.items()),
                span.dropped_attributes,
                [(event.name, _without_trace(event.attributes)) for event in span.events],
                (span.instrumentation_scope.name, span.instrumentation_scope.schema_url),
                span.parent and numbers.get(span.parent.span_id, "none"),
            )
            for span in spans
        ]


def _without_trace(attributes):
    # The frames of the hooks are others.
    return [
        (key, value if key != "exception.stacktrace" else value.splitlines()[-1]) for key, value in attributes.items()
    ]


@pytest.fixture
def answers():
    """What AWS answers."""
    made = Answers()
    made.body = ITEM
    return made


def get_item(client, table="t"):
    """An item of a table of DynamoDB."""
    return client.get_item(TableName=table, Key={"id": {"S": "1"}}, ConsistentRead=True)
