"""OTLP trace requests as bytes: spans are grouped as upstream groups them, and other threads can run in between.

The spans themselves are encoded by `encoder` or `encoder_c`, in runs that end at a new resource or scope, or at a span
that is not exactly of upstream's class or ours. Such spans, and resources and scopes, are encoded by upstream's own
functions, passed in as `Upstream`. Encoded resources and scopes are cached by object identity.
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

# The size in bytes of the cache of encoded resources and scopes, and the size of an entry without its texts.
_MOST_PARTS: Final = 1 << 21
_EACH: Final = 1024


class Upstream(NamedTuple):
    """Upstream's encoder, for the parts that ours leaves to it.

    Attributes:
        span: Encodes one span, and raises the errors that encoding the request would raise.
        resource: Returns the encoded fields of `ResourceSpans` before and after its scopes, and whether all attributes
            of the resource could be encoded.
        scope: Does the same for `ScopeSpans`, before and after its spans; the scope may be None.
        cacheable: The types of resources and scopes that cannot change.
        nulls: Whether None can be encoded as an attribute value.
    """

    span: Callable[[Any], bytes]
    resource: Callable[[Any], tuple[bytes, bytes, bool]]
    scope: Callable[[Any], tuple[bytes, bytes, bool]]
    cacheable: tuple[type, ...]
    nulls: bool


class _RefusedError(Exception):
    """Wraps an exception of upstream's functions, which must reach the caller and is not a fault of ours."""

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
        groups: (id of resource, id of scope) -> the same spans. Hashing a resource takes longer than encoding ten
            spans.
    """

    def __init__(self, make_spans: Callable[[], Any]) -> None:
        self.resources: dict[Any, dict[Any, Any]] = {}
        self.groups: dict[tuple[int, int], Any] = {}
        self._make_spans = make_spans
        # Resources and scopes are kept alive, so that no other object gets their ids.
        self._held: list[Any] = []

    def spans_of(self, resource: Any, scope: Any) -> Any:
        """The group for spans of this resource and scope, or of equal ones."""
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
    """Encodes batches of spans; thread-safe.

    Args:
        hot: The module `encoder` or its compiled twin.
        upstream: Upstream's functions.
    """

    def __init__(self, hot: Any, upstream: Upstream) -> None:
        self._spans = hot.Spans
        self._encode_run = hot.encode
        self._upstream = upstream
        # By the id of the resource or scope, which the entry keeps alive.
        self._parts = Cache(_MOST_PARTS)
        self._stretch = 0.0

    def encode(self, spans: Iterable[Any]) -> bytes | None:
        """Encode a request; None if upstream must encode the batch because of a fault of ours.

        Raises:
            Exception: The exception that upstream's own functions raise for a span that cannot be encoded.
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
                # The span returns another resource or scope at each access.
                if len(batch.groups) == known:
                    at = ~at
            if at < 0:
                at = ~at
                self._leave(batch, spans[at])
                at += 1
                pace.turn()
        # Halved for each batch, so that long stretches end after some batches unless a wait for the GIL is long again.
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
        """The encoded fields before and after the spans of a resource or scope."""
        known = self._parts.items.get(id(owner))
        if known is not None and known[1] is owner.attributes:
            return known[2], known[3]
        head, tail, complete = _theirs(encode, owner)
        # A failed attribute is logged each time, as upstream does.
        if complete and type(owner) in self._upstream.cacheable:
            # The texts of the owner are about as long as the encoded fields.
            size = _EACH + 2 * (len(head) + len(tail))
            self._parts.keep(id(owner), (owner, owner.attributes, head, tail), size)
        return head, tail


def varint(number: int) -> bytes:
    """Encode a non-negative number as a protobuf varint."""
    made = bytearray()
    while number >= 0x80:  # noqa: PLR2004  # seven bits per byte
        made.append(number & 0x7F | 0x80)
        number >>= 7
    made.append(number)
    return bytes(made)


def resolve(value: Lazy, turn: Callable[[], None]) -> Any:
    """Make a lazy value, and let other threads run: the first formatting of a long stack trace takes milliseconds."""
    if type(value) is stack_traces.Stack:
        # An error here is raised again below, and logged there.
        with contextlib.suppress(Exception):
            value.prepare(turn)
    made = value.value()
    turn()
    return made
