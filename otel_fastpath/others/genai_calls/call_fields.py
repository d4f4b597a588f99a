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
# Attribute and field, in stock's order; one without a field is added elsewhere.
_TABLE = (
    (_names.GEN_AI_PROVIDER_NAME, "provider_name"),
    (_names.GEN_AI_REQUEST_MODEL, "request_model"),
    (server_attributes.SERVER_ADDRESS, "server_address"),
    (server_attributes.SERVER_PORT, "server_port"),
    (_names.GEN_AI_CONVERSATION_ID, "conversation_id"),
    (_names.GEN_AI_REQUEST_STREAM, "request_stream"),
    (_names.GEN_AI_REQUEST_TEMPERATURE, "request_temperature"),
    (_names.GEN_AI_REQUEST_TOP_P, "request_top_p"),
    (_names.GEN_AI_REQUEST_TOP_K, "request_top_k"),
    (_names.GEN_AI_REQUEST_FREQUENCY_PENALTY, "request_frequency_penalty"),
    (_names.GEN_AI_REQUEST_PRESENCE_PENALTY, "request_presence_penalty"),
    (_names.GEN_AI_REQUEST_MAX_TOKENS, "request_max_tokens"),
    (_names.GEN_AI_REQUEST_STOP_SEQUENCES, "request_stop_sequences"),
    (_names.GEN_AI_REQUEST_SEED, "request_seed"),
    (_names.GEN_AI_RESPONSE_FINISH_REASONS, "response_finish_reasons"),
    (_names.GEN_AI_RESPONSE_MODEL, "response_model"),
    (_names.GEN_AI_RESPONSE_ID, "response_id"),
    (_names.GEN_AI_USAGE_INPUT_TOKENS, "usage_input_tokens"),
    (_names.GEN_AI_USAGE_OUTPUT_TOKENS, "usage_output_tokens"),
    (_names.GEN_AI_REQUEST_CHOICE_COUNT, "request_choice_count"),
    (_names.GEN_AI_OUTPUT_TYPE, "output_type"),
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
    (_inference._GEN_AI_REQUEST_REASONING_LEVEL, "request_reasoning_level"),
    (_inference._GEN_AI_REQUEST_PREVIOUS_RESPONSE_ID, "request_previous_response_id"),
    (_inference._GEN_AI_CONVERSATION_COMPACTED, "conversation_compacted"),
    (_names.GEN_AI_PROMPT_NAME, "prompt_name"),
    (_inference._GEN_AI_PROMPT_VERSION, "prompt_version"),
    (_names.GEN_AI_RESPONSE_TIME_TO_FIRST_CHUNK, "response_time_to_first_chunk"),
)
_FIELDS_IN_ORDER = [field for _, field in _TABLE]
# The attributes, and where in that order a field's is.
_ATTRIBUTES = tuple([name for name, _ in _TABLE])
_RANKS = {field: rank for rank, field in enumerate(_FIELDS_IN_ORDER)}
_NONE_OF_THEM: list[Any] = [None] * len(_TABLE)
_CONVERSATION = _RANKS["conversation_id"]
_REASONS = _RANKS["response_finish_reasons"]
# From the first to the last of these, zero is left out.
_FIRST_COUNT = _RANKS["usage_cache_write_input_tokens"]
_LAST_COUNT = _RANKS["usage_audio_cache_read_input_tokens"]
_COMPACTED = _RANKS["conversation_compacted"]
_METRIC = (*_TABLE[:2], (_names.GEN_AI_RESPONSE_MODEL, "response_model"), *_TABLE[2:4])
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
    for name, field in _METRIC:
        value = data.get(field)
        if value is not None:
            made[name] = value
    if more:
        made.update(more)
    return made


def attributes_of(own: dict[str, Any], data: dict[str, Any]) -> dict[str, object]:
    """What `InferenceInvocation._get_attributes` returns."""
    found = _NONE_OF_THEM.copy()
    for field, value in data.items():
        if value is None:
            continue
        rank = _RANKS.get(field, -1)
        if rank >= 0 and (rank < _FIRST_COUNT or rank > _LAST_COUNT or value):
            found[rank] = value
    if own["conversation_id"]:
        found[_CONVERSATION] = own["conversation_id"]
    if found[_COMPACTED] is not None:
        found[_COMPACTED] = True if found[_COMPACTED] else None
    reasons = found[_REASONS]
    if reasons is None:
        reasons = [each.finish_reason for each in data["output_messages"] if each.finish_reason]
    else:
        reasons = list(reasons)
    found[_REASONS] = reasons or None
    made: dict[str, object] = {}
    for rank, value in enumerate(found):
        if value is not None:
            made[_ATTRIBUTES[rank]] = value
    return made


def has_dicts(own: dict[str, object]) -> bool:
    """Whether the further attributes that a call's user has set are in dicts, as they are at its start."""
    return type(own["attributes"]) is dict and type(own["metric_attributes"]) is dict
