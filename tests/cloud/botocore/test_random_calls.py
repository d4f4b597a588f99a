"""Random calls of AWS leave the same telemetry with stock's hooks and with this package's."""

# ruff: noqa: ARG001, D102  # methods are named after the steps of a program

from __future__ import annotations

import asyncio
import contextvars
import logging
import re
import threading
from contextlib import contextmanager

import pytest
from botocore.exceptions import ClientError
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from opentelemetry import baggage, context, trace
from opentelemetry.instrumentation.botocore import AiobotocoreInstrumentor, BotocoreInstrumentor
from opentelemetry.instrumentation.utils import suppress_http_instrumentation, suppress_instrumentation
from opentelemetry.propagators.aws import AwsXRayPropagator
from opentelemetry.sdk.trace import SpanLimits
from opentelemetry.sdk.trace.sampling import ALWAYS_OFF
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

from .conftest import Answers, Telemetry, stock_hooks

SERVICES = ("dynamodb", "s3", "sqs", "sns", "lambda", "secretsmanager", "stepfunctions", "ec2")
CAPACITY = st.sampled_from(
    [
        {"TableName": "t", "CapacityUnits": 0.5},
        {"TableName": 't\u00e4"\\\n\ud800', "CapacityUnits": 1, "Table": {"CapacityUnits": 1.5e300}},
        {"TableName": None, "CapacityUnits": True, "Own": [1, {"a": "b"}]},
        {},
        [],
        [{"TableName": "t"}, 3],
        "text",
        float("nan"),
        float("inf"),
        7,
    ]
)
VALUES = st.one_of(
    st.sampled_from([None, "", "text", 3, 0, False, 1.5, [], ["a"], [1, "b"], {}, {"a": 1}, b"x"]), CAPACITY
)
TABLES = st.fixed_dictionaries(
    {},
    optional={
        "TableName": VALUES,
        "RequestItems": st.sampled_from([{"t": {}}, {}, [], "x"]),
        "ConsistentRead": VALUES,
        "ProjectionExpression": VALUES,
        "Limit": VALUES,
        "ProvisionedThroughput": st.sampled_from(
            [{"ReadCapacityUnits": 1, "WriteCapacityUnits": 2}, {"ReadCapacityUnits": 3}, {}, "x"]
        ),
        "GlobalSecondaryIndexes": st.sampled_from([[{"IndexName": "i"}], [], "x", [b"x"]]),
        "AttributeDefinitions": st.sampled_from([[{"AttributeName": "id"}], {}]),
    },
)
OPERATIONS = {
    "dynamodb": (
        *("BatchGetItem", "BatchWriteItem", "CreateTable", "DeleteItem", "DeleteTable", "DescribeTable", "GetItem"),
        *("ListTables", "PutItem", "Query", "Scan", "UpdateItem", "UpdateTable", "DescribeLimits", "Unknown", 3),
    ),
    "s3": ("ListBuckets", "Unknown"),
    "sqs": ("SendMessage", "SendMessageBatch", "ReceiveMessage", "ListQueues"),
    "sns": ("Publish", "PublishBatch", "ListTopics"),
    "lambda": ("Invoke", "ListFunctions"),
    "secretsmanager": ("GetSecretValue",),
    "stepfunctions": ("StartExecution",),
    "ec2": ("DescribeInstances",),
}
QUEUES = st.sampled_from(["https://queue/1/orders", "orders", "", None, 3, "a/", ["x"]])
PARAMS = {
    "dynamodb": TABLES,
    "sqs": st.fixed_dictionaries({}, optional={"QueueUrl": QUEUES, "MessageBody": VALUES}),
    "sns": st.fixed_dictionaries(
        {},
        optional={
            "TopicArn": st.sampled_from(["arn:aws:sns:eu-west-1:1:t", "", 3]),
            "PhoneNumber": st.just("+49"),
            "MessageAttributes": st.sampled_from([{}, {"a": {"DataType": "String", "StringValue": "b"}}]),
        },
    ),
    "lambda": st.fixed_dictionaries(
        {"FunctionName": st.sampled_from(["f", "arn:aws:lambda:eu-west-1:123456789012:function:f", 3])},
        optional={"Payload": st.sampled_from([b"{}", '{"headers": {"a": "b"}}', b"[", "3"])},
    ),
    "secretsmanager": st.fixed_dictionaries({"SecretId": st.sampled_from(["s", "arn:aws:secretsmanager:e:1:s", 3])}),
    "stepfunctions": st.fixed_dictionaries({}, optional={"stateMachineArn": VALUES, "activityArn": VALUES}),
}
METADATA = st.one_of(
    st.fixed_dictionaries(
        {},
        optional={
            "RequestId": VALUES,
            "RetryAttempts": VALUES,
            "HTTPStatusCode": st.sampled_from([200, 304, 400, 500, None, "200"]),
            "HTTPHeaders": st.sampled_from(
                [{}, None, {"x-amzn-RequestId": "a"}, {"x-amz-request-id": "b"}, {"x-amz-id-2": ""}, [], "x"]
            ),
        },
    ),
    st.sampled_from([None, [], "x"]),
)
MESSAGES = st.sampled_from([None, [], [{}], [{"MessageId": "m"}], [{"MessageId": 3}], "x", {"a": 1}, [None]])
RESULTS = st.one_of(
    st.fixed_dictionaries(
        {},
        optional={
            "ResponseMetadata": METADATA,
            "ConsumedCapacity": CAPACITY,
            "ItemCollectionMetrics": VALUES,
            "TableNames": VALUES,
            "Count": VALUES,
            "ScannedCount": VALUES,
            "MessageId": VALUES,
            "Successful": MESSAGES,
            "Messages": MESSAGES,
            "TopicArn": VALUES,
            "ARN": VALUES,
            "stateMachineArn": VALUES,
        },
    ),
    st.sampled_from([None, [], "text", 3]),
)
OUTCOMES = st.one_of(
    st.tuples(st.just("result"), RESULTS),
    st.tuples(st.just("ClientError"), RESULTS),
    st.tuples(st.sampled_from(["ValueError", "CancelledError", "KeyboardInterrupt"]), st.none()),
)


@st.composite
def _calls(draw):
    service = draw(st.sampled_from(SERVICES))
    params = draw(st.one_of(PARAMS.get(service, st.just({})), st.sampled_from([{}, None])))
    return (
        "call",
        service,
        draw(st.sampled_from(OPERATIONS[service])),
        params,
        draw(OUTCOMES),
        draw(st.sampled_from(["sync", "sync", "async"])),
        draw(st.sampled_from([None, None, None, "http://localhost:8000/x", "https://[::1]:99", "none", "", 3])),
    )


STEPS = st.recursive(
    _calls(), lambda inner: st.tuples(st.sampled_from(["span", "bag", "off", "http_off"]), st.lists(inner, max_size=3))
)
SETTINGS = st.fixed_dictionaries(
    {
        "sampler": st.sampled_from([None, None, ALWAYS_OFF]),
        "most": st.sampled_from([None, None, 3, 40]),
        "longest": st.sampled_from([None, None, 4]),
        "is_batched": st.booleans(),
        "is_debug": st.booleans(),
        "propagator": st.sampled_from([None, None, "xray", "w3c"]),
        "hooks": st.sampled_from([None, None, "set", "ends", "request fails", "response fails"]),
        "tracers": st.sampled_from(["sdk", "sdk", "none"]),
    }
)


def _error(name, result):
    """What a call raises."""
    if name == "ClientError":
        error = ClientError({"Error": {"Code": "no", "Message": "such"}}, "Operation")
        error.response = result
        return error
    kinds = {"ValueError": ValueError, "CancelledError": asyncio.CancelledError, "KeyboardInterrupt": KeyboardInterrupt}
    return kinds[name]("the call's")


def _without_ids(value):
    return re.sub("[0-9a-f]{16,}", "id", repr(value))


class Run:
    """One run of a program.

    Stock's wrappers of the methods of clients are given another function in the method's place, so that answers may be
    of any kind.
    """

    def __init__(self, clients, telemetry):
        self.clients = clients
        self.tracer = telemetry.tracers.get_tracer("application")
        self.happened = []

    def do(self, steps):
        for what, *rest in steps:
            try:
                getattr(self, what)(*rest)
            except BaseException as error:
                if type(error).__name__ in {"Failed", "AssertionError"}:
                    raise
                self.happened.append((what, type(error).__name__, str(error)[:60]))
            now = context.get_current()
            self.happened.append((what, sorted(now), trace.get_current_span(now).is_recording()))

    def span(self, steps):
        with self.tracer.start_as_current_span("around"):
            self.do(steps)

    def bag(self, steps):
        token = context.attach(baggage.set_baggage("user", "ann"))
        self.do(steps)
        context.detach(token)

    def off(self, steps):
        with suppress_instrumentation():
            self.do(steps)

    def http_off(self, steps):
        with suppress_http_instrumentation():
            self.do(steps)

    def call(self, service, operation, params, outcome, kind, url):
        client = self.clients[service]
        params = {**params} if isinstance(params, dict) else params
        before = client.meta._endpoint_url
        name, result = outcome

        def original(*args, **kwargs):
            self.happened.append(("called", _without_ids(args), kwargs, sorted(context.get_current())))
            if name != "result":
                raise _error(name, result)
            return result

        async def original_of_aio(*args, **kwargs):
            await asyncio.sleep(0)
            return original(*args, **kwargs)

        client.meta._endpoint_url = before if url is None else None if url == "none" else url
        try:
            if kind == "sync":
                hook = BotocoreInstrumentor()._patched_api_call
                answered = hook(original, client, (operation, params), {})
            else:
                hook = AiobotocoreInstrumentor()._patched_api_call
                answered = asyncio.run(hook(original_of_aio, client, (operation, params), {}))
            self.happened.append(("answered", answered is result, _without_ids(params)))
        finally:
            client.meta._endpoint_url = before


@contextmanager
def logged(into, *, is_debug):
    """What stock logs meanwhile, in this thread."""
    this = threading.get_ident()

    class Handler(logging.Handler):
        def emit(self, record):
            text = re.sub(" at 0x[0-9a-f]+", "", record.getMessage().partition("\n")[0])
            # Not what the threads of batch processors say.
            if record.thread == this:
                into.append((record.name, record.levelname, text[:200]))

    handler, logger = Handler(), logging.getLogger("opentelemetry")
    logger.addHandler(handler)
    logger.propagate = False
    level = logger.level
    logger.setLevel(logging.DEBUG if is_debug else logging.NOTSET)
    try:
        yield
    finally:
        logger.removeHandler(handler)
        logger.propagate = True
        logger.setLevel(level)


def _hooks(kind, happened):
    """The application's hooks."""

    def request_hook(span, *given):
        happened.append(("asked", _without_ids(given), span.is_recording()))
        if kind == "request fails":
            raise LookupError("the application's")
        if kind == "ends":
            span.end()
        span.set_attribute("rpc.method", "own")

    def response_hook(span, *given):
        happened.append(("answered", _without_ids(given), span.is_recording(), sorted(context.get_current())))
        if kind == "response fails":
            raise LookupError("the application's")

    return {} if kind is None else {"request_hook": request_hook, "response_hook": response_hook}


PROPAGATORS = {"xray": AwsXRayPropagator, "w3c": TraceContextTextMapPropagator}


def happens(clients, chosen, program):
    """What happens in the program."""
    options = {} if chosen["sampler"] is None else {"sampler": chosen["sampler"]}
    limits = {"max_attributes": chosen["most"], "max_attribute_length": chosen["longest"]}
    limits = {name: value for name, value in limits.items() if value is not None}
    telemetry, logs = Telemetry(chosen["is_batched"], span_limits=SpanLimits(**limits), **options), []
    run = Run(clients, telemetry)
    given = _hooks(chosen["hooks"], run.happened)
    if chosen["propagator"] is not None:
        given["propagator"] = PROPAGATORS[chosen["propagator"]]()
    if chosen["tracers"] == "none":
        given["tracer_provider"] = trace.NoOpTracerProvider()

    def do():
        with logged(logs, is_debug=chosen["is_debug"]):
            run.do(program)

    with telemetry.instrumented(BotocoreInstrumentor, AiobotocoreInstrumentor, **given):
        contextvars.Context().run(do)
    return run.happened, logs, telemetry.seen()


@pytest.fixture(scope="module")
def clients():
    """A client of each service."""
    answers = Answers()
    return {service: answers.client(service) for service in SERVICES}


@pytest.mark.proves("botocore.calls", "aiobotocore.calls")
@settings(
    max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)
@given(chosen=SETTINGS, program=st.lists(STEPS, min_size=1, max_size=4))
def test_random_calls(ours, clients, chosen, program):
    """Spans, hooks, results, exceptions, log records and contexts are the same."""
    left = happens(clients, chosen, program)
    with stock_hooks():
        right = happens(clients, chosen, program)
    for one, other in zip(left, right, strict=True):
        assert one == other


@pytest.mark.proves("botocore.calls", "aiobotocore.calls")
@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    service=st.sampled_from(["dynamodb", "sqs", "ec2"]),
    status=st.sampled_from([200, 400, 503]),
    propagator=st.sampled_from([None, "w3c"]),
    own=st.sampled_from([None, "X-Amzn-Trace-Id", "x-amzn-trace-id", "traceparent"]),
    is_below=st.booleans(),
    retries=st.integers(0, 1),
)
def test_random_headers(ours, service, status, propagator, own, is_below, retries):
    """What is sent has the same headers, with the same ids, whatever is retried."""

    def send():
        answers, telemetry = Answers(), Telemetry()
        answers.status = status
        client = answers.client(service, retries={"max_attempts": retries})
        if own is not None:
            client.meta.events.register(
                "request-created.*", lambda request, **_more: request.headers.add_header(own, "own")
            )
        given = {} if propagator is None else {"propagator": PROPAGATORS[propagator]()}
        method = {"dynamodb": "list_tables", "sqs": "list_queues", "ec2": "describe_regions"}[service]
        with telemetry.instrumented(BotocoreInstrumentor, AiobotocoreInstrumentor, **given):
            try:
                if is_below:
                    with telemetry.tracers.get_tracer("application").start_as_current_span("around"):
                        getattr(client, method)()
                else:
                    getattr(client, method)()
            except client.exceptions.ClientError:
                pass
            except Exception as error:  # what EC2's answers are read with
                assert "parse" in str(error)  # noqa: PT017
        span = telemetry.spans.get_finished_spans()[0].context
        ids = {f"{span.span_id:016x}": "span", f"{span.trace_id:032x}": "trace"}
        ids[f"{span.trace_id:032x}"[8:]] = "trace"
        found = []
        for headers in answers.sent:
            texts = {key.lower(): value for key, value in headers.items() if "trace" in key.lower()}
            for old, new in ids.items():
                texts = {
                    key: re.sub(old, new, value.decode()) for key, value in texts.items() if isinstance(value, bytes)
                }
                texts = {key: re.sub("Root=1-[0-9a-f]{8}", "Root", value).encode() for key, value in texts.items()}
            found.append((texts, sorted(headers)))
        return found, telemetry.seen()

    left = send()
    with stock_hooks():
        right = send()
    assert left == right
