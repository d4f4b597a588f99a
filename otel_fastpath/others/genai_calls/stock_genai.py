"""What `opentelemetry.util.genai` calls and reads, in whose place this package's functions stand."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from opentelemetry import context
from opentelemetry.trace import propagation

from otel_fastpath.compiled.facts import is_same
from otel_fastpath.patching.sources.guard import ReplacedError, SkipError, owner_of
from otel_fastpath.patching.sources.known import Known
from otel_fastpath.patching.stock import Reached, as_defined

if TYPE_CHECKING:
    from collections.abc import Sequence

# Written by tests/others/library_fingerprints.py.
KNOWN: Final = Known(Path(__file__).with_name("sources.json"))
PACKAGE: Final = "opentelemetry.util.genai"
BASE: Final = f"{PACKAGE}._invocation"
INFERENCE: Final = f"{PACKAGE}._inference_invocation"
_CALL: Final = f"{BASE}:GenAIInvocation"
_INFERENCE_CALL: Final = f"{INFERENCE}:InferenceInvocation"
MERGE: Final = f"{BASE}:_ContextData.merge"
# What each replacement stands for besides its target.
DATA: Final = (f"{INFERENCE}:InferenceData", f"{BASE}:_ContextData")
_CONVERSATION: Final = f"{PACKAGE}._conversation_context"
STREAM: Final = f"{PACKAGE}.stream"
READING: Final = (
    *(f"{STREAM}:{kind}._advance" for kind in ("SyncStreamWrapper", "AsyncStreamWrapper")),
    f"{STREAM}:_StreamTelemetry._execution_context",
    f"{_CALL}._suspended",
)
STARTING: Final = (
    f"{_CALL}.__init__",
    f"{INFERENCE}:_should_emit_event",
    f"{_CONVERSATION}:get_ambient_conversation_id",
    f"{_CONVERSATION}:with_conversation_id",
)
CHUNK: Final = (f"{_CALL}._on_stream_chunk", f"{_INFERENCE_CALL}._get_metric_attributes")
FINISHING: Final = (
    *(f"{_CALL}.{name}" for name in ("_apply_error_attributes", "_call_completion_hook", "_record_client_metrics")),
    *(
        f"{_INFERENCE_CALL}.{name}"
        for name in (
            "_get_attributes",
            "_get_finish_reasons",
            "_get_message_attributes",
            "_get_metric_attributes",
            "_get_metric_token_counts",
            "_maybe_create_event",
            "enrich_from_context",
            "input_messages",
            "output_messages",
            "prompt_variables",
            "request_stream",
            "system_instruction",
            "tool_definitions",
        )
    ),
    MERGE,
    f"{BASE}:get_content_attributes",
    f"{PACKAGE}.utils:_GenAiJsonEncoder.default",
)


# Classes that no call of the replacements' is of, or whose methods they call.
_NOT_REPLACED: Final = frozenset({"CompletionHook", "SuppressedInferenceInvocation", "_SafeCompletionHook"})


class OddValueError(Exception):
    """A value that stock must copy."""


class StockInvocations(Reached):
    """Functions of stock's, what they call, and classes that they use.

    Args:
        first: The functions.
        used: The classes, each by the module that uses it, and the methods that make them.
        api: The functions of the API's contexts, each by the module that calls it.
    """

    def __init__(self, first: Sequence[str], used: Sequence[str] = (), api: Sequence[str] = ()) -> None:
        super().__init__(first)
        self._used = used
        self._api = api
        self._values: dict[str, Any] = {}

    def _is_used(self, owner: Any, name: str, value: Any) -> bool:
        """Whether the functions use it: a field of a record may be called like a property of a call."""
        own = owner.__name__
        if own in _NOT_REPLACED:
            return False
        return type(value) is not property or any(str(each).endswith(f":{own}.{name}") for each in self._first)

    def look(self) -> tuple[list[tuple[Any, str, Any]], SkipError | None]:
        """Every function and class as it is now, and why they may not be replaced."""
        found, error = super().look()
        found = [each for each in found if self._is_used(*each)]
        for place in self._used:
            owner, name = owner_of(sys.modules[place.partition(":")[0]], place)
            value = getattr(owner, name)
            if self._values.setdefault(place, value) is not value:
                error = error or ReplacedError(f"{place} is replaced already")
            found.append((owner, name, value))
        for place in self._api:
            owner, name = owner_of(sys.modules[place.partition(":")[0]], place)
            value = getattr(owner, name)
            if not is_same(value, as_defined(propagation if name == "set_span_in_context" else context, name)):
                error = error or ReplacedError(f"{place} is replaced already")
            found.append((owner, name, value))
        return found, error


_USED: Final = (f"{INFERENCE}:InferenceData", f"{INFERENCE}:InferenceData.__init__")
BEGUN: Final = StockInvocations(
    STARTING,
    _USED,
    (
        *(f"{BASE}:{name}" for name in ("attach", "set_span_in_context", "set_value")),
        *(f"{_CONVERSATION}:{name}" for name in ("get_value", "set_value")),
    ),
)
MEASURED: Final = StockInvocations(CHUNK)
FINISHED: Final = StockInvocations(FINISHING, (*_USED, f"{BASE}:gen_ai_json_dumps"), (f"{INFERENCE}:get_value",))
READ: Final = StockInvocations(READING)
