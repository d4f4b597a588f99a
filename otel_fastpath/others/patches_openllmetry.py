"""Traceloop's `opentelemetry-instrumentation-openai`: avoids unnecessary work for each call and streamed chunk.

Its hooks and the telemetry that they emit do not change. `patches_version_lookups` handles its version look-ups.
"""

from __future__ import annotations

import contextvars
import functools
import sys
from types import CoroutineType
from typing import TYPE_CHECKING, Any, Final

from otel_fastpath.others import openai_sources
from otel_fastpath.patching import faults
from otel_fastpath.patching.patch import Patch

if TYPE_CHECKING:
    from collections.abc import Callable

    from otel_fastpath.settings import Config

_PACKAGE: Final = "opentelemetry.instrumentation.openai"
_CHAT: Final = f"{_PACKAGE}.shared.chat_wrappers"
# The modules of its own placeholders for an image uploader, which return no awaitable, with a loop or without.
_STAND_INS: Final = frozenset({_PACKAGE, f"{_PACKAGE}.shared.config"})


def _needs_loop(coroutine: Any, config: Any) -> bool:
    """Whether the coroutine may suspend, which it does only to upload an image of a message."""
    upload = config.upload_base64_image
    if not upload or getattr(upload, "__module__", None) in _STAND_INS:
        return False
    messages = coroutine.cr_frame.f_locals["args"][1].get("messages")
    return type(messages) is not list or any(
        type(message) is not dict or isinstance(message.get("content"), list) for message in messages
    )


def _make_run_async(original: Any, _settings: Config) -> Any:
    module = sys.modules[_CHAT]
    for name in ("_handle_request", "_set_prompts"):
        openai_sources.check_inside(module, name)
    config = module.Config
    running_loop = original.__globals__["asyncio"]._get_running_loop

    @functools.wraps(original)
    def run_async(method: Any) -> None:
        try:
            is_simple = type(method) is CoroutineType and not _needs_loop(method, config)
        except Exception as error:
            faults.report("openllmetry.run_async", error)
            is_simple = False
        if not is_simple:
            original(method)
            return
        # If a loop is running, stock starts a thread, which has an empty context; else asyncio.run copies this context.
        context = contextvars.copy_context() if running_loop() is None else contextvars.Context()
        try:
            context.run(method.send, None)
        except StopIteration:
            return
        method.close()
        faults.report("openllmetry.run_async", RuntimeError("the coroutine waits, although it has no image to upload"))

    return run_async


def _make_accumulate(original: Any, _settings: Config) -> Any:
    @functools.wraps(original)
    def _accumulate_stream_items(item: Any, complete_response: Any) -> None:
        if not _add_text(item, complete_response):
            original(item, complete_response)

    return _accumulate_stream_items


# The known fields of a chunk. If a chunk has others, because of the release or the server, stock dumps it.
_OF_CHUNK: Final = frozenset(
    {
        "id",
        "choices",
        "created",
        "model",
        "object",
        "service_tier",
        "system_fingerprint",
        "usage",
        "moderation",
        "obfuscation",
    }
)
_OF_CHOICE: Final = frozenset({"delta", "finish_reason", "index", "logprobs"})
_OF_DELTA: Final = frozenset({"content", "role", "refusal", "function_call", "tool_calls", "audio"})


def _has_only(model: Any, fields: frozenset[str]) -> bool:
    extra = model.__pydantic_extra__
    return model.__dict__.keys() <= fields and (not extra or extra.keys() <= fields)


def _add_text(chunk: Any, complete: dict[str, Any]) -> bool:
    """Add a chunk that has only text for one choice. Returns False, and does nothing, if it has more."""
    try:
        (choice,) = chunk.choices
        delta, index = choice.delta, choice.index
        has_more = (
            chunk.usage is not None
            or choice.finish_reason
            or delta.tool_calls
            or not _has_only(chunk, _OF_CHUNK)
            or not _has_only(choice, _OF_CHOICE)
            or not _has_only(delta, _OF_DELTA)
        )
        text, role, model, chunk_id = delta.content, delta.role, chunk.model, chunk.id
        is_odd = type(text) is not str or type(model) is not str or type(chunk_id) is not str or type(index) is not int
        if has_more or is_odd or index < 0 or (role is not None and type(role) is not str):
            return False
        message = complete["choices"][index]["message"]
    except (AttributeError, IndexError, KeyError, TypeError, ValueError):
        return False
    complete["model"] = model
    complete["id"] = chunk_id
    if text:
        message["content"] += text
    if role:
        message["role"] = role
    return True


def _patch(name: str, why: str, make: Callable[[Any, Config], Any], budget: str, *sources: str) -> Patch:
    return Patch(
        name=f"openllmetry.{name}",
        target=f"{_CHAT}:{sources[0].partition(':')[2]}",
        why=why,
        make=make,
        requires=("opentelemetry-instrumentation-openai>=0.55,<0.63", "openai>=1", "pydantic>=2"),
        sources=openai_sources.sources(*sources),
        needs_gil=False,
        budgets=(budget,),
    )


# Wrapped by `dont_throw`, so `openai_sources.check_inside` checks them.
INSIDE: Final = (f"{_CHAT}:_handle_request", f"{_CHAT}:_set_prompts")

PATCHES: Final = (
    _patch(
        "run_async",
        "Starts an event loop for each synchronous call, and a thread if a loop is running: 100 to 300 us. Only the "
        "upload of an image is awaited; without one, the coroutine is run without a loop.",
        _make_run_async,
        "openllmetry, request of a chat",
        f"{_PACKAGE}.utils:run_async",
        f"{_CHAT}:_preprocess_base64_images",
        f"{_CHAT}:_process_image_item",
        f"{_PACKAGE}.utils:dont_throw",
    ),
    _patch(
        "accumulate",
        "Dumps each streamed chunk completely to read five fields; for chunks of text, they are read directly.",
        _make_accumulate,
        "openllmetry, stream of 20 chunks",
        f"{_CHAT}:_accumulate_stream_items",
        f"{_PACKAGE}.shared:model_as_dict",
    ),
)
