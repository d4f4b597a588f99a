"""Random calls of LLMs leave the same telemetry with stock's functions and with this package's."""

# ruff: noqa: D102  # the methods are named after the steps of a program

from __future__ import annotations

import contextvars
import datetime as dt
import decimal
import logging
import os
import re
from contextlib import contextmanager
from unittest import mock

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from opentelemetry import context as context_api
from opentelemetry.sdk.trace.sampling import ALWAYS_OFF
from opentelemetry.util.genai import types
from opentelemetry.util.genai._inference_invocation import InferenceInvocation

from .conftest import STOCK, Telemetry, counted_time, functions

CAPTURE = "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"
EMIT = "OTEL_INSTRUMENTATION_GENAI_EMIT_EVENT"
MODES = (None, "", "NO_CONTENT", "span_only", "EVENT_ONLY", " Span_And_Event ", "everything")
EMITS = (None, "", "true", " FALSE ", "perhaps")


class Odd:
    """A value that nothing knows."""

    def __init__(self):
        self.public = 1


class UnknownModelError(Exception):
    """Names its own type."""

    _gen_ai_error_type = "unknown_model"


VALUES = (
    None,
    "text \ud83d\ude00 \u2028",
    12,
    0.5,
    float("inf"),
    True,
    b"bytes",
    [1, [2, {"a": None}]],
    {"city": "Paris", "days": [1, 2]},
    {"a": {"b": {"c": ("t", 1)}}},
    {1: "number"},
    (1, "2"),
    {"odd": decimal.Decimal("1.5")},
    dt.date(2026, 1, 1),
    types.Modality.IMAGE,
    [types.TextPart("inside")],
    "odd",
)
PARTS = st.one_of(
    st.builds(types.TextPart, st.sampled_from(("Hi", "", "\u00e4\ud83d\ude00"))),
    st.builds(types.ToolCallRequestPart, st.sampled_from(VALUES), st.just("f"), st.sampled_from(("c1", None))),
    st.builds(types.ToolCallResponsePart, st.sampled_from(VALUES), st.just("c1")),
    st.builds(types.BlobPart, st.just("image/png"), st.sampled_from(types.Modality), st.just(b"\x00\xff")),
    st.builds(types.GenericPart, st.just("own")),
    st.builds(types.ReasoningPart, st.just("because")),
)
MESSAGES = st.lists(
    st.builds(types.InputMessage, st.sampled_from(("user", types.Role.TOOL)), st.lists(PARTS, max_size=2)), max_size=2
)
ANSWERS = st.lists(
    st.builds(types.OutputMessage, st.just("assistant"), st.lists(PARTS, max_size=2), st.sampled_from(("stop", None))),
    max_size=2,
)
TOOLS = st.lists(st.builds(types.FunctionToolDefinition, st.just("f"), st.none(), st.sampled_from(VALUES)), max_size=1)
FIELDS = {
    "temperature": (0.5, None),
    "top_p": (1,),
    "max_tokens": (200,),
    "stop_sequences": (["a"], [], None),
    "seed": (0,),
    "request_stream": (True, False, None),
    "response_model_name": ("served", ""),
    "response_id": ("r1",),
    "finish_reasons": (["stop"], [], ("a", "b"), None),
    "input_tokens": (64, 0, None, -1),
    "output_tokens": (60, 0, 0.5),
    "cache_read_input_tokens": (0, 3),
    "audio_output_tokens": (0, 7),
    "thinking_tokens": (9,),
    "output_type": ("json",),
    "reasoning_level": ("high", ""),
    "previous_response_id": ("r0",),
    "conversation_compacted": (True, False),
    "prompt_name": ("p",),
    "prompt_version": ("1",),
    "ttfc_seconds": (0.5,),
    "conversation_id": ("own", ""),
    "attributes": ({"own": 1}, {"gen_ai.request.model": "changed"}),
    "metric_attributes": ({"tier": "gold"}, {"gen_ai.request.model": "changed"}),
    "prompt_variables": ({"name": "Ann", "n": 1}, {}, {"odd": Odd()}),
    "input_messages": ((types.InputMessage("user", []),), ()),
    "output_messages": ((types.OutputMessage("assistant", [], "length"),),),
    "system_instruction": (None,),
}
SETS = st.sampled_from(sorted(FIELDS)).flatmap(
    lambda name: st.tuples(st.just("set"), st.just(name), st.sampled_from(range(len(FIELDS[name]))))
)
STEPS = st.one_of(
    SETS,
    SETS,
    st.tuples(st.just("add"), st.sampled_from(("attributes", "metric_attributes")), st.sampled_from(range(3))),
    st.tuples(st.just("chunks"), st.integers(1, 3)),
    st.tuples(st.just("ask"), MESSAGES),
    st.tuples(st.just("answer"), ANSWERS),
    st.tuples(st.just("tell"), st.lists(st.builds(types.TextPart, st.just("Be brief.")), max_size=1)),
    st.tuples(st.just("offer"), TOOLS),
    st.tuples(st.just("capture"), st.booleans()),
    st.tuples(st.just("iterate")),
    st.tuples(st.just("suspend")),
)
ENDS = st.sampled_from(("stop", "fail", "fail by name", "raise", "raise unknown", "leave", "stop twice", "by stream"))
ARGUMENTS = st.fixed_dictionaries(
    {},
    optional={
        "request_model": st.sampled_from(("gpt", "", None)),
        "server_address": st.sampled_from(("host", None)),
        "server_port": st.sampled_from((443, None)),
        "operation_name": st.sampled_from(("text_completion", None)),
        "conversation_id": st.sampled_from(("c1", "")),
        "context": st.sampled_from((None, "empty", "ambient", "plain dict")),
        "error_type_resolver": st.sampled_from((None, "none", "named")),
        "_attach_to_context": st.booleans(),
    },
)
CALLS = st.recursive(
    st.tuples(st.just("call"), ARGUMENTS, st.lists(STEPS, max_size=6), ENDS, st.sampled_from((False, False, True))),
    lambda inner: st.tuples(
        st.just("call"), ARGUMENTS, st.lists(st.one_of(STEPS, inner), max_size=4), ENDS, st.sampled_from((False,))
    ),
    max_leaves=4,
)
SETTINGS = st.fixed_dictionaries(
    {
        "mode": st.sampled_from(MODES),
        "emit": st.sampled_from(EMITS),
        "hook": st.sampled_from((None, "own", "raises")),
        "sampler": st.sampled_from((None, None, ALWAYS_OFF)),
        "is_batched": st.booleans(),
    }
)


class Subclass(InferenceInvocation):
    """The application's own."""

    def _get_attributes(self):
        return {**super()._get_attributes(), "own": "subclass"}


class Hook:
    """A completion hook that keeps what it got."""

    def __init__(self, raises):
        self.raises, self.got = raises, []

    def on_completion(self, **given):
        record = given.pop("log_record")
        span = given.pop("span")
        self.got.append((repr(given), record and repr(sorted(record.attributes)), span.is_recording()))
        if record is not None:
            record.attributes["hook"] = "was here"
        if self.raises:
            raise RuntimeError("the hook's")


class Run:
    """One run of a program."""

    def __init__(self, handler):
        self.handler = handler
        self.happened = []

    def attempt(self, what, call):
        try:
            return call()
        except Exception as error:
            self.happened.append((what, type(error).__name__, str(error)[:60]))

    def call(self, arguments, steps, end, is_subclass):
        given = {name: self.given(name, value) for name, value in arguments.items()}
        if is_subclass:
            handler = self.handler
            parts = (handler._tracer, handler._instruments, handler._logger, handler._completion_hook, "own")
            invocation = self.attempt("start", lambda: Subclass(*parts, **given))
        else:
            invocation = self.attempt("start", lambda: self.handler.inference("openai", **given))
        if invocation is None:
            return
        self.look("started", invocation)
        for what, *rest in steps:
            if what == "call":
                self.call(*rest)
            else:
                self.attempt(what, lambda what=what, rest=rest: getattr(self, what)(invocation, *rest))
        self.attempt(end, lambda: self.end(invocation, end))
        self.look("ended", invocation)

    def look(self, what, invocation):
        current = len(context_api.get_current()), invocation.span.is_recording()
        fields = {
            name: repr(value)
            for name, value in vars(invocation).items()
            if name.startswith("_")
            and name != "_span_context"
            and isinstance(value, (str, int, float, type(None), dict))
        }
        data = re.sub(" at 0x[0-9a-f]+", "", repr(invocation.data))
        self.happened.append((what, current, sorted(vars(invocation)), fields, data, sorted(invocation.context)))

    def given(self, name, value):
        if name == "context" and value is not None:
            ambient = "opentelemetry.util.genai.conversation_id"
            made = {ambient: "ambient", "a": 1} if value == "ambient" else {"a": 1} if value == "plain dict" else {}
            return made if value == "plain dict" else context_api.Context(made)
        if name == "error_type_resolver" and value is not None:
            return lambda error: f"named {type(error).__name__}" if value == "named" else None
        return value

    def set(self, invocation, name, which):
        value = FIELDS[name][which]
        setattr(invocation, name, dict(value) if isinstance(value, dict) else value)

    def add(self, invocation, name, which):
        getattr(invocation, name).update(({"a": 1}, {"gen_ai.provider.name": "more"}, {"list": ["a"]})[which])

    def chunks(self, invocation, count):
        for _ in range(count):
            invocation.record_stream_chunk()

    def ask(self, invocation, messages):
        invocation.input_messages = messages

    def answer(self, invocation, messages):
        invocation.output_messages = messages

    def tell(self, invocation, parts):
        invocation.system_instruction = parts

    def offer(self, invocation, tools):
        invocation.tool_definitions = tools

    def capture(self, invocation, value):
        found = invocation.context.get("opentelemetry.genai.client.inference.context")
        found.capture_content = found.upload_completion = value

    def iterate(self, invocation):
        invocation.data.output_messages = iter([types.OutputMessage("assistant", [], "once")])

    def suspend(self, invocation):
        invocation.suspend()

    def end(self, invocation, end):
        if end in ("stop", "stop twice"):
            invocation.stop()
        if end == "stop twice":
            invocation.fail(ValueError("too late"))
        if end == "fail":
            invocation.fail(ValueError("broken"))
        if end == "fail by name":
            invocation.fail(types.Error(message=None, type="named"))
        if end == "leave":
            with invocation:
                pass
        if end.startswith("raise"):
            with invocation:
                raise UnknownModelError("no such model") if end.endswith("unknown") else KeyError("the host's")
        if end == "by stream":
            invocation.record_stream_chunk()
            with invocation.activate():
                invocation.stop()


@contextmanager
def logged(into):
    """What stock logs meanwhile."""

    class Handler(logging.Handler):
        def emit(self, record):
            into.append((record.name, record.levelname, record.getMessage().partition(" object at")[0]))

    logger, handler = logging.getLogger("opentelemetry"), Handler()
    logger.addHandler(handler)
    before, logger.propagate = logger.propagate, False
    try:
        yield
    finally:
        logger.removeHandler(handler)
        logger.propagate = before


def happens(found, chosen, program):
    """What happens in the program with these functions."""
    variables = {CAPTURE: chosen["mode"], EMIT: chosen["emit"]}
    telemetry, logs = Telemetry(chosen["sampler"], chosen["is_batched"]), []
    hook = None if chosen["hook"] is None else Hook(chosen["hook"] == "raises")
    with functions(found), counted_time(), logged(logs), mock.patch.dict(os.environ):
        for name, value in variables.items():
            os.environ.pop(name, None)
            if value is not None:
                os.environ[name] = value
        run = Run(telemetry.handler(hook))
        contextvars.Context().run(run.call, *program[1:])
    seen = telemetry.seen()
    return run.happened, logs, hook and hook.got, seen.spans, seen.events, seen.points


@pytest.mark.proves("genai.*")
@settings(
    max_examples=300, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)
@given(chosen=SETTINGS, program=CALLS)
def test_a_random_call(ours, chosen, program):
    """Spans, events, metrics, what hooks get, exceptions, log records and contexts are the same."""
    for left, right in zip(happens(ours, chosen, program), happens(STOCK, chosen, program), strict=True):
        assert left == right
