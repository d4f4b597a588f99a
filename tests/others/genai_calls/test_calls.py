"""Calls of LLMs: what stands in the place of stock's functions, and when it steps back."""

# ruff: noqa: ARG001  # the fixture `ours` puts the functions in their places

from __future__ import annotations

import dataclasses
import gc
import importlib
import inspect
import os
import threading
import weakref

import pytest
from executed_functions import executed
from opentelemetry import context as context_api
from opentelemetry import trace
from opentelemetry.instrumentation import utils
from opentelemetry.sdk.trace import Span
from opentelemetry.util.genai import _inference_invocation as inference
from opentelemetry.util.genai import _invocation as base
from opentelemetry.util.genai import types
from opentelemetry.util.genai.handler import TelemetryHandler

from otel_fastpath.others.genai_calls import stock_genai

from .conftest import PLACES, STOCK, Telemetry, counted_time, functions

CAPTURE = "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"
EMIT = "OTEL_INSTRUMENTATION_GENAI_EMIT_EVENT"
ASKED = [types.InputMessage("user", [types.TextPart("Hi")])]
ANSWERED = [types.OutputMessage("assistant", [types.TextPart("Hello.")], "stop")]


def chat(handler, error=None, **given):
    """One call with content."""
    call = handler.inference("openai", request_model="gpt", server_address="host", server_port=443, **given)
    call.input_messages, call.output_messages = ASKED, ANSWERED
    call.input_tokens, call.output_tokens = 3, 4
    call.record_stream_chunk()
    if error is None:
        call.stop()
    else:
        call.fail(error)
    return call


@pytest.mark.parametrize("mode", [None, "SPAN_ONLY", "EVENT_ONLY", "SPAN_AND_EVENT"])
def test_stock_does_none_of_it(ours, monkeypatch, mode):
    """Of a usual call, stock's code only starts, stops and ends it."""
    if mode:
        monkeypatch.setenv(CAPTURE, mode)
    telemetry = Telemetry()
    handler = telemetry.handler()
    chat(handler)
    found = executed(lambda: chat(handler), stock_genai.PACKAGE)
    assert not {"_apply_finish", "_get_attributes", "_record_client_metrics", "asdict", "merge"} & set(found)
    assert found.count("__init__") == 0
    assert len(telemetry.spans.get_finished_spans()) == 2


@pytest.mark.parametrize("name", sorted(PLACES))
def test_they_look_like_the_originals(ours, name):
    """Signature, names, docs, and what they wrap."""
    assert ours[name] is not STOCK[name]
    assert inspect.signature(ours[name]) == inspect.signature(STOCK[name])
    for attribute in ("__name__", "__qualname__", "__module__", "__doc__"):
        assert getattr(ours[name], attribute) == getattr(STOCK[name], attribute)
    assert ours[name].__wrapped__ is STOCK[name]


def test_a_record_has_what_is_set(ours, core):
    """A deliberate difference; and with the compiled core they are not Python functions."""
    handler = Telemetry().handler()
    record = handler.inference("openai", _attach_to_context=False).data
    with functions(STOCK):
        stock = handler.inference("openai", _attach_to_context=False).data
    assert set(vars(record)) < set(vars(stock))
    assert record == stock
    assert repr(record) == repr(stock)
    assert dataclasses.asdict(record) == dataclasses.asdict(stock)
    assert [inspect.isfunction(each) for each in ours.values()] == [core == "py"] * len(ours)


def test_they_are_given_back(ours, instrumented):
    """The very same functions are there again."""
    instrumented.uninstrument()
    assert {name: vars(owner)[attribute] for name, (owner, attribute) in PLACES.items()} == STOCK
    telemetry = Telemetry()
    chat(telemetry.handler())
    assert len(telemetry.seen().spans) == 1


# Where stock's code looks for what it calls, besides what the replacements call themselves.
REPLACED = sorted(
    {*stock_genai.CHUNK, *stock_genai.FINISHING} - {f"{stock_genai.PACKAGE}.utils:_GenAiJsonEncoder.default"}
)


@pytest.mark.parametrize("place", REPLACED)
@pytest.mark.parametrize("is_before", [True, False])
def test_what_other_code_replaces_is_called(ours, monkeypatch, place, is_before):
    """Also if that was there when the first call came."""
    monkeypatch.setenv(CAPTURE, "SPAN_AND_EVENT")
    telemetry, called = Telemetry(), []
    handler = telemetry.handler()
    if not is_before:
        chat(handler)
    module, _, name = place.partition(":")
    owner = importlib.import_module(module)
    for part in name.split(".")[:-1]:
        owner = getattr(owner, part)
    name = name.rpartition(".")[2]
    original = inspect.getattr_static(owner, name)
    called_as = original.fget if isinstance(original, property) else original

    def replacement(*args, **kwargs):
        called.append(name)
        return called_as(*args, **kwargs)

    made = property(replacement, original.fset) if isinstance(original, property) else replacement
    monkeypatch.setattr(owner, name, made)
    for module in (inference, base):
        if vars(module).get(name) is original:
            monkeypatch.setattr(module, name, made)
    call = handler.inference("openai", request_model="gpt")
    # Published by a call inside, so that it is merged.
    call.context["opentelemetry.genai.client.inference.context"].response_model = "inner"
    call.output_messages = ANSWERED
    call.record_stream_chunk()
    call.fail(ValueError("broken"))
    assert called
    monkeypatch.undo()
    before = len(called)
    chat(handler)
    assert len(called) == before


@pytest.mark.parametrize(
    ("module", "name"),
    [
        (base, "set_value"),
        (base, "attach"),
        (base, "set_span_in_context"),
        (base, "get_ambient_conversation_id"),
        (base, "with_conversation_id"),
        (inference, "_should_emit_event"),
        (base, "get_content_capturing_mode"),
        (inference, "get_value"),
        (inference, "LogRecord"),
        (context_api, "get_current"),
    ],
)
def test_what_of_the_api_is_replaced_is_called(ours, monkeypatch, module, name):
    """The names in stock's modules, and the API's own where stock's functions call that."""
    monkeypatch.setenv(CAPTURE, "EVENT_ONLY")
    telemetry, called = Telemetry(), []
    handler = telemetry.handler()
    if name == "get_content_capturing_mode":
        handler._content_capturing_mode = None
    chat(handler)
    original = getattr(module, name)
    before = len(called)
    conversation = {"conversation_id": "c1"} if name == "with_conversation_id" else {}
    monkeypatch.setattr(module, name, lambda *args, **kwargs: called.append(name) or original(*args, **kwargs))
    chat(handler, **conversation)
    assert len(called) > before
    assert len(telemetry.seen().spans) == 2


def test_the_environment_is_read_for_each_call(ours, monkeypatch):
    """Whether there are events; also from another mapping in the place of `os.environ`."""
    telemetry = Telemetry()
    handler = telemetry.handler()
    chat(handler)
    monkeypatch.setenv(EMIT, "true")
    chat(handler)
    monkeypatch.setenv(EMIT, "false")
    chat(handler)
    monkeypatch.delenv(EMIT)
    chat(handler)
    monkeypatch.setattr(os, "environ", {EMIT: "true"})
    chat(handler)
    monkeypatch.undo()
    assert len(telemetry.seen().events) == 2


def test_calls_inside_of_a_call(ours, monkeypatch):
    """An instrumentation of a client below that of a framework: one span, with what both know; as stock's."""
    monkeypatch.setenv(CAPTURE, "SPAN_ONLY")

    def run(found):
        telemetry = Telemetry()
        handler = telemetry.handler()
        with functions(found), counted_time(), handler.inference("langchain") as outer:
            data = outer.context["opentelemetry.genai.client.inference.context"]
            data.capture_content = True
            inner = chat(handler)
            inner.attributes["late"] = 1
            assert type(inner).__name__ == "SuppressedInferenceInvocation"
            handler.embedding("openai", request_model="e").stop()
        return vars(telemetry.seen())

    mine, theirs = run(ours), run(STOCK)
    assert mine == theirs
    assert "gen_ai.input.messages" in dict(mine["spans"][-1][3])


def test_threads_do_not_mix(ours):
    """Each call has its own attributes."""
    telemetry = Telemetry()
    handler = telemetry.handler()

    def run(number):
        for _ in range(50):
            call = handler.inference("openai", request_model=f"model {number}")
            call.response_id = f"response {number}"
            call.attributes["thread"] = number
            call.stop()

    threads = [threading.Thread(target=run, args=(number,)) for number in range(4)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    found = telemetry.spans.get_finished_spans()
    assert len(found) == 200
    for span in found:
        number = span.attributes["thread"]
        assert span.attributes["gen_ai.request.model"] == f"model {number}"
        assert span.attributes["gen_ai.response.id"] == f"response {number}"


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")
def test_in_a_fork(ours):
    """The child's calls have telemetry, too."""
    telemetry = Telemetry()
    handler = telemetry.handler()
    chat(handler)
    child = os.fork()
    if child == 0:
        chat(handler)
        os._exit(0 if len(telemetry.spans.get_finished_spans()) == 2 else 1)
    assert os.waitpid(child, 0)[1] == 0


def test_nothing_is_kept(ours):
    """A call that has ended is freed, and so is what was sent."""
    telemetry = Telemetry()
    handler = telemetry.handler()
    message = types.InputMessage("user", [])
    call = handler.inference("openai")
    call.input_messages = [message]
    call.stop()
    kept = [weakref.ref(call), weakref.ref(message), weakref.ref(call.data)]
    del call, message
    gc.collect()
    assert [each() for each in kept] == [None] * 3


def test_without_an_sdk(ours):
    """Nothing is recorded, and contexts are as stock leaves them."""
    handler = TelemetryHandler(
        trace.NoOpTracerProvider(), instrumentation_scope_name="scope", instrumentation_scope_version="1"
    )
    before = context_api.get_current()
    call = handler.inference("openai", request_model="gpt")
    assert not call.span.is_recording()
    assert trace.get_current_span() is call.span
    call.stop()
    assert context_api.get_current() == before


def test_an_error_of_the_spans_own_reaches_the_host(ours, monkeypatch):
    """As from stock's: what the application's span raises is its own."""
    telemetry = Telemetry()
    handler = telemetry.handler()
    call = handler.inference("openai", request_model="gpt")

    def fail(*_args):
        raise LookupError("the span's")

    monkeypatch.setattr(Span, "set_attributes", fail)
    with pytest.raises(LookupError, match="the span's"):
        call.stop()
    assert not call.span.is_recording()


def test_a_sampler_that_raises_reaches_the_host(ours):
    """There is one question to it for each call."""
    asked = []

    class Raising:
        def should_sample(self, *_args, **_kwargs):
            asked.append(1)
            raise LookupError("the sampler's")

        def get_description(self):
            return "raises"

    with pytest.raises(LookupError, match="the sampler's"):
        Telemetry(Raising()).handler().inference("openai")
    assert len(asked) == 1


def test_suppressed_instrumentation_changes_nothing(ours):
    """Stock's base does not look at it."""
    telemetry = Telemetry()
    with utils.suppress_instrumentation():
        chat(telemetry.handler())
    assert len(telemetry.seen().spans) == 1
