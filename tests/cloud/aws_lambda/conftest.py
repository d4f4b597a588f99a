"""What the tests of Lambda's handlers share: a function that stock instruments, its context, and what was emitted."""

from __future__ import annotations

import sys
from contextlib import contextmanager
from types import ModuleType, SimpleNamespace
from unittest import mock

import pytest
from opentelemetry.instrumentation.aws_lambda import AwsLambdaInstrumentor
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from stock_in_place import stock_in_place

from otel_fastpath.cloud.aws_lambda.patches import PATCHES

MODULE = "shop_lambda_function"
PARENT = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
PLACES = {patch.name: patch.target for patch in PATCHES}
CONTEXT = SimpleNamespace(
    function_name="charge",
    invoked_function_arn="arn:aws:lambda:eu-west-1:123456789012:function:charge:live",
    aws_request_id="8476a536-e9f4-11e8-9739-2dfe598c3fcd",
)


@pytest.fixture
def ours(instrumented, no_faults):
    """The functions of stock are this package's; there must be no fault."""
    assert set(states(instrumented).values()) == {("applied", "")}
    yield instrumented
    assert no_faults.counts() == {}


def states(instrumentor):
    """The patches', by name."""
    return {row.name: (row.state.value, row.reason) for row in instrumentor.status() if row.name in PLACES}


def stock_functions():
    """Stock's own functions are in their places meanwhile."""
    return stock_in_place(PLACES.values())


class Telemetry:
    """Providers, and what arrived."""

    def __init__(self, **given):
        self.spans = InMemorySpanExporter()
        self.tracers = TracerProvider(shutdown_on_exit=False, **given)
        self.tracers.add_span_processor(BatchSpanProcessor(self.spans, schedule_delay_millis=3_600_000))
        self.meters = MeterProvider(shutdown_on_exit=False)

    @contextmanager
    def handler(self, function, **given):
        """What the runtime finds in the place of this function."""
        module = ModuleType(MODULE)
        module.handler = function
        environment = {"AWS_LAMBDA_FUNCTION_NAME": "charge", "_HANDLER": f"{MODULE}.handler"}
        with mock.patch.dict(sys.modules, {MODULE: module}), mock.patch.dict("os.environ", environment):
            AwsLambdaInstrumentor().instrument(
                **{"tracer_provider": self.tracers, "meter_provider": self.meters, **given}
            )
            try:
                yield module.handler
            finally:
                AwsLambdaInstrumentor().uninstrument()

    def seen(self):
        """The spans without ids and times, each with its parent; there will be no more."""
        self.tracers.shutdown()
        self.meters.shutdown()
        spans = self.spans.get_finished_spans()
        numbers = {span.context.span_id: number for number, span in enumerate(spans)}
        return [
            (
                span.name,
                span.kind,
                (span.status.status_code, span.status.description),
                list(span.attributes.items()),
                [event.name for event in span.events],
                [(link.context, dict(link.attributes)) for link in span.links],
                span.parent and (numbers.get(span.parent.span_id, span.parent), span.parent.is_remote),
            )
            for span in spans
        ]
