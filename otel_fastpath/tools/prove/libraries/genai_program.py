"""Calls of LLMs, as instrumentations tell `opentelemetry.util.genai` of them."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, Final
from unittest import mock

from opentelemetry.util.genai import types
from opentelemetry.util.genai.handler import TelemetryHandler

from otel_fastpath.tools.prove.libraries.modes import around, providers
from otel_fastpath.tools.prove.values_drawn import TEXTS, OwnError, attributes, body, maybe

if TYPE_CHECKING:
    import random

    from otel_fastpath.tools.prove.program import ProgramRun

_CALLS: Final = 6
_DEEPEST: Final = 2
_MODES: Final = ("", "SPAN_ONLY", "EVENT_ONLY", "SPAN_AND_EVENT", "NO_CONTENT", "wrong")
_EMITS: Final = ("", "true", "false", "wrong")
_PARTS: Final[tuple[Any, ...]] = (
    types.TextPart("Hi"),
    types.TextPart(""),
    types.ToolCallRequestPart({"city": "Paris"}, "f", "c1"),
    types.ToolCallResponsePart([1, None, "\U0001f600"], "c1"),
    types.BlobPart("image/png", types.Modality.IMAGE, b"\x00\xff"),
    types.ReasoningPart("because"),
)
# The fields of a call that an instrumentation sets, and values of each.
_FIELDS: Final[dict[str, tuple[Any, ...]]] = {
    **dict.fromkeys(("temperature", "top_p", "frequency_penalty", "presence_penalty"), (0.5, 0, None)),
    **dict.fromkeys(("top_k", "max_tokens", "seed", "request_choice_count"), (0, 5, None)),
    **dict.fromkeys(("input_tokens", "output_tokens", "thinking_tokens"), (0, 7, None)),
    **dict.fromkeys(("cache_creation_input_tokens", "cache_read_input_tokens", "audio_output_tokens"), (0, 3)),
    **dict.fromkeys(("stop_sequences", "finish_reasons"), (["a"], [], ("a", "b"), None)),
    **dict.fromkeys(("request_stream", "conversation_compacted"), (True, False, None)),
    **dict.fromkeys(("response_model_name", "response_id", "output_type", "reasoning_level"), ("text", "", None)),
    **dict.fromkeys(("previous_response_id", "prompt_name", "prompt_version", "conversation_id"), ("text", "")),
    "prompt_variables": ({"name": "ann"}, {}),
    "ttfc_seconds": (0.5,),
}


class _NamedError(Exception):
    """Names its own type."""

    _gen_ai_error_type = "named"


class _CompletionKeeping:
    """A completion hook that keeps what it is given, and adds to the record."""

    def __init__(self, run: ProgramRun) -> None:
        self._run = run

    def on_completion(self, **given: Any) -> None:
        """Keep it."""
        record, span = given.pop("log_record"), given.pop("span")
        self._run.outcomes.append((repr(given), span.is_recording()))
        if record is not None:
            record.attributes["hooked"] = "yes"
        if self._run.seed % 2:
            raise LookupError("a hook that fails")


class _GenAICalls:
    """Makes calls with one handler."""

    def __init__(self, run: ProgramRun, handler: TelemetryHandler) -> None:
        self._run = run
        self._handler: Any = handler

    def infer(self, draw: random.Random, depth: int = 0) -> str:
        """A call of a model, in which there may be others."""
        given = {"server_port": 443, "operation_name": "text_completion", "conversation_id": draw.choice(("c", ""))}
        model = maybe(draw, 2, request_model=draw.choice(("m", "")), server_address="host")
        call = self._handler.inference("provider", **model, **maybe(draw, 3, **given))
        for name in draw.sample(sorted(_FIELDS), draw.randrange(9)):
            setattr(call, name, draw.choice(_FIELDS[name]))
        self._fill(draw, call)
        if depth < _DEEPEST and draw.randrange(2) == 0:
            self._run.attempt(self.infer, draw, depth + 1)
        for _ in range(draw.choice((0, 0, 3))):
            call.record_stream_chunk()
        if draw.randrange(4) == 0:
            call.suspend()
            with call.activate():
                self._run.attempt(self.use_tool, draw)
        self._finish(draw, call)
        return f"{call.request_stream} {call.finish_reasons} {call.should_capture_content} {call.conversation_id}"

    def _fill(self, draw: random.Random, call: Any) -> None:
        parts = draw.sample(_PARTS, draw.randrange(4))
        call.input_messages = [types.InputMessage("user", parts)] * draw.randrange(3)
        call.output_messages = [types.OutputMessage("assistant", parts, draw.choice(("stop", "", None)))]
        call.system_instruction = draw.choice(([], [types.TextPart("Be brief.")]))
        call.tool_definitions = draw.choice((None, [types.FunctionToolDefinition("f", None, {"type": "object"})]))
        call.attributes.update(attributes(draw, 2))
        call.metric_attributes.update(attributes(draw, 2, body))

    def _finish(self, draw: random.Random, call: Any) -> None:
        kind = draw.randrange(6)
        if kind == 0:
            call.fail(draw.choice((OwnError("own"), _NamedError("known"), TimeoutError(draw.choice(TEXTS)))))
        elif kind == 1:
            with call:
                raise OwnError(draw.choice(TEXTS))
        else:
            call.stop()
        call.stop()

    def embed(self, draw: random.Random) -> None:
        """A call of an embedding model."""
        call = self._handler.embedding("provider", **maybe(draw, 2, request_model="m", server_address="host"))
        call.dimension_count, call.encoding_formats = draw.choice((None, 3)), draw.choice((None, ["float"]))
        call.input_tokens = draw.choice((None, 0, 5))
        call.metric_attributes.update(attributes(draw, 2, body))
        self._finish(draw, call)

    def use_tool(self, draw: random.Random) -> None:
        """A call of a tool."""
        call = self._handler.tool("f", tool_type="function")
        call.arguments, call.tool_result = draw.choice(({"a": 1}, "text", None)), draw.choice(([1], "text", None))
        self._finish(draw, call)

    def fetch(self, draw: random.Random) -> None:
        """A call for a response that was made before."""
        self._finish(draw, self._handler.fetch_response("provider", response_id="r", **maybe(draw, 2, server_port=1)))


def run_genai(run: ProgramRun) -> None:
    """Calls of models, tools and embeddings, nested and streamed, that end and fail."""
    telemetry = run.telemetry()
    mode = {
        "OTEL_SEMCONV_STABILITY_OPT_IN": "gen_ai_latest_experimental",
        "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT": _MODES[run.seed % len(_MODES)],
        "OTEL_INSTRUMENTATION_GENAI_EMIT_EVENT": _EMITS[run.seed % len(_EMITS)],
    }
    with mock.patch.dict(os.environ, mode):
        hook: Any = _CompletionKeeping(run) if run.seed % 3 == 0 else None
        calls = _GenAICalls(run, TelemetryHandler(**providers(telemetry), completion_hook=hook))
        for draw in run.halves():
            for _ in range(_CALLS):
                with around(run, telemetry):
                    run.attempt(calls.infer, draw)
            for call in (calls.embed, calls.use_tool, calls.fetch):
                run.attempt(call, draw)


PROGRAM: Final = run_genai
