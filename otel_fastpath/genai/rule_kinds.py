"""Constants that the hot and other code of the OpenAI wrapper share: names of the GenAI conventions, kinds of rules."""

from __future__ import annotations

from typing import Final

__all__ = [
    "CONVERSATION",
    "ERROR_TYPE",
    "INPUT_TOKENS",
    "OTHER_ERROR",
    "OUTPUT_TOKENS",
    "RESPONSE_MODEL",
    "STREAM",
    "TIME_TO_FIRST_CHUNK",
    "TOKEN_TYPE",
]

CONVERSATION: Final = "gen_ai.conversation.id"
ERROR_TYPE: Final = "error.type"
INPUT_TOKENS: Final = "gen_ai.usage.input_tokens"
OTHER_ERROR: Final = "_OTHER"
OUTPUT_TOKENS: Final = "gen_ai.usage.output_tokens"
RESPONSE_MODEL: Final = "gen_ai.response.model"
STREAM: Final = "gen_ai.request.stream"
TIME_TO_FIRST_CHUNK: Final = "gen_ai.response.time_to_first_chunk"
TOKEN_TYPE: Final = "gen_ai.token.type"  # noqa: S105  # tokens of a text

# When a value is set, see `genai.openai.reading.models.read`. No enum: the compiled core compares C integers.
GIVEN: Final = 0
TRUE: Final = 1
TEXT: Final = 2
WHOLE: Final = 3
NUMBER: Final = 4
FIRST: Final = 5
OTHERWISE: Final = 6
REASONS: Final = 7
INTO: Final = 8
CALL: Final = 9
ITEMS: Final = 10

# Which chunks of a stream set no attribute: see `genai.openai.reading.models.is_text`.
NONE: Final = 0
CHAT: Final = 1
CHAT_WITH_TIER: Final = 2
EVENTS: Final = 3
