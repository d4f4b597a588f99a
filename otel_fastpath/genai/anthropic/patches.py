"""The hooks of `opentelemetry-instrumentation-genai-anthropic`, which stand around methods of Anthropic's client."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from otel_fastpath.compiled import hot
from otel_fastpath.genai.anthropic import stock_anthropic as stock
from otel_fastpath.patching.patch import Patch
from otel_fastpath.trace.stock_sources import SDK
from otel_fastpath.wrapping.stock_hooks import Hooks, divert_after

if TYPE_CHECKING:
    from collections.abc import Callable

    from otel_fastpath.settings import Config

_REQUIRES: Final = (*SDK, "opentelemetry-instrumentation-genai-anthropic>=1.3b0")
_PLACES: Final = {
    f"anthropic.resources.{of}:{prefix}Messages.{method}": f"{prefix and 'async_'}messages_create"
    for of in ("messages", "beta.messages")
    for prefix in ("", "Async")
    for method in ("create", "parse")
}


def _bind(factory: str) -> Callable[[Any], Any]:
    module = hot.genai_anthropic_created_messages
    return module.bind_create if factory == "messages_create" else module.bind_async_create


HOOKS: Final = Hooks(stock.PATCH, _PLACES, _bind)


def _instrumenting(original: Any, _settings: Config) -> Any:
    return divert_after(original, "Anthropic", HOOKS.divert, lambda: hot.genai_anthropic_created_messages.are_known)


def _patch(
    name: str, target: str, why: str, make: Callable[[Any, Config], Any], budget: str, *rests_on: str, **more: Any
) -> Patch:
    own = (target,) if "diversions" not in more else ()
    return Patch(
        name=f"anthropic.{name}",
        target=target,
        why=why,
        make=make,
        requires=_REQUIRES,
        sources=stock.KNOWN.sources(*own, *rests_on),
        stock=stock.CALLED,
        after=(stock.PATCH,),
        budgets=(budget,),
        **more,
    )


_CREATE: Final = "anthropic, create"
_STREAM: Final = "anthropic, stream of 25 events"
PATCHES: Final = (
    _patch(
        "hooks",
        f"{stock.MODULE}:AnthropicInstrumentor._instrument",
        "Makes three captures of arguments that are not captured, and asks three times what an answer is, of which two "
        "raise errors in pydantic; here, an answer's class says it.",
        _instrumenting,
        _CREATE,
        *(f"{stock.PATCH}:{name}" for name in stock.FACTORIES),
        *stock.HOOKED,
        diversions=HOOKS.diversions,
    ),
    _patch(
        "request",
        f"{stock.PATCH}:_create_invocation",
        "Puts all arguments into a record and then into a dict, and reads the address twice; here, each is read once.",
        lambda original, _settings: hot.genai_anthropic_created_messages.bind_create_invocation(original),
        _CREATE,
        *stock.STARTING,
    ),
    _patch(
        "response",
        f"{stock.WRAPPERS}:set_invocation_response_attributes",
        "Reads the answer through a record and nine properties; here, directly.",
        lambda original, _settings: hot.genai_anthropic_created_messages.bind_set_response(original),
        _CREATE,
        *stock.ANSWERED,
    ),
    _patch(
        "chunk",
        f"{stock.WRAPPERS}:_MessagesStreamMixin._process_chunk",
        "Puts the message together by Anthropic's own function, which makes pydantic models and joins texts "
        "one by one; here, what telemetry reads of it is kept, and texts are joined at the end.",
        lambda original, _settings: hot.genai_anthropic_streamed_messages.bind_process_chunk(original),
        _STREAM,
        *stock.CHUNK,
    ),
)
