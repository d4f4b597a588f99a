"""The hooks around messages of Anthropic's client. Plain Python; compiled as `created_messages_c`.

Each does what stock's does, in the same order. Where content is captured, stock's hook runs, and calls the others.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from anthropic import _streaming
from anthropic import types as _types
from anthropic.resources.messages import AsyncMessages, Messages
from opentelemetry.instrumentation.genai.anthropic import messages_extractors
from opentelemetry.instrumentation.genai.anthropic import patch as _patch
from opentelemetry.instrumentation.genai.anthropic import wrappers as _wrappers
from opentelemetry.semconv._incubating.attributes import gen_ai_attributes as _names
from opentelemetry.semconv.attributes import server_attributes
from opentelemetry.util.genai import types as _parts
from opentelemetry.util.genai._inference_invocation import InferenceData, InferenceInvocation

from otel_fastpath.genai.anthropic.streamed_messages import COUNTED, DETAILS, Draft, add_usage, replacements
from otel_fastpath.patching import faults
from otel_fastpath.patching.swapping.switches import Switch, make_switchable
from otel_fastpath.wrapping.stock_hooks import variables

if TYPE_CHECKING:
    from collections.abc import Callable

_STARTING = "the start of a call of Anthropic's"
_ANSWER = "the answer of a call of Anthropic's"
_ANTHROPIC = _names.GenAiProviderNameValues.ANTHROPIC.value
_FIRST = {
    _names.GEN_AI_OPERATION_NAME: _names.GenAiOperationNameValues.CHAT.value,
    _names.GEN_AI_PROVIDER_NAME: _ANTHROPIC,
}
_ASKED = (
    (_names.GEN_AI_REQUEST_MODEL, "model"),
    (_names.GEN_AI_REQUEST_MAX_TOKENS, "max_tokens"),
    (_names.GEN_AI_REQUEST_TEMPERATURE, "temperature"),
    (_names.GEN_AI_REQUEST_TOP_P, "top_p"),
    (_names.GEN_AI_REQUEST_TOP_K, "top_k"),
    (_names.GEN_AI_REQUEST_STOP_SEQUENCES, "stop_sequences"),
)
_ADDRESS = server_attributes.SERVER_ADDRESS
_PORT = server_attributes.SERVER_PORT
_DEFAULT_PORTS = (80, 443)
_RESOURCES = frozenset({Messages, AsyncMessages})
_REASONS = {"end_turn": "stop", "stop_sequence": "stop", "max_tokens": "length", "tool_use": "tool_call"}
# What other code may replace in stock's modules is looked up at each call.
_globals = vars(_patch)
_wrapper_globals = vars(_wrappers)
_extractors = vars(messages_extractors)


def are_known() -> bool:
    """Whether what the hooks of stock call is stock's own; what that is has been looked at then."""
    return not replacements.exist()


def bind_create(original: Callable[..., Any]) -> Callable[..., Any]:
    """Make the replacement for what `messages_create` returns."""
    own = variables(original)
    handler, captures = own["handler"], own["capture_content"]

    def traced_method(wrapped: Any, instance: Any, args: Any, kwargs: Any) -> Any:
        if captures or args or replacements.exist():
            return original(wrapped, instance, args, kwargs)
        _stock_create = _globals["_create_invocation"]
        invocation = _stock_create(handler, instance, args, kwargs)
        try:
            result = wrapped(*args, **kwargs)
        except BaseException as error:
            _stock_fail = invocation.fail
            _stock_fail(error)
            raise
        return process_answer(result, instance, invocation, _streaming.Stream)

    return traced_method


def bind_async_create(original: Callable[..., Any]) -> Callable[..., Any]:
    """Make the replacement for what `async_messages_create` returns."""
    own = variables(original)
    handler, captures = own["handler"], own["capture_content"]

    async def traced_method(wrapped: Any, instance: Any, args: Any, kwargs: Any) -> Any:
        if captures or args or replacements.exist():
            return await original(wrapped, instance, args, kwargs)
        _stock_create = _globals["_create_invocation"]
        invocation = _stock_create(handler, instance, args, kwargs)
        try:
            result = await wrapped(*args, **kwargs)
        except BaseException as error:
            _stock_fail = invocation.fail
            _stock_fail(error)
            raise
        return process_answer(result, instance, invocation, _streaming.AsyncStream)

    return traced_method


def process_answer(result: Any, instance: Any, invocation: Any, stream: Any) -> Any:
    """Finish a call, or hand on the stream that will."""
    kind = type(result)
    if kind is not _types.Message:
        is_async = stream is _streaming.AsyncStream
        _stock_is_beta = _globals["_is_beta_resource"]
        is_beta = type(instance) not in _RESOURCES and _stock_is_beta(instance)
        _stock_is_stream = _globals["is_anthropic_async_stream" if is_async else "is_anthropic_stream"]
        if kind is stream or _stock_is_stream(result):
            _stock_wrapper = _globals["AsyncMessagesStreamWrapper" if is_async else "MessagesStreamWrapper"]
            return _stock_wrapper(result, invocation, False, is_beta=is_beta)  # noqa: FBT003  # as stock's
        _stock_is_raw, _stock_raw = _globals["_is_raw_response"], _globals["wrap_raw_response"]
        if _stock_is_raw(result):
            return _stock_raw(result, invocation, False, is_beta=is_beta)  # noqa: FBT003  # likewise
    if kind is _types.Message or isinstance(result, (_globals["AnthropicMessage"], _globals["AnthropicBetaMessage"])):
        _stock_set = _wrapper_globals["set_invocation_response_attributes"]
        _stock_set(invocation, result, False)  # noqa: FBT003  # likewise
    _stock_stop = invocation.stop
    _stock_stop()
    return result


def bind_create_invocation(original: Callable[..., Any]) -> Callable[..., object]:
    """Make the replacement for `_create_invocation`."""
    switch = Switch()

    def _create_invocation(handler: Any, instance: Any, args: Any, kwargs: Any) -> Any:
        asked = None
        try:
            if not args and not switch.inert and kwargs.get("extra_body") is None and not replacements.exist():
                asked = _asked(instance, kwargs)
        except Exception as error:
            faults.absorb(_STARTING, error)
        if asked is None:
            return original(handler, instance, args, kwargs)
        attributes, model, host, port = asked
        _stock_inference = handler.inference
        invocation = _stock_inference(provider=_ANTHROPIC, request_model=model, server_address=host, server_port=port)
        invocation.attributes = attributes
        return invocation

    return make_switchable(original, _create_invocation, switch)


def _asked(instance: Any, kwargs: dict[str, Any]) -> tuple[Any, ...] | None:
    """What `get_llm_request_attributes` returns, and the model, host and port; None if stock must look."""
    if type(instance) not in _RESOURCES:
        return None
    found = dict(_FIRST)
    for name, argument in _ASKED:
        value = kwargs.get(argument)
        if value is not None:
            found[name] = value
    url = instance._client.base_url
    host, port = url.host, url.port
    if type(host) is not str or not host:
        return None
    found[_ADDRESS] = host
    if port in _DEFAULT_PORTS:
        port = None
    if port is not None:
        found[_PORT] = port
    return found, kwargs.get("model"), host, port


def bind_set_response(original: Callable[..., None]) -> Callable[..., object]:
    """Make the replacement for `set_invocation_response_attributes`."""
    switch = Switch()

    def set_invocation_response_attributes(invocation: Any, message: Any, capture_content: Any) -> None:
        is_set = False
        try:
            if type(invocation) is InferenceInvocation and not switch.inert and not replacements.exist():
                is_set = _set_response(invocation.data, message, capture_content)
        except Exception as error:
            faults.absorb(_ANSWER, error)
        if not is_set:
            original(invocation, message, capture_content)

    return make_switchable(original, set_invocation_response_attributes, switch)


def _set_response(data: Any, message: Any, captures: Any) -> bool:
    """Set what was answered in the record of a call; False if stock must."""
    if type(message) is Draft and message.made:
        return False
    given = message.fields if type(message) is Draft else _fields(message)
    if given is None or type(data) is not InferenceData:
        return False
    reason = given["stop_reason"]
    if reason is not None:
        reason = _REASONS.get(reason) or reason
    made = data.__dict__
    made["response_model"] = given["model"]
    made["response_id"] = given["id"]
    if reason:
        made["response_finish_reasons"] = [reason]
    asked, written, read = given["input_tokens"], given[COUNTED[2]], given[COUNTED[3]]
    is_counted = asked is not None or written is not None or read is not None
    made["usage_input_tokens"] = (asked or 0) + (written or 0) + (read or 0) if is_counted else None
    made["usage_output_tokens"] = given["output_tokens"]
    made["usage_reasoning_output_tokens"] = getattr(given[DETAILS], "thinking_tokens", None)
    made["usage_cache_write_input_tokens"] = written
    made["usage_cache_read_input_tokens"] = read
    if captures:
        _stock_output = _extractors["get_output_messages_from_message"]
        if type(message) is Draft:
            made["output_messages"] = [_parts.OutputMessage(given["role"], message.parts(), reason)]
        else:
            made["output_messages"] = _stock_output(message)
    return True


def _fields(message: Any) -> dict[str, Any] | None:
    """What telemetry reads of a message, as a draft has it; None if it is not a usual one."""
    if type(message) is not _types.Message:
        return None
    own = message.__dict__
    found = {name: own.get(name) for name in ("id", "model", "role", "stop_reason")}
    usage = own.get("usage")
    if type(found["stop_reason"]) not in (str, type(None)) or type(usage) is not _types.Usage:
        return None
    return found if None not in (found["id"], found["model"]) and add_usage(found, usage.__dict__) else None
