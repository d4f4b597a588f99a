"""Passing data to OpenTelemetry's own `util.genai`: to completion hooks, and to a call of it around this one."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, Final

from otel_fastpath.genai import conventions as names

if TYPE_CHECKING:
    from otel_fastpath.genai.openai.content import Captured

_TYPES: Final = "opentelemetry.util.genai.types"
# The `type` of a part -> its class in that module.
_PARTS: Final = {
    "text": "TextPart",
    "reasoning": "ReasoningPart",
    "tool_call": "ToolCallRequestPart",
    "tool_call_response": "ToolCallResponsePart",
    "server_tool_call": "ServerToolCallPart",
    "server_tool_call_response": "ServerToolCallResponsePart",
    "blob": "BlobPart",
    "file": "FilePart",
    "uri": "UriPart",
}


def call_hook(hook: Any, captured: Captured | None, span: Any, record: Any) -> None:
    """Pass the content of a call to a completion hook, uncut, in the classes of `util.genai`."""
    content = typed(captured)
    hook.on_completion(
        inputs=content[names.INPUT_MESSAGES],
        outputs=content[names.OUTPUT_MESSAGES],
        system_instruction=content[names.INSTRUCTIONS],
        tool_definitions=content[names.TOOLS] or None,
        span=span,
        log_record=record,
    )


def typed(captured: Captured | None) -> dict[str, list[Any]]:
    """The content of a call in the classes of `opentelemetry.util.genai.types`."""
    kinds: Any = sys.modules[_TYPES]
    made = {
        name: [] if captured is None else captured.made(name)
        for name in (names.INPUT_MESSAGES, names.OUTPUT_MESSAGES, names.INSTRUCTIONS, names.TOOLS)
    }
    return {
        names.INPUT_MESSAGES: [_message(kinds, kinds.InputMessage, each) for each in made[names.INPUT_MESSAGES]],
        names.OUTPUT_MESSAGES: [_message(kinds, kinds.OutputMessage, each) for each in made[names.OUTPUT_MESSAGES]],
        names.INSTRUCTIONS: [_part(kinds, each) for each in made[names.INSTRUCTIONS]],
        names.TOOLS: [
            (kinds.FunctionToolDefinition if each["type"] == "function" else kinds.GenericToolDefinition)(**each)
            for each in made[names.TOOLS]
        ],
    }


def _message(kinds: Any, kind: Any, made: dict[str, Any]) -> Any:
    return kind(**{**made, "parts": [_part(kinds, part) for part in made["parts"]]})


def _part(kinds: Any, made: dict[str, Any]) -> Any:
    return getattr(kinds, _PARTS[made["type"]])(**made)


def publish(
    outer: Any, attributes: dict[str, Any], metric_attributes: dict[str, Any], captured: Captured | None, hook: Any
) -> None:
    """Add to the `util.genai` call around this one what this call would have reported itself.

    Args:
        outer: The data of the outer call.
        attributes: The attributes that this call's span would have had.
        metric_attributes: Those that its metrics would have had, besides the ones that all such metrics have.
        captured: The content of this call, or None.
        hook: Called with the content if the outer call leaves that to this one.
    """
    inner = type(outer)()
    for name, value in attributes.items():
        own = name.removeprefix("gen_ai.").replace(".", "_")
        if name != names.OUTPUT_TYPE and own in vars(inner):
            setattr(inner, own, value)
        elif name != names.ERROR_TYPE:
            inner.attributes[name] = value
    inner.metric_attributes.update(metric_attributes)
    if hook is not None and outer.upload_completion:
        call_hook(hook, captured, None, None)
    if outer.capture_content and captured is not None:
        content = typed(captured)
        inner.input_messages = content[names.INPUT_MESSAGES]
        inner.output_messages = content[names.OUTPUT_MESSAGES]
        inner.system_instructions = content[names.INSTRUCTIONS]
        inner.tool_definitions = content[names.TOOLS]
    outer.merge(inner, overwrite=True)


def conversation(context: Any) -> str | None:
    """The conversation that a call of `util.genai` around this one belongs to."""
    module = sys.modules.get("opentelemetry.util.genai._conversation_context")
    value = None if module is None else context.get(module.CONVERSATION_ID_KEY)
    return value if isinstance(value, str) else None
