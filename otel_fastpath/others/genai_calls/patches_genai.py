"""Calls of LLMs: `opentelemetry.util.genai`, which OpenTelemetry's instrumentations of LLMs use."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from otel_fastpath.compiled import hot
from otel_fastpath.others.genai_calls import stock_genai as stock
from otel_fastpath.patching.patch import Patch
from otel_fastpath.trace.stock_sources import SDK

if TYPE_CHECKING:
    from collections.abc import Callable

    from otel_fastpath.settings import Config

_CALL: Final = f"{stock.INFERENCE}:InferenceInvocation"
_REQUIRES: Final = (*SDK, "opentelemetry-util-genai>=1.3b0")


def _patch(
    name: str, target: str, why: str, bind: Callable[[], Any], budgets: tuple[str, ...], rests_on: tuple[str, ...] = ()
) -> Patch:
    def make(original: Any, _settings: Config) -> Any:
        return bind()(original)

    return Patch(
        name=f"genai.{name}",
        target=target,
        why=why,
        make=make,
        requires=_REQUIRES,
        sources=stock.KNOWN.sources(target, *stock.DATA, *rests_on),
        after=(stock.INFERENCE, *((stock.STREAM,) if name.startswith("stream") else ())),
        budgets=budgets,
    )


PATCHES: Final = (
    _patch(
        "start",
        f"{_CALL}.__init__",
        "Two records of 51 fields are made by dataclasses: 125,000 instructions; here, of what is set.",
        lambda: hot.others_genai_calls_invocations.bind_init,
        ("genai, chat",),
        stock.STARTING,
    ),
    _patch(
        "chunk",
        f"{_CALL}._on_stream_chunk",
        "Three methods make the attributes of a chunk's metric: 20,000 instructions; here one function.",
        lambda: hot.others_genai_calls_invocations.bind_on_stream_chunk,
        ("genai, chat streamed",),
        stock.CHUNK,
    ),
    _patch(
        "finish",
        f"{_CALL}._apply_finish",
        "Goes through all 51 fields twice, and through 40 attributes: 300,000 instructions; here, through what is set.",
        lambda: hot.others_genai_calls_finishing.bind_apply_finish,
        ("genai, chat", "genai, chat fails", "genai, chat with content"),
        stock.FINISHING,
    ),
    _patch(
        "merge",
        stock.MERGE,
        "`dataclasses.fields` makes a list of 51 fields for each call inside another one: 100,000 instructions.",
        lambda: hot.others_genai_calls_invocations.bind_merge,
        ("genai, chat within another",),
    ),
    *(
        _patch(
            name,
            f"{stock.STREAM}:{target}",
            "Reads a chunk through two functions and a context manager that does nothing; here, directly.",
            bind,
            ("anthropic, stream of 25 events",),
            stock.READING,
        )
        for name, target, bind in (
            ("stream", "SyncStreamWrapper.__next__", lambda: hot.others_genai_calls_stream_reading.bind_next),
            ("stream.async", "AsyncStreamWrapper.__anext__", lambda: hot.others_genai_calls_stream_reading.bind_anext),
        )
    ),
)
