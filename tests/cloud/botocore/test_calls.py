"""Calls of AWS: what runs in the place of stock's hooks, when it steps back, and what is kept."""

# ruff: noqa: ARG001  # the fixture `ours` puts the hooks in their places

from __future__ import annotations

import gc
import importlib.util
import inspect
import weakref

import botocore.client
import botocore.endpoint
import pytest
import wrapt
from executed_functions import executed
from opentelemetry import context, trace
from opentelemetry.instrumentation import botocore as stock
from opentelemetry.instrumentation.botocore import AiobotocoreInstrumentor, BotocoreInstrumentor
from opentelemetry.instrumentation.botocore.extensions import dynamodb, types
from opentelemetry.instrumentation.utils import suppress_instrumentation
from opentelemetry.sdk.trace import Span
from opentelemetry.sdk.trace.sampling import ALWAYS_OFF

from otel_fastpath.cloud.botocore import aws_extensions, stock_botocore

from .conftest import HEADER, HOOKS, Telemetry, get_item, state


def test_stock_does_none_of_it(ours, answers):
    """Of a call, stock's functions only hand on, and convert two values."""
    telemetry = Telemetry()
    with telemetry.instrumented():
        client = answers.client("dynamodb")
        get_item(client)
        found = executed(lambda: get_item(client), stock_botocore.MODULE)
    assert found == ["_patched_api_call", "_conv_val_to_single_attr_tuple", "_patched_endpoint_prepare_request"]
    span = telemetry.seen()[1]
    assert span[0] == "DynamoDB.GetItem"
    attributes = dict(span[3])
    assert attributes["aws.dynamodb.consumed_capacity"] == ('{"TableName": "t", "CapacityUnits": 0.5}',)
    assert attributes["server.address"] == "dynamodb.eu-west-1.amazonaws.com"
    assert attributes["http.status_code"] == 200


def test_the_header_is_that_of_the_span(ours, answers):
    """As bytes, and once; not where there is one already."""
    telemetry = Telemetry()
    with telemetry.instrumented(BotocoreInstrumentor, AiobotocoreInstrumentor):
        client = answers.client("s3")
        client.put_object(Bucket="b", Key="k")
        client.meta.events.register(
            "request-created.*", lambda request, **_more: request.headers.add_header("x-amzn-trace-id", "own")
        )
        client.put_object(Bucket="b", Key="k")
    span = telemetry.spans.get_finished_spans()[0].context
    trace_id = f"{span.trace_id:032x}"
    expected = f"Root=1-{trace_id[:8]}-{trace_id[8:]};Parent={span.span_id:016x};Sampled=1"
    assert answers.sent[0][HEADER] == expected.encode()
    assert answers.sent[1][HEADER] == b"own"


@pytest.mark.parametrize("was_first", [True, False])
def test_either_may_be_first_and_last(instrumentor, core, answers, was_first):
    """Instrumented before or after this package is, and no longer instrumented before or after it is taken away."""
    telemetry = Telemetry()
    given = {"tracer_provider": telemetry.tracers}
    client = answers.client("dynamodb")
    if was_first:
        BotocoreInstrumentor().instrument(**given)
    instrumentor.instrument(core=core)
    if not was_first:
        BotocoreInstrumentor().instrument(**given)
    assert state(instrumentor) == ("applied", "")
    get_item(client)
    assert "_safe_invoke" not in executed(lambda: get_item(client), stock_botocore.MODULE)
    instrumentor.uninstrument()
    assert {place: inspect.getattr_static(getattr(stock, place[0]), place[1]) for place in HOOKS} == HOOKS
    assert "_safe_invoke" in executed(lambda: get_item(client), stock_botocore.MODULE)
    BotocoreInstrumentor().uninstrument()
    assert not hasattr(botocore.endpoint.Endpoint.prepare_request, "__wrapped__")
    get_item(client)
    assert [span[0] for span in telemetry.seen()] == ["DynamoDB.GetItem"] * 3


# Where stock's code looks for what it calls; what only the other instrumentor has, or a call that fails, is not called.
NOT_CALLED = ("Aiobotocore", "_get_attr_value", "_conv_val", "on_error")
CALLED = [
    *(f"{stock_botocore.MODULE}:{name}" for name in ("_safe_invoke", "get_server_attributes")),
    f"{stock_botocore.MODULE}:suppress_http_instrumentation",
    f"{stock_botocore.MODULE}:is_instrumentation_enabled",
    *stock_botocore.CALLED,
    *stock_botocore.EXTENDING,
]


@pytest.mark.parametrize("place", [place for place in CALLED if not any(each in place for each in NOT_CALLED)])
@pytest.mark.parametrize("is_before", [True, False])
def test_what_other_code_replaces_is_called(ours, answers, monkeypatch, place, is_before):
    """Also if that was there when the first call came; and the status names it."""
    service = {"_SqsExtension": "sqs", "_AwsSdkExtension": "s3"}.get(
        place.rpartition(":")[2].partition(".")[0], "dynamodb"
    )
    client = answers.client(service)

    def call():
        if service == "sqs":
            client.send_message(QueueUrl="https://queue/1/orders", MessageBody="x")
        elif service == "s3":
            client.put_object(Bucket="b", Key="k")
        else:
            get_item(client)

    with Telemetry().instrumented(request_hook=lambda *_: None, response_hook=lambda *_: None):
        if not is_before:
            call()
        module, _, name = place.partition(":")
        owner = importlib.import_module(module)
        for part in name.split(".")[:-1]:
            owner = getattr(owner, part)
        name = name.rpartition(".")[2]
        called, original = [], getattr(owner, name)

        def replacement(*args, **kwargs):
            called.append(name)
            return original(*args, **kwargs)

        is_static = isinstance(inspect.getattr_static(owner, name), staticmethod)
        monkeypatch.setattr(owner, name, staticmethod(replacement) if is_static else replacement)
        call()
        assert called
        assert name in state(ours)[1]
        monkeypatch.undo()
        assert state(ours) == ("applied", "")


def test_methods_of_the_span_that_others_replace_are_called(ours, answers, monkeypatch):
    """Each attribute is set by itself then."""
    found, original = [], Span.set_attribute

    def set_attribute(self, key, value):
        found.append(key)
        original(self, key, value)

    with Telemetry().instrumented():
        client = answers.client("dynamodb")
        get_item(client)
        monkeypatch.setattr(Span, "set_attribute", set_attribute)
        get_item(client)
    assert found.count("aws.request_id") == 1


def test_an_extension_of_others_runs(ours, answers, monkeypatch):
    """Whether it is put in the place of stock's class, or of what loads that."""

    class Own(dynamodb._DynamoDbExtension):
        def extract_attributes(self, attributes):
            attributes["own"] = self._call_context.operation
            self._call_context.span_name = "own"

    telemetry = Telemetry()
    with telemetry.instrumented():
        client = answers.client("dynamodb")
        get_item(client)
        monkeypatch.setattr(dynamodb, "_DynamoDbExtension", Own)
        get_item(client)
        monkeypatch.undo()
        monkeypatch.setitem(stock._BOTOCORE_EXTENSIONS, "dynamodb", lambda: Own)
        get_item(client)
    assert [span[0] for span in telemetry.seen()] == ["DynamoDB.GetItem", "own", "own"]


def test_an_extension_that_gets_a_method_has_it_called(ours, answers, monkeypatch):
    """Of the class that all inherit, too."""
    called = []
    with Telemetry().instrumented():
        client = answers.client("s3")
        client.put_object(Bucket="b", Key="k")
        for name in ("extract_attributes", "before_service_call", "on_success", "after_service_call"):
            monkeypatch.setattr(types._AwsSdkExtension, name, lambda *_args, name=name: called.append(name))
        client.put_object(Bucket="b", Key="k")
    assert called == ["extract_attributes", "before_service_call", "on_success", "after_service_call"]


@pytest.mark.parametrize("is_before", [True, False])
@pytest.mark.parametrize("hook", stock_botocore.HOOKS)
def test_a_vendors_wrapper(instrumentor, core, answers, monkeypatch, is_before, hook):
    """Around a hook of stock, put there before or after this package."""
    called, telemetry = [], Telemetry()

    def around(wrapped, _instance, args, kwargs):
        called.append(hook)
        return wrapped(*args, **kwargs)

    def wrap():
        wrapper = wrapt.FunctionWrapper(HOOKS["BotocoreInstrumentor", hook], around)
        monkeypatch.setattr(BotocoreInstrumentor, hook, wrapper)

    if is_before:
        wrap()
    instrumentor.instrument(core=core)
    if not is_before:
        wrap()
    client = answers.client("dynamodb")
    with telemetry.instrumented():
        get_item(client)
    instrumentor.uninstrument()
    with telemetry.instrumented():
        get_item(client)
    assert called == [hook, hook]
    assert len(telemetry.seen()) == 2
    assert all(HEADER in headers for headers in answers.sent)


@pytest.mark.parametrize("is_before", [True, False])
def test_a_wrapper_around_botocores_own_sees_the_header(ours, answers, monkeypatch, is_before):
    """One that was there before stock's finds the header in the request that it is given."""
    found, telemetry = [], Telemetry()

    def around(wrapped, _instance, args, kwargs):
        found.append(HEADER in args[0].headers)
        prepared = wrapped(*args, **kwargs)
        found.append(HEADER in prepared.headers)
        return prepared

    def wrap():
        original = inspect.getattr_static(botocore.endpoint.Endpoint, "prepare_request")
        monkeypatch.setattr(botocore.endpoint.Endpoint, "prepare_request", wrapt.FunctionWrapper(original, around))

    if is_before:
        wrap()
    with telemetry.instrumented():
        if not is_before:
            wrap()
        get_item(answers.client("dynamodb"))
        monkeypatch.undo() if not is_before else None
    assert found == ([True, True] if is_before else [False, True])


def test_a_subclass_is_stock(ours, answers):
    """An instrumentor of an application's own runs its own methods."""

    class Own(BotocoreInstrumentor):
        _instance = None

        def _call_request_hook(self, _span, call_context):
            seen.append(call_context.operation)

    seen, telemetry = [], Telemetry()
    own = Own()
    own.instrument(tracer_provider=telemetry.tracers)
    try:
        get_item(answers.client("dynamodb"))
    finally:
        own.uninstrument()
    assert seen == ["GetItem"]


def test_suppressed_and_not_sampled(ours, answers):
    """No span is made where instrumentation is suppressed; a span that is not sampled costs no extension."""
    telemetry, silent = Telemetry(), Telemetry(sampler=ALWAYS_OFF)
    client = answers.client("dynamodb")
    with telemetry.instrumented(), suppress_instrumentation():
        get_item(client)
    with silent.instrumented():
        get_item(client)
        assert "__init__" not in executed(lambda: get_item(client), stock_botocore.MODULE)
    assert telemetry.seen() == silent.seen() == []
    assert answers.sent[-1][HEADER].endswith(b"Sampled=0")


def test_hooks_of_the_application_raise_as_with_stock(ours, answers):
    """Before the call, which is not made then; and after it."""

    def fail(*_args):
        raise LookupError("the application's")

    telemetry = Telemetry()
    client = answers.client("dynamodb")
    for number, name in enumerate(("request_hook", "response_hook")):
        with telemetry.instrumented(**{name: fail}), pytest.raises(LookupError):
            get_item(client)
        assert len(answers.sent) == number
    assert [span[5][0][0] for span in telemetry.seen()] == ["exception", "exception"]
    assert trace.get_current_span() is trace.INVALID_SPAN
    assert context.get_current() == {}


def test_nothing_is_kept(ours, answers, unfrozen):
    """A thousand endpoints leave no more behind than is bounded, and arguments are not kept alive."""

    class Argument(dict):
        """An argument."""

    with Telemetry().instrumented():
        client = answers.client("dynamodb")
        argument = Argument()
        watched = weakref.ref(argument)
        client._make_api_call("GetItem", {"TableName": "t", "Key": argument})
        for number in range(1_000):
            client.meta._endpoint_url = f"https://host-{number}.example.com"
            get_item(client)
        assert len(getattr(aws_extensions, "_endpoints", ())) <= 512
        del argument
        gc.collect()
        assert watched() is None


@pytest.mark.parametrize("place", ["client", "endpoint"])
def test_an_interruption_is_the_hosts(ours, answers, no_faults, place):
    """A time limit that arrives during the call is raised, and is no fault; the context is as it was."""

    class LimitReached(BaseException):
        """A time limit."""

    answers.error = LimitReached()
    telemetry = Telemetry()
    with telemetry.instrumented(), pytest.raises(LimitReached):
        get_item(answers.client("dynamodb"))
    assert context.get_current() == {}
    (span,) = telemetry.seen()
    assert span[2][0] is trace.StatusCode.UNSET
    assert no_faults.counts() == {}
