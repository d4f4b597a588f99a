"""Code that the patches of the OTLP exporters share."""

from __future__ import annotations

import functools
import importlib
import inspect
import operator
from typing import TYPE_CHECKING, Any, Final

from otel_fastpath.patching import faults
from otel_fastpath.patching.patch import Patch, SkipError
from otel_fastpath.patching.sources.guard import owner_of
from otel_fastpath.patching.stock import is_defined_in
from otel_fastpath.trace.stock_sources import SDK, sources

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import ModuleType

    from otel_fastpath.otlp.altering.rules import Fields
    from otel_fastpath.otlp.trace_requests import StockEncoder
    from otel_fastpath.settings import Config

EXPORTERS: Final = "opentelemetry.exporter.otlp.proto"
COMMON: Final = f"{EXPORTERS}.common._internal"
COMMON_NAMES: Final = (
    "_encode_attributes",
    "_encode_instrumentation_scope",
    "_encode_key_value",
    "_encode_resource",
    "_encode_span_id",
    "_encode_trace_id",
    "_encode_value",
)
# What the encoders read of objects of the API and the SDK without calling these properties and methods.
COMMON_PROPERTIES: Final = (
    "opentelemetry.attributes:BoundedAttributes.__getitem__",
    "opentelemetry.attributes:BoundedAttributes.__iter__",
    "opentelemetry.attributes:BoundedAttributes.__len__",
    "opentelemetry.sdk.resources:Resource.attributes",
    "opentelemetry.sdk.resources:Resource.schema_url",
    "opentelemetry.sdk.util.instrumentation:InstrumentationScope.attributes",
    "opentelemetry.sdk.util.instrumentation:InstrumentationScope.name",
    "opentelemetry.sdk.util.instrumentation:InstrumentationScope.schema_url",
    "opentelemetry.sdk.util.instrumentation:InstrumentationScope.version",
)


class EncodedRequest:
    """An encoded request in the place of its protobuf message, which is parsed only if its fields are accessed.

    Args:
        kind: The class of the message.
        content: The encoded message.
        points: The number of data points in it, if known.
    """

    __slots__ = ("_content", "_kind", "_message", "_points")

    def __init__(self, kind: Any, content: bytes, points: int | None = None) -> None:
        self._kind = kind
        self._content = content
        self._message: Any = None
        self._points = points

    def SerializePartialToString(self, **kwargs: Any) -> bytes:  # noqa: N802  # protobuf's name
        """The encoded request."""
        # A message that was accessed may have been changed.
        content = self._content if self._message is None else self._message.SerializePartialToString(**kwargs)
        return bytes(content)

    SerializeToString = SerializePartialToString

    def ByteSize(self) -> int:  # noqa: N802  # protobuf's name
        """The size of the encoded request in bytes."""
        return len(self.SerializePartialToString())

    def points(self) -> int | None:
        """The number of data points in the request, or None if it must be counted in the message."""
        return self._points if self._message is None else None

    def parsed(self) -> Any:
        """The message, made of the bytes when it is first asked for."""
        if self._message is None:
            self._message = self._kind.FromString(self._content)
        return self._message

    @property  # type: ignore[misc]
    def __class__(self) -> Any:
        return self._kind

    def __getattr__(self, name: str) -> Any:
        return getattr(self.parsed(), name)

    def __eq__(self, other: object) -> bool:
        return bool(self.parsed() == (other.parsed() if type(other) is EncodedRequest else other))

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return repr(self.parsed())

    def __str__(self) -> str:
        return str(self.parsed())

    def __reduce__(self) -> Any:
        return self._kind.FromString, (self.SerializePartialToString(),)


def nulls(common: Any) -> bool:
    """Whether None can be encoded, as an empty attribute value; until 1.42 it is an error."""
    try:
        return common._encode_value(None) is not None
    except Exception:  # stock raises a bare Exception
        return False


def stock(
    request_class: Any, of_resource: Any, of_scope: Any, encode: Callable[[Any], Any], fields: Fields, attributes: Any
) -> StockEncoder:
    """Stock's functions for the parts of a request that our encoder leaves to stock, looked up at each call.

    Args:
        request_class: The class of the request's message.
        of_resource: That of the messages in it, such as `ResourceSpans`.
        of_scope: That of the messages in these, such as `ScopeSpans`.
        encode: Makes the message of an item.
        fields: The fields of an item.
        attributes: Returns the attributes of an item beside those of its message.
    """
    from opentelemetry.exporter.otlp.proto.common import _internal  # noqa: PLC0415  # only where it is being patched
    from opentelemetry.sdk.resources import Resource  # noqa: PLC0415  # likewise
    from opentelemetry.sdk.util.instrumentation import InstrumentationScope  # noqa: PLC0415  # likewise

    from otel_fastpath.otlp.altering import rules  # noqa: PLC0415  # likewise
    from otel_fastpath.otlp.trace_requests import StockEncoder  # noqa: PLC0415  # likewise

    # The repeated fields: `resource_spans`, `scope_spans`, `spans`.
    [in_request], [in_resource], [in_scope] = (
        [field.name for field in message.DESCRIPTOR.fields if field.name not in {"resource", "scope", "schema_url"}]
        for message in (request_class, of_resource, of_scope)
    )

    def check(message: Any) -> None:
        """Raise for a value that is nested too deeply for a request, though not for its message alone."""
        request_class(**{in_request: [message]}).SerializeToString()

    def item(owner: Any) -> bytes:
        encoded = encode(owner)
        check(of_resource(**{in_resource: [of_scope(**{in_scope: [encoded]})]}))
        rules.count_left_out(attributes(owner, encoded))
        return bytes(encoded.SerializePartialToString())

    def resource(owner: Any) -> tuple[bytes, bytes, bool]:
        encoded = _internal._encode_resource(owner)
        head, tail = of_resource(resource=encoded), of_resource(schema_url=owner.schema_url)
        check(head)
        complete = len(encoded.attributes) == len(owner.attributes or ())
        return head.SerializePartialToString(), tail.SerializePartialToString(), complete

    def scope(owner: Any) -> tuple[bytes, bytes, bool]:
        encoded = _internal._encode_instrumentation_scope(owner)
        head, tail = of_scope(scope=encoded), of_scope(schema_url=owner.schema_url if owner else "")
        check(of_resource(**{in_resource: [head]}))
        complete = owner is not None and len(encoded.attributes) == len(owner.attributes or ())
        return head.SerializePartialToString(), tail.SerializePartialToString(), complete

    return StockEncoder(item, fields, resource, scope, (Resource, InstrumentationScope), nulls(_internal))


def readers(names: tuple[str, ...], *modules: ModuleType) -> tuple[Callable[[], Any], ...]:
    """For each module, a function that returns the module's current values of these names, as far as it has them."""
    return tuple(
        functools.partial(operator.itemgetter(*(name for name in names if name in vars(module))), vars(module))
        for module in modules
    )


def property_readers(places: tuple[str, ...]) -> tuple[Callable[[], Any], ...]:
    """Likewise for these properties and methods of classes, each as "module:Class.name"."""
    names: dict[Any, list[str]] = {}
    for place in places:
        owner, name = owner_of(importlib.import_module(place.partition(":")[0]), place)
        names.setdefault(owner, []).append(name)
    return tuple(functools.partial(operator.itemgetter(*of), vars(owner)) for owner, of in names.items())


class Replacement:
    """What the exporters call in the place of one of stock's functions that encode a batch.

    Args:
        stock: Stock's function.
        encode: Encodes a batch; returns None if stock's function must do it.
        encode_each: Encodes a batch for which stock's function raises: what can be encoded of each item. It is given
            the batch and `wrap`.
        wrap: Makes what the exporter gets of what was encoded. It may raise.
        used: The functions that return the functions of stock that `encode` stands for.
    """

    def __init__(
        self,
        stock: Callable[[Any], Any],
        encode: Callable[[Any], Any],
        encode_each: Callable[[Any, Callable[[Any], Any]], Any],
        wrap: Callable[[Any], Any],
        used: tuple[Callable[[], Any], ...],
    ) -> None:
        self._stock = stock
        self._encode = encode
        self._encode_each = encode_each
        self.wrap = wrap
        self._used = used
        self._as_read = tuple([read() for read in used])

    def __call__(self, batch: Any) -> Any:
        """Encode the batch."""
        # If one of stock's functions was replaced, the replacement must be called.
        if tuple([read() for read in self._used]) == self._as_read:
            content = self._encode(batch)
            if content is not None:
                try:
                    return self.wrap(content)
                except Exception as error:  # protobuf reads less deeply nested messages than it writes
                    faults.raise_interruption(error)
        try:
            return self._stock(batch)
        except Exception as error:  # whatever stock's functions, and those in their place, raise
            # Stock's function for metrics raises an exception of its own around what happened.
            if faults.is_interruption(getattr(error, "original_exception", error)):
                raise
            refused = error
        try:
            return self.wrap(self._encode_each(batch, self.wrap))
        except Exception as error:
            faults.raise_interruption(error)
            raise refused from None
        finally:
            # The exception and its frame would refer to each other, and keep the batch.
            del refused


def replace(
    original: Any,
    module: ModuleType,
    names: tuple[str, ...],
    encode: Callable[[Any], Any],
    encode_each: Callable[[Any, Callable[[Any], Any]], Any],
    wrap: Callable[[Any], Any],
    properties: tuple[str, ...] = (),
) -> Any:
    """What replaces the last of these functions of a module of stock's; see `Replacement`."""
    from opentelemetry.exporter.otlp.proto.common import _internal  # noqa: PLC0415  # only where it is being patched

    if not is_defined_in(module, original):
        raise SkipError(f"{names[-1]} is not stock's own, but {original!r}")
    used = readers((*COMMON_NAMES, *names), _internal, module) + property_readers((*COMMON_PROPERTIES, *properties))
    replacement = Replacement(original, encode, encode_each, wrap, used)
    bind = inspect.signature(original).bind

    @functools.wraps(original)
    def encode_batch(*batch: Any, **by_name: Any) -> Any:
        return replacement(*(bind(*batch, **by_name).args if by_name else batch))

    return encode_batch


def patch(
    transport: str,
    signal: str,
    target: str,
    why: str,
    make: Callable[[Any, Config], Any],
    rests_on: Any,
    budget: str,
    parts: tuple[str, ...] = (),
) -> Patch:
    """Declare the patch of one exporter's encode function, which is `target` in the exporter's package."""
    return Patch(
        name=f"otlp.{transport}_{signal}",
        target=f"{EXPORTERS}.{transport}.{target}",
        why=why,
        make=make,
        requires=(*SDK, *(f"opentelemetry-exporter-otlp-proto-{part}>=1.40,<2" for part in ("common", transport))),
        sources=sources(*(f"{COMMON}:{name}" for name in COMMON_NAMES), *COMMON_PROPERTIES, *rests_on),
        parts=sources(*parts),
        budgets=(budget,),
    )
