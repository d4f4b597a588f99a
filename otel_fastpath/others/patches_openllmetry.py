"""Traceloop's `opentelemetry-instrumentation-openai`: what it wastes for each call and each streamed chunk.

Its hooks stay, and so does what they emit. See also `version_lookups`, which has the version numbers that it parses.
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
# Its own stand-ins for an uploader of images give no awaitable, with a loop or without.
_STAND_INS: Final = frozenset({_PACKAGE, f"{_PACKAGE}.shared.config"})


def _needs_loop(coroutine: Any, config: Any) -> bool:
    """Whether the coroutine may wait: for the upload of an image that is in a message, and for nothing else."""
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
        # In a loop, stock starts a thread, which has an empty context; otherwise asyncio.run copies this one.
        context = contextvars.copy_context() if running_loop() is None else contextvars.Context()
        try:
            context.run(method.send, None)
        except StopIteration:
            return
        method.close()
        faults.report("openllmetry.run_async", RuntimeError("it waits where nothing was to be waited for"))

    return run_async


def _make_accumulate(original: Any, _settings: Config) -> Any:
    @functools.wraps(original)
    def _accumulate_stream_items(item: Any, complete_response: Any) -> None:
        if not _add_text(item, complete_response):
            original(item, complete_response)

    return _accumulate_stream_items


# The fields of a chunk. Where a release has others, or a server sends others, the chunk is dumped as ever.
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
    """Add a chunk that has nothing but text for one choice; False: it has more, and nothing was done."""
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


# Under `dont_throw`: looked at by `openai_sources.check_inside`.
INSIDE: Final = (f"{_CHAT}:_handle_request", f"{_CHAT}:_set_prompts")

PATCHES: Final = (
    _patch(
        "run_async",
        "Starts an event loop for each synchronous call, in a loop a thread as well: 100 to 300 us. Nothing is awaited "
        "but an image's upload; where there is none the coroutine is run as the function that it is.",
        _make_run_async,
        "openllmetry, request of a chat",
        f"{_PACKAGE}.utils:run_async",
        f"{_CHAT}:_preprocess_base64_images",
        f"{_CHAT}:_process_image_item",
        f"{_PACKAGE}.utils:dont_throw",
    ),
    _patch(
        "accumulate",
        "Dumps the whole of each streamed chunk to read five fields of it; of a chunk of text they are read directly.",
        _make_accumulate,
        "openllmetry, stream of 20 chunks",
        f"{_CHAT}:_accumulate_stream_items",
        f"{_PACKAGE}.shared:model_as_dict",
    ),
)
