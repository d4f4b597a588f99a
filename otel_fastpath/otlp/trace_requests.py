"""OTLP trace requests as bytes: spans are grouped as stock groups them, and other threads can run in between.

The spans themselves are encoded by `encoder` or `encoder_c`, in runs that end at a new resource or scope, or at a span
that is not exactly of stock's class or ours. Such spans, and resources and scopes, are encoded by stock's own
functions, passed in as `StockEncoder`. Encoded resources and scopes are cached by object identity.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

from otel_fastpath.otlp.altering import counts, rules
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


class StockEncoder(NamedTuple):
    """Stock's encoder, for the parts that ours leaves to it.

    Attributes:
        span: Encodes one span, and raises the errors that encoding the request would raise.
        fields: Its fields, for altering a span that cannot be encoded.
        resource: Returns the encoded fields of `ResourceSpans` before and after its scopes, and whether all attributes
            of the resource could be encoded.
        scope: Does the same for `ScopeSpans`, before and after its spans; the scope may be None.
        cacheable: The types of resources and scopes that cannot change.
        nulls: Whether None can be encoded as an attribute value.
    """

    span: Callable[[Any], bytes]
    fields: rules.Fields
    resource: Callable[[Any], tuple[bytes, bytes, bool]]
    scope: Callable[[Any], tuple[bytes, bytes, bool]]
    cacheable: tuple[type, ...]
    nulls: bool


class _ByIdentity:
    """A resource or scope that is not, or cannot be, hashed, as a key."""

    def __init__(self, owner: Any) -> None:
        self.owner = owner


class _SpanBatch:
    """The spans of one request by resource and scope, in the order in which these were first seen.

    Attributes:
        resources: Resource -> scope -> its spans.
        groups: (id of resource, id of scope) -> the same spans. Hashing a resource takes longer than encoding ten
            spans.
        is_whole: Whether no span was left out; where one was, there may be a scope without spans, which is not sent.
    """

    def __init__(self, make_spans: Callable[[], Any]) -> None:
        self.resources: dict[Any, dict[Any, Any]] = {}
        self.groups: dict[tuple[int, int], Any] = {}
        self.is_whole = True
        self._make_spans = make_spans
        # Resources and scopes are kept alive, so that no other object gets their ids.
        self._held: list[Any] = []

    def spans_of(self, resource: Any, scope: Any) -> Any:
        """The group for spans of this resource and scope, or of equal ones."""
        spans = self.groups.get((id(resource), id(scope)))
        if spans is None:
            scopes = self._scopes_of(resource)
            key = scope
            try:
                spans = scopes.get(scope)
            except Exception as error:  # a name that has no hash
                faults.raise_interruption(error)
                key, spans = _ByIdentity(scope), None
            if spans is None:
                spans = scopes[key] = self._make_spans()
            self.groups[id(resource), id(scope)] = spans
            self._held += (resource, scope)
        return spans

    def _scopes_of(self, resource: Any) -> dict[Any, Any]:
        """The scopes of this resource, or of an equal one.

        The only resource of a batch is not hashed, which takes as long as all the rest for a batch of one span.
        """
        if not self.resources:
            scopes: dict[Any, Any] = {}
            self.resources[_ByIdentity(resource)] = scopes
            return scopes
        if len(self.resources) == 1:
            [(only, scopes)] = self.resources.items()
            if type(only) is _ByIdentity:
                if only.owner is resource:
                    return scopes
                self.resources.clear()
                self._hash(only.owner, scopes)
        return self._hash(resource, {})

    def _hash(self, resource: Any, scopes: dict[Any, Any]) -> dict[Any, Any]:
        """The scopes of a resource that is equal, or else these."""
        try:
            return self.resources.setdefault(resource, scopes)
        except Exception as error:  # an attribute that has no hash
            faults.raise_interruption(error)
            self.resources[_ByIdentity(resource)] = scopes
            return scopes


class Encoder:
    """Encodes batches of spans; thread-safe.

    Args:
        encoder: The module `encoder` or its compiled twin.
        stock: Stock's functions.
        encode_run: The function of this core that appends items, if they are no spans.
    """

    def __init__(self, encoder: Any, stock: StockEncoder, encode_run: Callable[..., int] | None = None) -> None:
        self._spans = encoder.EncodedSpans
        self._encode_run = encode_run or encoder.encode
        self._stock = stock
        # By the id of the resource or scope, which the entry keeps alive.
        self._parts = Cache(_MOST_PARTS)
        self._stretch = 0.0

    def encode(self, spans: Iterable[Any]) -> bytes | None:
        """Encode a request; None if stock must encode the batch because of a fault of ours.

        A span that cannot be encoded is altered, or left out.
        """
        try:
            return self._encode(spans if type(spans) is list else list(spans))
        except Exception as error:
            report("OTLP batch encoder", error)
            return None

    def encode_each(self, spans: Iterable[Any], check: Callable[[bytes], Any]) -> bytes:
        """Encode a request, where stock's encoder raised for the batch: every span by itself, by stock's functions."""
        batch = _SpanBatch(lambda: self._spans(_no_turn, self._stock.nulls))
        for span in spans:
            self._leave(batch, span, check)
        return self._assemble(batch)

    def _encode(self, spans: list[Any]) -> bytes:
        pace = Pace(self._stretch)
        batch = _SpanBatch(lambda: self._spans(pace.turn, self._stock.nulls))
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

    def _leave(self, batch: _SpanBatch, span: Any, check: Callable[[bytes], Any] | None = None) -> None:
        """Let stock encode the span."""
        try:
            resource, scope = span.resource, span.instrumentation_scope or None
        except Exception as error:  # of other code's class
            faults.raise_interruption(error)
            rules.leave_out(self._stock.fields, error)
            batch.is_whole = False
            return
        self._add(batch, resource, scope, span, check)

    def _add(
        self, batch: _SpanBatch, resource: Any, scope: Any, item: Any, check: Callable[[bytes], Any] | None = None
    ) -> bool:
        """Let stock encode an item, which is altered if it must be, or left out; return whether it is as it was."""
        encode = self._stock.span if check is None else _checked(self._stock.span, check)
        encoded, is_whole = rules.encode_item(encode, self._stock.fields, item)
        if encoded is None:
            batch.is_whole = False
        else:
            batch.spans_of(resource, scope).add(encoded)
        return is_whole

    def _assemble(self, batch: _SpanBatch) -> bytes:
        pieces: list[bytes] = []
        for resource, scopes in batch.resources.items():
            inner: list[bytes] = []
            for scope, spans in scopes.items():
                if not batch.is_whole and not len(spans):
                    continue
                head, tail = self._parts_of(scope, self._stock.scope, rules.SCOPE)
                inner += (b"\x12", varint(len(head) + len(spans) + len(tail)), head, spans.content(), tail)
            head, tail = self._parts_of(resource, self._stock.resource, rules.RESOURCE)
            if not batch.is_whole and not inner:
                continue
            inner = [head, *inner, tail]
            pieces += (b"\x0a", varint(sum(map(len, inner))), *inner)
        return b"".join(pieces)

    def _parts_of(
        self, owner: Any, encode: Callable[[Any], tuple[bytes, bytes, bool]], fields: rules.Fields
    ) -> tuple[bytes, bytes]:
        """The encoded fields before and after the spans of a resource or scope."""
        if type(owner) is _ByIdentity:
            owner = owner.owner
        known = self._parts.items.get(id(owner))
        if known is not None and known[1] is owner.attributes:
            return known[2], known[3]

        made, is_whole = rules.encode_item(encode, fields, owner)
        head, tail, complete = made or (b"", b"", False)
        # A failed attribute is logged each time, as stock does, and what was altered is counted each time.
        if is_whole and not complete and owner is not None:
            counts.add_logged(f"{fields.name}.attributes", 1)
        if complete and is_whole and type(owner) in self._stock.cacheable:
            # The texts of the owner are about as long as the encoded fields.
            size = _EACH + 2 * (len(head) + len(tail))
            self._parts.keep(id(owner), (owner, owner.attributes, head, tail), size)
        return head, tail


def _no_turn() -> None:
    pass


def _checked(encode: Callable[[Any], bytes], check: Callable[[bytes], Any]) -> Callable[[Any], bytes]:
    """The function, which raises also where a request of this item cannot be sent."""

    def encode_and_check(item: Any) -> bytes:
        encoded = encode(item)
        request = encoded
        # The spans of a scope, the scopes of a resource, the resources of a request.
        for tag in (b"\x12", b"\x12", b"\x0a"):
            request = b"".join((tag, varint(len(request)), request))
        check(request)
        return encoded

    return encode_and_check


def report(place: str, error: Exception) -> None:
    """In an `except` clause: report the error; what it stands for is left to stock.

    Raises:
        Exception: The error, if it arrived between two instructions.
    """
    faults.raise_interruption(error)
    faults.report_any(place, error)


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
        try:
            value.prepare(turn)
        except Exception as error:  # it is raised again below, and logged there
            faults.raise_interruption(error)
    made = value.value()
    turn()
    return made
