"""Messages of a chat completion, items of a response -> messages of the GenAI conventions, as dicts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from otel_fastpath.genai.openai.fields import field, items, kind_of, text
from otel_fastpath.genai.openai.reading.parts import (
    answer_part,
    call_part,
    content_parts,
    parse_arguments,
    plain,
    reasoning_part,
    text_part,
)
from otel_fastpath.genai.openai.reading.response_attributes import has_ended, reason_of

if TYPE_CHECKING:
    from collections.abc import Iterable

Message = dict[str, Any]
# A client-side tool call -> the field that has its arguments.
_ARGUMENTS: Final = {"function_call": "arguments", "custom_tool_call": "input"}
_ANSWERS: Final = frozenset({"function_call_output", "custom_tool_call_output", "computer_call_output"})
_SERVER_TOOLS: Final = {
    "code_interpreter_call": "code_interpreter",
    "file_search_call": "file_search",
    "image_generation_call": "image_generation",
    "mcp_call": "mcp",
    "mcp_list_tools": "mcp_list_tools",
    "tool_search_call": "tool_search",
    "web_search_call": "web_search",
    "tool_search_output": "tool_search",
}


def chat_inputs(messages: Any) -> list[Message]:
    """The input messages of a chat completion."""
    return [found for message in items(messages) if (found := _chat_input(message)) is not None]


def _chat_input(message: Any) -> Message | None:
    role = field(message, "role")
    content = field(message, "content")
    if role == "tool":
        parts = [answer_part(content, field(message, "tool_call_id"))]
    elif role == "assistant":
        parts = said(content, field(message, "refusal"), field(message, "tool_calls"))
    else:
        parts = content_parts(content)
    name = field(message, "name")
    return {"role": str(role), "parts": parts, "name": None if name is None else str(name)} if parts else None


def said(content: Any, refusal: Any, tool_calls: Any) -> list[dict[str, Any]]:
    """The parts of an assistant's message in a chat."""
    parts = [_chat_call(call) for call in items(tool_calls)]
    parts += content_parts(content)
    if isinstance(refusal, str):
        parts.append(text_part(refusal))
    return parts


def _chat_call(call: Any) -> dict[str, Any]:
    function = field(call, "function") or field(call, "custom")
    arguments = field(function, "arguments") or field(function, "input")
    return call_part(
        parse_arguments(arguments) if arguments else None, field(function, "name") or "", field(call, "id")
    )


def output(role: str, parts: list[dict[str, Any]], reason: str | None) -> Message:
    """A message of the model."""
    return {"role": role, "parts": parts, "finish_reason": reason, "name": None}


def chat_outputs(choices: Iterable[tuple[Any, ...]]) -> list[Message]:
    """The output messages, given the role, content, refusal, tool calls and finish reason of each choice."""
    return [
        output(role or "", said(content, refusal, tool_calls), chat_reason(reason))
        for role, content, refusal, tool_calls, reason in choices
    ]


def chat_reason(reason: Any) -> str:
    """A finish reason as messages have it."""
    found = text(reason) or "error"
    return "tool_call" if found in {"tool_calls", "function_call"} else found


def chat_tools(tools: Any) -> list[dict[str, Any]]:
    """The functions that a chat completion may call."""
    found = []
    for tool in items(tools):
        function = field(tool, "function") if field(tool, "type") == "function" else None
        if function:
            found.append(_function(field(function, "name") or "", function))
    return found


def response_tools(tools: Any) -> list[dict[str, Any]]:
    """The tools that a response may use; the provider's own tools by their type."""
    found: list[dict[str, Any]] = []
    for tool in items(tools):
        kind = field(tool, "type")
        if isinstance(kind, str):
            name = text(field(tool, "name"))
            found.append(_function(name or "", tool) if kind == "function" else {"name": name or kind, "type": kind})
    return found


def _function(name: str, function: Any) -> dict[str, Any]:
    return {
        "name": name,
        "description": field(function, "description"),
        "parameters": field(function, "parameters"),
        "type": "function",
    }


def instructions(value: Any) -> list[dict[str, Any]]:
    """The system instructions of a response."""
    return [text_part(value)] if isinstance(value, str) else []


def response_inputs(value: Any) -> list[Message]:
    """The input messages of a response. Adjacent tool calls are one turn."""
    if isinstance(value, str):
        return [{"role": "user", "parts": [text_part(value)], "name": None}]
    messages: list[Message] = []
    for item in items(value):
        message = _response_input(item)
        if message is None:
            continue
        if messages and _is_calls(message) and _is_calls(messages[-1]):
            messages[-1]["parts"] += message["parts"]
        else:
            messages.append(message)
    return messages


def _is_calls(message: Message) -> bool:
    parts = message["parts"]
    return message["role"] == "assistant" and bool(parts) and all(part["type"] == "tool_call" for part in parts)


def _response_input(item: Any) -> Message | None:
    kind = kind_of(item)
    name = None
    if kind is not None and (kind in _ARGUMENTS or kind == "computer_call"):
        role, parts = "assistant", [_response_call(item, kind)]
    elif kind in _ANSWERS:
        role, parts = "tool", [answer_part(field(item, "output"), _call_id(item))]
    elif kind == "reasoning":
        role, parts = "assistant", _reasoning(item)
    else:
        role, parts = field(item, "role"), content_parts(field(item, "content"))
        name = field(item, "name")
        if not isinstance(role, str):
            return None
    return {"role": role, "parts": parts, "name": None if name is None else str(name)} if parts else None


def _call_id(item: Any) -> str | None:
    return text(field(item, "call_id")) or text(field(item, "id"))


def _response_call(item: Any, kind: str) -> dict[str, Any]:
    if kind == "computer_call":
        arguments = {name: plain(value) for name in ("action", "actions") if (value := field(item, name)) is not None}
        return call_part(arguments, "computer", _call_id(item))
    raw = field(item, _ARGUMENTS[kind])
    arguments = parse_arguments(raw) if kind == "function_call" else plain(raw)
    return call_part(arguments, text(field(item, "name")) or "", _call_id(item))


def _reasoning(item: Any) -> list[dict[str, Any]]:
    blocks = list(items(field(item, "summary")))
    blocks += [block for block in items(field(item, "content")) if field(block, "type") == "reasoning_text"]
    return [reasoning_part(words) for block in blocks if (words := text(field(block, "text"))) is not None]


def response_outputs(value: Any) -> list[Message]:
    """The output messages of a response. A tool call belongs to the message before it if both are of the same turn."""
    messages: list[Message] = []
    for item in items(value):
        kind = kind_of(item)
        if kind is not None and (kind in _ARGUMENTS or kind == "computer_call"):
            if has_ended(item):
                _add_call(messages, _response_call(item, kind))
            continue
        message = _response_output(item, kind)
        if message is not None:
            messages.append(message)
    return messages


def _add_call(messages: list[Message], part: dict[str, Any]) -> None:
    last = messages[-1] if messages else None
    if (
        last is not None
        and last["role"] == "assistant"
        and last["finish_reason"] in {"stop", "tool_call"}
        and all(each["type"] in {"text", "tool_call"} for each in last["parts"])
    ):
        last["parts"].append(part)
        last["finish_reason"] = "tool_call"
    else:
        messages.append(output("assistant", [part], "tool_call"))


def _response_output(item: Any, kind: str | None) -> Message | None:
    if kind == "message":
        reason = reason_of(field(item, "status"))
        parts = content_parts(field(item, "content"))
        return None if reason is None else output(field(item, "role") or "assistant", parts, reason)
    if kind == "reasoning":
        reason = reason_of(field(item, "status"))
        parts = _reasoning(item)
        return output("assistant", parts, reason) if reason is not None and parts else None
    return _server_tool(item, kind) if kind is not None and kind in _SERVER_TOOLS else None


def _server_tool(item: Any, kind: str) -> Message | None:
    """A call of a tool that the provider ran, with all its data."""
    if kind in {"tool_search_call", "tool_search_output"} and field(item, "execution") != "server":
        return None
    if kind == "mcp_list_tools":
        reason: str | None = "error" if field(item, "error") else "stop"
    else:
        reason = reason_of(field(item, "status"))
    if reason is None:
        return None
    dump = getattr(item, "model_dump", None)
    payload = dict(dump(exclude_none=True, mode="json") if callable(dump) else item)
    own, call_id = payload.pop("id", None), text(payload.pop("call_id", None))
    name = text(payload.pop("name", None))
    payload["type"] = _SERVER_TOOLS[kind]
    if kind == "tool_search_output":
        part = {"server_tool_call_response": payload, "id": call_id, "type": "server_tool_call_response"}
    else:
        part = {
            "name": name or payload["type"],
            "server_tool_call": payload,
            "id": call_id or text(own),
            "type": "server_tool_call",
        }
    return output("assistant", [part], reason)
