"""Reading a stream of an LLM's answer. Plain Python; compiled as `stream_reading_c`.

Stock reads each chunk through a function of its own, within a context manager that does nothing for calls whose span is
the current one.
"""

from __future__ import annotations

import timeit as _timeit
from typing import TYPE_CHECKING, Any

from opentelemetry.util.genai._inference_invocation import InferenceInvocation
from opentelemetry.util.genai.stream import AsyncStreamWrapper, SyncStreamWrapper

from otel_fastpath.compiled.facts import Facts
from otel_fastpath.others.genai_calls.stock_genai import READ
from otel_fastpath.patching import faults
from otel_fastpath.patching.stock import UNKNOWN
from otel_fastpath.patching.swapping.switches import Switch, make_switchable

if TYPE_CHECKING:
    from collections.abc import Callable

_PLACE = "reading a stream of genai"
_read = Facts(UNKNOWN)


def _is_usual(stream: Any, kind: Any) -> bool:
    """Whether a stream is read as stock's class reads it, and its call's span is current, or never was."""
    own = type(stream)
    if not (_read.hold() or READ.holds_again(_read)):
        return False
    if own._advance is not kind._advance or own._execution_context is not kind._execution_context:
        return False
    invocation = stream._self_invocation
    if type(invocation) is not InferenceInvocation:
        return invocation is None
    fields = invocation.__dict__
    return not fields["_attach_to_context"] or fields["_context_token"] is not None


def _take_chunk(stream: Any, chunk: Any) -> None:
    """Let stock read a chunk, and measure when it came."""
    invocation, chunk_at = stream._self_invocation, 0.0
    if invocation is not None:
        _stock_clock = _timeit.default_timer
        chunk_at = _stock_clock()
    _stock_process = stream._process_chunk
    _stock_process(chunk)
    if invocation is not None:
        _stock_measure = invocation._on_stream_chunk
        _stock_measure(chunk_at)


def bind_next(original: Callable[..., Any]) -> Callable[..., object]:
    """Make the replacement for `SyncStreamWrapper.__next__`."""
    switch = Switch()

    def __next__(self: Any) -> Any:  # noqa: N807  # what stock's is called
        iterator = None
        try:
            if not switch.inert and _is_usual(self, SyncStreamWrapper):
                iterator = self._self_iterator
        except Exception as error:
            faults.absorb(_PLACE, error)
        if iterator is None:
            return original(self)
        try:
            chunk = next(iterator)
        except StopIteration:
            _stock_success = self._finalize_success
            _stock_success()
            raise
        except BaseException as error:
            _stock_failure = self._finalize_failure
            _stock_failure(error)
            raise
        _take_chunk(self, chunk)
        return chunk

    return make_switchable(original, __next__, switch)


def bind_anext(original: Callable[..., Any]) -> Callable[..., object]:
    """Make the replacement for `AsyncStreamWrapper.__anext__`."""
    switch = Switch()

    async def __anext__(self: Any) -> Any:  # noqa: N807  # likewise
        iterator = None
        try:
            if not switch.inert and _is_usual(self, AsyncStreamWrapper):
                iterator = self._self_aiter
        except Exception as error:
            faults.absorb(_PLACE, error)
        if iterator is None:
            return await original(self)
        try:
            chunk = await iterator.__anext__()
        except StopAsyncIteration:
            _stock_success = self._finalize_success
            _stock_success()
            raise
        except BaseException as error:
            _stock_failure = self._finalize_failure
            _stock_failure(error)
            raise
        _take_chunk(self, chunk)
        return chunk

    return make_switchable(original, __anext__, switch)
