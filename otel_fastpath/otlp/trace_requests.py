"""OTLP trace requests as bytes: spans grouped as upstream groups them, the interpreter shared while they are encoded.

The spans themselves are encoded by `encoder` or `encoder_c`, in runs that end at a new resource or scope, or at a span
that is not plainly upstream's or ours. Such spans, and what is once per batch, are left to upstream's own functions,
handed in as `Upstream`. Encoded resources and scopes are kept for as long as they are the same objects.
"""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from otel_fastpath.patching import faults
from otel_fastpath.patching.cache import Cache
from otel_fastpath.patching.pausing import Pace
from otel_fastpath.trace import stack_traces

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from otel_fastpath.lazy import Lazy

# How many bytes are kept of what was encoded of resources and scopes, and what each takes besides its texts.
_MOST_PARTS: Final = 1 << 21
_EACH: Final = 1024


class Upstream(NamedTuple):
    """What upstream's encoder does, for what ours leaves to it.

    Attributes:
        span: Encodes one span, as it would in its request; raises what it raises.
        resource: The fields of `ResourceSpans` before and after its scopes, and whether none of the resource's
            attributes failed.
        scope: The same of `ScopeSpans`, before and after its spans; None is a scope, too.
        cacheable: The types of resources and scopes that cannot change.
        nulls: Whether None is an attribute value.
    """

    span: Callable[[Any], bytes]
    resource: Callable[[Any], tuple[bytes, bytes, bool]]
    scope: Callable[[Any], tuple[bytes, bytes, bool]]
    cacheable: tuple[type, ...]
    nulls: bool


class _RefusedError(Exception):
    """Upstream's functions raised: what they raised is for the caller, and no fault of ours."""

    def __init__(self, why: Exception) -> None:
        super().__init__(why)
        self.why = why


def _theirs(function: Callable[[Any], Any], argument: Any) -> Any:
    try:
        return function(argument)
    except Exception as error:
        raise _RefusedError(error) from None


class _Batch:
    """The spans of one request by resource and scope, in the order in which these were first seen.

    Attributes:
        resources: Resource -> scope -> its spans.
        groups: The same by (id of resource, id of scope): hashing a resource takes longer than encoding ten spans.
    """

    def __init__(self, make_spans: Callable[[], Any]) -> None:
        self.resources: dict[Any, dict[Any, Any]] = {}
        self.groups: dict[tuple[int, int], Any] = {}
        self._make_spans = make_spans
        # While they are held, no other object gets their ids.
        self._held: list[Any] = []

    def spans_of(self, resource: Any, scope: Any) -> Any:
        """Where spans of this resource and scope, or of ones that are equal to them, go."""
        spans = self.groups.get((id(resource), id(scope)))
        if spans is None:
            scopes = self.resources.setdefault(resource, {})
            spans = scopes.get(scope)
            if spans is None:
                spans = scopes[scope] = self._make_spans()
            self.groups[id(resource), id(scope)] = spans
            self._held += (resource, scope)
        return spans


class Encoder:
    """Encodes batches of spans; safe to use from several threads.

    Args:
        hot: The module `encoder` or its compiled twin.
        upstream: Upstream's own functions.
    """

    def __init__(self, hot: Any, upstream: Upstream) -> None:
        self._spans = hot.Spans
        self._encode_run = hot.encode
        self._upstream = upstream
        # By the id of the resource or scope, which is held by the entry.
        self._parts = Cache(_MOST_PARTS)
        self._stretch = 0.0

    def encode(self, spans: Iterable[Any]) -> bytes | None:
        """The request's bytes, or None where a fault of ours leaves the batch to upstream.

        Raises:
            Exception: What upstream's own functions raise for a span that cannot be sent.
        """
        try:
            return self._encode(spans if type(spans) is list else list(spans))
        except _RefusedError as error:
            refused = error.why
        except Exception as error:
            if not faults.ours(error):
                raise
            faults.report("OTLP batch encoder", error)
            return None
        raise refused

    def _encode(self, spans: list[Any]) -> bytes:
        pace = Pace(self._stretch)
        batch = _Batch(lambda: self._spans(pace.turn, self._upstream.nulls))
        at = 0
        while at < len(spans):
            at = self._encode_run(spans, at, batch.groups)
            if at >= 0 and at < len(spans):
                known = len(batch.groups)
                batch.spans_of(spans[at].resource, spans[at].instrumentation_scope or None)
                # A span that is not of the resource or scope that it says it is of.
                if len(batch.groups) == known:
                    at = ~at
            if at < 0:
                at = ~at
                self._leave(batch, spans[at])
                at += 1
                pace.turn()
        # Long stretches are tried for some batches, and then what they were taken for is looked at anew.
        self._stretch = pace.stretch / 2
        return self._assemble(batch)

    def _leave(self, batch: _Batch, span: Any) -> None:
        """Let upstream encode the span."""
        resource, scope = span.resource, span.instrumentation_scope or None
        encoded = _theirs(self._upstream.span, span)
        batch.spans_of(resource, scope).add(encoded)

    def _assemble(self, batch: _Batch) -> bytes:
        pieces: list[bytes] = []
        for resource, scopes in batch.resources.items():
            inner: list[bytes] = []
            for scope, spans in scopes.items():
                head, tail = self._parts_of(scope, self._upstream.scope)
                inner += (b"\x12", varint(len(head) + len(spans) + len(tail)), head, spans.content(), tail)
            head, tail = self._parts_of(resource, self._upstream.resource)
            inner = [head, *inner, tail]
            pieces += (b"\x0a", varint(sum(map(len, inner))), *inner)
        return b"".join(pieces)

    def _parts_of(self, owner: Any, encode: Callable[[Any], tuple[bytes, bytes, bool]]) -> tuple[bytes, bytes]:
        """What goes before and after the spans of a resource or scope."""
        known = self._parts.items.get(id(owner))
        if known is not None and known[1] is owner.attributes:
            return known[2], known[3]
        head, tail, complete = _theirs(encode, owner)
        # A failed attribute is logged each time, as upstream does.
        if complete and type(owner) in self._upstream.cacheable:
            # The owner's own texts are about as long as what was made of them.
            size = _EACH + 2 * (len(head) + len(tail))
            self._parts.keep(id(owner), (owner, owner.attributes, head, tail), size)
        return head, tail


def varint(number: int) -> bytes:
    """A non-negative number as protobuf writes it."""
    made = bytearray()
    while number >= 0x80:  # noqa: PLR2004  # seven bits a byte
        made.append(number & 0x7F | 0x80)
        number >>= 7
    made.append(number)
    return bytes(made)


def resolve(value: Lazy, turn: Callable[[], None]) -> Any:
    """Make a lazy value, with turns for others: the first text of a long stack trace takes milliseconds."""
    if type(value) is stack_traces.Stack:
        # What goes wrong here goes wrong again below, and is logged there.
        with contextlib.suppress(Exception):
            value.prepare(turn)
    made = value.value()
    turn()
    return made
