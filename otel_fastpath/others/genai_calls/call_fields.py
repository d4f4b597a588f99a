"""The fields of a call's record, `InferenceData`, and the attributes that they become. Compiled as `call_fields_c`."""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING

from opentelemetry.semconv._incubating.attributes import gen_ai_attributes as _names
from opentelemetry.semconv.attributes import server_attributes
from opentelemetry.util.genai import _inference_invocation as _inference
from opentelemetry.util.genai._inference_invocation import InferenceData

if TYPE_CHECKING:
    from typing import Any

# The fields that stock does not merge, or as dicts.
_NOT_MERGED = frozenset({"attributes", "metric_attributes", "capture_content", "upload_completion"})
CONTENT = ("input_messages", "output_messages", "system_instructions", "prompt_variable", "tool_definitions")
LISTS = CONTENT[:3]
MERGED = tuple([field.name for field in fields(InferenceData) if field.name not in {*_NOT_MERGED, *CONTENT}])
EMPTY = dict(vars(InferenceData()))
# Attribute and field, in stock's order; `USED` are left out if they are zero.
REQUEST = (
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
RESPONSE = (
    (_names.GEN_AI_RESPONSE_MODEL, "response_model"),
    (_names.GEN_AI_RESPONSE_ID, "response_id"),
    (_names.GEN_AI_USAGE_INPUT_TOKENS, "usage_input_tokens"),
    (_names.GEN_AI_USAGE_OUTPUT_TOKENS, "usage_output_tokens"),
    (_names.GEN_AI_REQUEST_CHOICE_COUNT, "request_choice_count"),
    (_names.GEN_AI_OUTPUT_TYPE, "output_type"),
)
USED = (
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
LAST = (
    (_inference._GEN_AI_REQUEST_REASONING_LEVEL, "request_reasoning_level"),
    (_inference._GEN_AI_REQUEST_PREVIOUS_RESPONSE_ID, "request_previous_response_id"),
)
COMPACTED = _inference._GEN_AI_CONVERSATION_COMPACTED
PROMPT = (
    (_names.GEN_AI_PROMPT_NAME, "prompt_name"),
    (_inference._GEN_AI_PROMPT_VERSION, "prompt_version"),
    (_names.GEN_AI_RESPONSE_TIME_TO_FIRST_CHUNK, "response_time_to_first_chunk"),
)
FIRST = (
    (_names.GEN_AI_PROVIDER_NAME, "provider_name"),
    (_names.GEN_AI_REQUEST_MODEL, "request_model"),
    (server_attributes.SERVER_ADDRESS, "server_address"),
    (server_attributes.SERVER_PORT, "server_port"),
)
METRIC = (*FIRST[:2], (_names.GEN_AI_RESPONSE_MODEL, "response_model"), *FIRST[2:])
TOKENS = (
    (_names.GenAiTokenTypeValues.INPUT.value, "usage_input_tokens"),
    (_names.GenAiTokenTypeValues.OUTPUT.value, "usage_output_tokens"),
)


def new_data() -> Any:
    """What `InferenceData()` makes."""
    made = InferenceData.__new__(InferenceData)
    made.__dict__ = {**EMPTY, "attributes": {}, "metric_attributes": {}}
    return made


def metric_attributes(own: dict[str, Any], data: dict[str, object]) -> dict[str, object]:
    """What `InferenceInvocation._get_metric_attributes` returns."""
    made: dict[str, object] = dict(own["_start_attributes"])
    take(made, data, METRIC)
    made.update(own["metric_attributes"])
    return made


def take(made: dict[str, object], data: dict[str, object], table: tuple[tuple[str, str], ...]) -> None:
    """Add the attributes of a table whose fields are set."""
    for name, field in table:
        value = data.get(field)
        if value is not None:
            made[name] = value
