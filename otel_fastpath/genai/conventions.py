"""The names of OpenTelemetry's GenAI conventions that are emitted here, as in `opentelemetry-util-genai` 1.3b0."""

from __future__ import annotations

from typing import Final

# The names that also control behaviour are defined in a lower layer.
from otel_fastpath.genai.rule_kinds import *  # noqa: F403  # all that it lists

SCHEMA_URL: Final = "https://opentelemetry.io/schemas/1.37.0"

OPERATION: Final = "gen_ai.operation.name"
PROVIDER: Final = "gen_ai.provider.name"
SERVER_ADDRESS: Final = "server.address"
SERVER_PORT: Final = "server.port"
COMPACTED: Final = "gen_ai.conversation.compacted"
OUTPUT_TYPE: Final = "gen_ai.output.type"
API_TYPE: Final = "openai.api.type"
PROMPT_NAME: Final = "gen_ai.prompt.name"
PROMPT_VERSION: Final = "gen_ai.prompt.version"

MODEL: Final = "gen_ai.request.model"
TEMPERATURE: Final = "gen_ai.request.temperature"
TOP_P: Final = "gen_ai.request.top_p"
TOP_K: Final = "gen_ai.request.top_k"
MAX_TOKENS: Final = "gen_ai.request.max_tokens"
PRESENCE_PENALTY: Final = "gen_ai.request.presence_penalty"
FREQUENCY_PENALTY: Final = "gen_ai.request.frequency_penalty"
SEED: Final = "gen_ai.request.seed"
STOP: Final = "gen_ai.request.stop_sequences"
CHOICES: Final = "gen_ai.request.choice.count"
STREAM_CURSOR: Final = "gen_ai.request.stream_cursor"
ENCODING: Final = "gen_ai.request.encoding_formats"
REASONING: Final = "gen_ai.request.reasoning.level"
PREVIOUS_RESPONSE: Final = "gen_ai.request.previous_response.id"
REQUEST_TIER: Final = "openai.request.service_tier"

RESPONSE_ID: Final = "gen_ai.response.id"
RESPONSE_STATUS: Final = "gen_ai.response.status"
FINISH_REASONS: Final = "gen_ai.response.finish_reasons"
RESPONSE_TIER: Final = "openai.response.service_tier"
FINGERPRINT: Final = "openai.response.system_fingerprint"
DIMENSIONS: Final = "gen_ai.embeddings.dimension.count"

CACHE_READ: Final = "gen_ai.usage.cache_read.input_tokens"
CACHE_WRITE: Final = "gen_ai.usage.cache_write.input_tokens"
REASONING_TOKENS: Final = "gen_ai.usage.reasoning.output_tokens"
AUDIO_INPUT: Final = "gen_ai.usage.audio.input_tokens"
AUDIO_OUTPUT: Final = "gen_ai.usage.audio.output_tokens"
TEXT_INPUT: Final = "gen_ai.usage.text.input_tokens"
TEXT_OUTPUT: Final = "gen_ai.usage.text.output_tokens"
IMAGE_INPUT: Final = "gen_ai.usage.image.input_tokens"
IMAGE_OUTPUT: Final = "gen_ai.usage.image.output_tokens"

INPUT_MESSAGES: Final = "gen_ai.input.messages"
OUTPUT_MESSAGES: Final = "gen_ai.output.messages"
INSTRUCTIONS: Final = "gen_ai.system_instructions"
TOOLS: Final = "gen_ai.tool.definitions"

EVENT: Final = "gen_ai.client.inference.operation.details"
