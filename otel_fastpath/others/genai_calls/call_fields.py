"""The fields of a call's record, `InferenceData`, and the attributes that they become. Compiled as `call_fields_c`."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

from opentelemetry.semconv._incubating.attributes import gen_ai_attributes as _names
from opentelemetry.semconv.attributes import server_attributes
from opentelemetry.util.genai import _inference_invocation as _inference
from opentelemetry.util.genai._inference_invocation import InferenceData

# Of a record's fields, those whose first values are those of its class are not stored before they are set.
CONTENT = ("input_messages", "output_messages", "system_instructions", "prompt_variable", "tool_definitions")
LISTS = CONTENT[:3]
_NOT_MERGED = {"attributes", "metric_attributes", "capture_content", "upload_completion"}
MERGED = frozenset({field.name for field in fields(InferenceData)} - _NOT_MERGED)
MERGED_ALWAYS = MERGED - {*CONTENT}
# Attribute and field, in stock's order; zero is left out of `_USED`.
_FIRST = (
    (_names.GEN_AI_PROVIDER_NAME, "provider_name"),
    (_names.GEN_AI_REQUEST_MODEL, "request_model"),
    (server_attributes.SERVER_ADDRESS, "server_address"),
    (server_attributes.SERVER_PORT, "server_port"),
)
_REQUEST = (
    (_names.GEN_AI_REQUEST_STREAM, "request_stream"),
    (_names.GEN_AI_REQUEST_TEMPERATURE, "request_temperature"),
    (_names.GEN_AI_REQUEST_TOP_P, "request_top_p"),
    (_names.GEN_AI_REQUEST_TOP_K, "request_top_k"),
    (_names.GEN_AI_REQUEST_FREQUENCY_PENALTY, "request_frequency_penalty"),
    (_names.GEN_AI_REQUEST_PRESENCE_PENALTY, "request_presence_penalty"),
    (_names.GEN_AI_REQUEST_MAX_TOKENS, "request_max_tokens"),
    (_names.GEN_AI_REQUEST_STOP_SEQUENCES, "request_stop_sequences"),
    (_names.GEN_AI_REQUEST_SEED, "request_seed"),
)
_RESPONSE = (
    (_names.GEN_AI_RESPONSE_MODEL, "response_model"),
    (_names.GEN_AI_RESPONSE_ID, "response_id"),
    (_names.GEN_AI_USAGE_INPUT_TOKENS, "usage_input_tokens"),
    (_names.GEN_AI_USAGE_OUTPUT_TOKENS, "usage_output_tokens"),
    (_names.GEN_AI_REQUEST_CHOICE_COUNT, "request_choice_count"),
    (_names.GEN_AI_OUTPUT_TYPE, "output_type"),
)
_USED = (
    (_inference._GEN_AI_USAGE_CACHE_WRITE_INPUT_TOKENS, "usage_cache_write_input_tokens"),
    (_names.GEN_AI_USAGE_CACHE_READ_INPUT_TOKENS, "usage_cache_read_input_tokens"),
    (_names.GEN_AI_USAGE_REASONING_OUTPUT_TOKENS, "usage_reasoning_output_tokens"),
    (_inference._GEN_AI_USAGE_TEXT_INPUT_TOKENS, "usage_text_input_tokens"),
    (_inference._GEN_AI_USAGE_IMAGE_INPUT_TOKENS, "usage_image_input_tokens"),
    (_inference._GEN_AI_USAGE_AUDIO_INPUT_TOKENS, "usage_audio_input_tokens"),
    (_inference._GEN_AI_USAGE_TEXT_OUTPUT_TOKENS, "usage_text_output_tokens"),
    (_inference._GEN_AI_USAGE_IMAGE_OUTPUT_TOKENS, "usage_image_output_tokens"),
    (_inference._GEN_AI_USAGE_AUDIO_OUTPUT_TOKENS, "usage_audio_output_tokens"),
    (_inference._GEN_AI_USAGE_TEXT_CACHE_READ_INPUT_TOKENS, "usage_text_cache_read_input_tokens"),
    (_inference._GEN_AI_USAGE_IMAGE_CACHE_READ_INPUT_TOKENS, "usage_image_cache_read_input_tokens"),
    (_inference._GEN_AI_USAGE_AUDIO_CACHE_READ_INPUT_TOKENS, "usage_audio_cache_read_input_tokens"),
)
_MORE = (
    (_inference._GEN_AI_REQUEST_REASONING_LEVEL, "request_reasoning_level"),
    (_inference._GEN_AI_REQUEST_PREVIOUS_RESPONSE_ID, "request_previous_response_id"),
)
_LAST = (
    (_names.GEN_AI_PROMPT_NAME, "prompt_name"),
    (_inference._GEN_AI_PROMPT_VERSION, "prompt_version"),
    (_names.GEN_AI_RESPONSE_TIME_TO_FIRST_CHUNK, "response_time_to_first_chunk"),
)
_METRIC = (*_FIRST[:2], _RESPONSE[0], *_FIRST[2:])
_CONVERSATION = _names.GEN_AI_CONVERSATION_ID
_REASONS = _names.GEN_AI_RESPONSE_FINISH_REASONS
_COMPACTED = _inference._GEN_AI_CONVERSATION_COMPACTED
TOKENS = (
    (_names.GenAiTokenTypeValues.INPUT.value, "usage_input_tokens"),
    (_names.GenAiTokenTypeValues.OUTPUT.value, "usage_output_tokens"),
)


def new_data() -> Any:
    """What `InferenceData()` makes."""
    made = InferenceData.__new__(InferenceData)
    made.__dict__ = {"attributes": {}, "metric_attributes": {}}
    return made


def metric_attributes(own: dict[str, Any], data: dict[str, object]) -> dict[str, object]:
    """What `InferenceInvocation._get_metric_attributes` returns."""
    start: dict[str, object] = own["_start_attributes"]
    more: dict[str, object] = own["metric_attributes"]
    made = start.copy()
    take(made, data, _METRIC)
    if more:
        made.update(more)
    return made


def attributes_of(own: dict[str, Any], data: dict[str, Any]) -> dict[str, object]:
    """What `InferenceInvocation._get_attributes` returns."""
    made: dict[str, object] = {}
    take(made, data, _FIRST)
    conversation = own["conversation_id"] or data.get("conversation_id")
    if conversation is not None:
        made[_CONVERSATION] = conversation
    take(made, data, _REQUEST)
    reasons = data.get("response_finish_reasons")
    if reasons is None:
        reasons = [each.finish_reason for each in data["output_messages"] if each.finish_reason]
    else:
        reasons = list(reasons)
    if reasons:
        made[_REASONS] = reasons
    take(made, data, _RESPONSE)
    for name, field in _USED:
        if data.get(field):
            made[name] = data[field]
    take(made, data, _MORE)
    if data.get("conversation_compacted"):
        made[_COMPACTED] = True
    take(made, data, _LAST)
    return made


def take(made: dict[str, object], data: dict[str, object], table: tuple[tuple[str, str], ...]) -> None:
    """Add the attributes of a table whose fields are set."""
    for name, field in table:
        if field in data:
            value = data[field]
            if value is not None:
                made[name] = value


def has_dicts(own: dict[str, object]) -> bool:
    """Whether the further attributes that a call's user has set are in dicts, as they are at its start."""
    return type(own["attributes"]) is dict and type(own["metric_attributes"]) is dict
