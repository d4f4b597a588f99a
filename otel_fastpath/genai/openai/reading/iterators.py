"""Replaces the iterator that a stream of OpenAI's client reads. Compiled as `reading_streams_c`.

The code is flat because it runs for each chunk. Nothing around the client's own call raises: see `patching.outcome`.
"""

from __future__ import annotations

from time import perf_counter
from typing import TYPE_CHECKING, Any

from otel_fastpath.compiled.helpers import drop_finalizer
from otel_fastpath.genai.openai.reading.models import is_text
from otel_fastpath.genai.rule_kinds import NONE
from otel_fastpath.patching import faults
from otel_fastpath.trace.context.current_context import attach_context, restore

if TYPE_CHECKING:
    from otel_fastpath.genai.openai import calls
    from otel_fastpath.genai.openai.reading.chunks import Chunks
    from otel_fastpath.metrics.instruments import bound


_PLACE = "a chunk of an OpenAI stream"


class Reading:
    """Reads a stream.

    Args:
        inner: The client's own iterator.
        call: The call that the stream answers.
        chunks: Reads the chunks: its `add(chunk)` returns how the chunk ends the call, or None; its `skips` and
            `events` say which chunks it need not read from then on, see `models.is_text`.

    Attributes:
        is_reading: Whether the next chunk is being waited for.
    """

    __slots__ = ("_call", "_chunks", "_inner", "_last", "_skips", "_times", "is_reading")

    def __init__(self, inner: Any, call: calls.OpenAICall, chunks: Chunks) -> None:
        self._inner = inner
        self._call = call
        self._chunks = chunks
        self._skips = NONE
        self._last = call.started
        # Records the time of a chunk, once all attributes of the metric are known.
        self._times: bound.BoundHistogram | None = None
        self.is_reading = False

    def __getattr__(self, name: str) -> object:
        if name == "_inner":
            # It was interrupted before that was set.
            raise AttributeError(name)
        # Code that uses the generator itself finds its attributes.
        return getattr(self._inner, name)

    def _took(self, chunk: object) -> None:
        """Read a chunk and measure it. Never raises."""
        call = self._call
        outcome = None
        now = self._last
        try:
            now = perf_counter()
            if self._skips == NONE or not is_text(chunk, self._skips, self._chunks.events):
                outcome = self._chunks.add(chunk)
                self._skips = self._chunks.skips
        except Exception as fault:
            faults.absorb_any(_PLACE, fault)
        try:
            times = self._times
            if times is not None:
                times.record(now - self._last, call.context)
            elif call.has_times:
                self._times = call.early_chunk(now - self._last)
        except Exception as fault:
            faults.absorb_any(_PLACE, fault)
        self._last = now
        if outcome is not None:
            call.end(outcome[0], outcome[1])


def _abandon(reading: Any) -> None:
    """End the call of a reading that nobody has."""
    try:
        call = reading._call
    except AttributeError:
        # In plain Python: an interrupt came before it was set.
        return
    if not call.is_over:
        call.abandon()


class Reads(Reading):
    """The iterator of a `Stream`."""

    __slots__ = ()

    def close(self) -> None:
        """Leave nothing to the garbage collector: the call has ended."""
        drop_finalizer(self, Reads)

    def __iter__(self) -> Reads:
        return self

    def __next__(self) -> object:
        call = self._call
        if call.is_over:
            return next(self._inner)
        token = attach_context(call.context)
        self.is_reading = True
        try:
            try:
                chunk = next(self._inner)
            except StopIteration:
                call.end()
                raise
        except BaseException as error:
            try:
                call.fail(error)
            finally:
                # See `wrapping.call`: the first may have been interrupted; so may `restore`.
                call.fail(error)
            self.close()
            raise
        finally:
            self.is_reading = False
            if token is not None:
                try:
                    restore(token)
                except BaseException:
                    restore(token)
                    raise
        self._took(chunk)
        return chunk


class OpenReads(Reads):
    """One whose call has not ended; as `trace.context.scope.OpenScope`."""

    __slots__ = ()

    def __del__(self) -> None:
        _abandon(self)


class AsyncReads(Reading):
    """The iterator of an `AsyncStream`: not a generator, since asyncio would delay closing an abandoned one."""

    __slots__ = ()

    def close(self) -> None:
        """As that of `Reads`."""
        drop_finalizer(self, AsyncReads)

    def __aiter__(self) -> AsyncReads:
        return self

    async def __anext__(self) -> object:
        call = self._call
        if call.is_over:
            return await self._inner.__anext__()
        token = attach_context(call.context)
        self.is_reading = True
        try:
            try:
                chunk = await self._inner.__anext__()
            except StopAsyncIteration:
                call.end()
                raise
        except BaseException as error:
            try:
                call.fail(error)
            finally:
                # See `wrapping.call`: the first may have been interrupted; so may `restore`.
                call.fail(error)
            self.close()
            raise
        finally:
            self.is_reading = False
            if token is not None:
                try:
                    restore(token)
                except BaseException:
                    restore(token)
                    raise
        self._took(chunk)
        return chunk


class OpenAsyncReads(AsyncReads):
    """As `OpenReads`."""

    __slots__ = ()

    def __del__(self) -> None:
        _abandon(self)
