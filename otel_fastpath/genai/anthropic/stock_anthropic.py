"""What the hooks of `opentelemetry-instrumentation-genai-anthropic` call and find: what this package's stand for."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from otel_fastpath.patching.sources.known import Known
from otel_fastpath.wrapping.stock_hooks import CalledAndFound

# Written by tests/others/library_fingerprints.py.
KNOWN: Final = Known(Path(__file__).with_name("sources.json"))
MODULE: Final = "opentelemetry.instrumentation.genai.anthropic"
PATCH: Final = f"{MODULE}.patch"
WRAPPERS: Final = f"{MODULE}.wrappers"
EXTRACTORS: Final = f"{MODULE}.messages_extractors"
_UTILS: Final = f"{MODULE}.utils"
FACTORIES: Final = ("messages_create", "async_messages_create")
STARTING: Final = tuple(
    f"{EXTRACTORS}:{name}" for name in ("extract_params", "get_llm_request_attributes", "get_server_address_and_port")
)
ANSWERED: Final = (
    *(f"{EXTRACTORS}:{name}" for name in ("extract_usage_tokens", "get_output_messages_from_message")),
    *(f"{_UTILS}:{name}" for name in ("convert_content_to_parts", "normalize_finish_reason")),
)
CHUNK: Final = (f"{WRAPPERS}:_MessagesStreamMixin._adopt_sdk_snapshot",)
HOOKED: Final = (
    *(f"{PATCH}:{name}" for name in ("_create_invocation", "_is_beta_resource", "_is_raw_response")),
    *(f"{_UTILS}:{name}" for name in ("is_anthropic_async_stream", "is_anthropic_stream")),
    f"{WRAPPERS}:MessageWrapper.extract_into",
    # With nothing to capture, they do nothing.
    "opentelemetry.util.genai.iterator_capture:IteratorCapture.__init__",
    "opentelemetry.util.genai.iterator_capture:IteratorCapture.extract",
)
_PUTTING: Final = (f"{WRAPPERS}:accumulate_event", "anthropic.lib.streaming._messages:accumulate_event")
# For each event, as few as there are.
PUT_TOGETHER: Final = CalledAndFound(CHUNK, _PUTTING)
CALLED: Final = CalledAndFound(
    (*STARTING, *ANSWERED, *CHUNK, *HOOKED),
    (
        *(f"{PATCH}:{name}" for name in ("AnthropicMessage", "IteratorCapture", "MessageWrapper")),
        *(f"{PATCH}:{name}" for name in ("is_anthropic_async_stream", "is_anthropic_stream")),
        *_PUTTING,
    ),
)
