"""Calls of LLMs through `opentelemetry-util-genai`, as the instrumentations of clients make them."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from opentelemetry import trace
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.util.genai import types
from opentelemetry.util.genai.handler import TelemetryHandler

from faultcheck.workloads.base import Workload

if TYPE_CHECKING:
    from faultcheck.host import Host

_CAPTURE = "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"
_CALL = types.ToolCallRequestPart(arguments={"city": "Paris", "days": [1, 2]}, name="weather", id="c1")
_ASKED = [types.InputMessage("user", [types.TextPart("Hi")]), types.InputMessage("assistant", [_CALL])]
_ODD = [types.InputMessage("user", [types.ToolCallResponsePart(response=(1, {2, 3}), id="c1")])]
_ANSWERED = [types.OutputMessage("assistant", [types.TextPart("Hello.")], "stop")]


class GenAICalls(Workload):
    """A handler that captures content, and one that does not."""

    about = ("otel_fastpath/others/genai_calls/", "otel_fastpath/trace/context/context_functions.py")

    def prepare(self) -> None:
        """Where the spans go."""
        self.telemetry.tracer_provider.add_span_processor(SimpleSpanProcessor(self.telemetry.exporter()))

    def begin(self) -> None:
        """The handlers."""
        providers = self.telemetry.providers()
        given: dict[str, Any] = {"instrumentation_scope_name": "genai", **providers}
        self.plain = TelemetryHandler(**given)
        os.environ[_CAPTURE] = "span_and_event"
        self.capturing = TelemetryHandler(**given)
        del os.environ[_CAPTURE]

    def run(self, host: Host) -> None:
        """Calls that succeed, fail, stream, and stand in each other."""
        for name, handler in (("plain", self.plain), ("with content", self.capturing)):
            host.step(f"{name}: a call", self._chat, handler)
            host.step(f"{name}: a call again", self._chat, handler)
            host.step(f"{name}: fails", self._fail, handler)
            host.step(f"{name}: inside another", self._inside, handler)
            host.step(f"{name}: odd content", self._chat, handler, _ODD)

    def _chat(self, handler: TelemetryHandler, asked: Any = _ASKED) -> Any:
        call = handler.inference("openai", request_model="gpt", server_address="host", conversation_id="c1")
        is_current = trace.get_current_span() is call.span
        call.input_messages, call.output_messages = asked, _ANSWERED
        call.input_tokens, call.output_tokens, call.temperature = 3, 4, 0.5
        call.record_stream_chunk()
        call.record_stream_chunk()
        call.stop()
        return is_current, trace.get_current_span() is call.span, call.conversation_id

    def _fail(self, handler: TelemetryHandler) -> Any:
        try:
            with handler.inference("openai", request_model="gpt") as call:
                raise LookupError("the host's")  # noqa: TRY301  # the call sees it
        except LookupError as error:
            return str(error), call.span.is_recording()

    def _inside(self, handler: TelemetryHandler) -> Any:
        with handler.inference("langchain") as outer:
            outer.context["opentelemetry.genai.client.inference.context"].capture_content = True
            self._chat(handler)
        return outer.data.response_finish_reasons, outer.data.usage_input_tokens
