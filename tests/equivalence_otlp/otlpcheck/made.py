"""Strategies for spans as an exporter may get them: plain ones mostly, and everything that a caller can do to one."""

from __future__ import annotations

import enum
import http
from types import MappingProxyType
from typing import Any

from hypothesis import strategies as st
from opentelemetry.attributes import BoundedAttributes
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import Event, ReadableSpan
from opentelemetry.sdk.util import BoundedList
from opentelemetry.sdk.util.instrumentation import InstrumentationScope
from opentelemetry.trace import Link, SpanContext, SpanKind, TraceFlags
from opentelemetry.trace.span import TraceState
from opentelemetry.trace.status import Status, StatusCode


class Verb(str, enum.Enum):
    """Text whose str() is not its text."""

    GET = "get"
    POST = "pöst"


class Celsius(float):
    """A float that is not exactly one."""


class OtherSpan(ReadableSpan):
    """A span whose name is worked out when it is read."""

    @property
    def name(self) -> str:
        """The name, with a mark."""
        return f"other {self._name}"


class OtherEvent(Event):
    """An event that is not exactly stock's."""


TEXTS = st.text(max_size=12) | st.sampled_from(["", "GET", "/items/1", "é" * 40, "x" * 130, "y" * 20_000, "a\x00b"])
SURROGATES = st.sampled_from(["\ud800", "ok\udfff", "\ud83d\ude00"])
NUMBERS = (
    st.integers() | st.integers(-(2**70), 2**70) | st.sampled_from([0, 1, -1, 127, 128, 2**63 - 1, -(2**63), 2**63])
)
SCALARS = (
    st.none()
    | st.booleans()
    | NUMBERS
    | st.floats()
    | TEXTS
    | st.binary(max_size=200)
    | st.sampled_from([Verb.GET, http.HTTPStatus.OK, Celsius(21.5), -0.0])
)
PLAIN = st.booleans() | st.integers(-(2**63), 2**63 - 1) | st.floats() | TEXTS
KEYS = st.text(max_size=8) | st.sampled_from(["http.request.method", "k", "", "clé", Verb.GET])


def _nested(inner: Any) -> Any:
    keys = KEYS | st.integers(0, 9)
    return (
        st.lists(inner, max_size=4) | st.lists(inner, max_size=3).map(tuple) | st.dictionaries(keys, inner, max_size=3)
    )


def _deep(levels: int) -> Any:
    value: Any = "bottom"
    for level in range(levels):
        value = {"k": value} if level % 3 else [value]
    return value


VALUES = st.recursive(SCALARS, _nested, max_leaves=8)
ODD = SURROGATES | st.sampled_from([object, range(3), bytearray(b"b"), {1, 2}, _deep(20), _deep(30), _deep(70)])
WILD = st.dictionaries(KEYS, VALUES | VALUES | VALUES | ODD, max_size=5)
TAME = st.dictionaries(st.text(min_size=1, max_size=8), PLAIN, max_size=9)


@st.composite
def bounded(draw: Any) -> BoundedAttributes:
    """Attributes as a span holds them, perhaps with some dropped."""
    given = draw(TAME | TAME | st.dictionaries(st.text(min_size=1, max_size=8), VALUES, max_size=5))
    made = BoundedAttributes(draw(st.none() | st.integers(0, 4)), given, immutable=draw(st.booleans()))
    made.dropped = draw(st.just(made.dropped) | st.integers(-1, 2**33))
    return made


ATTRIBUTES = bounded() | bounded() | WILD | st.none() | bounded().map(MappingProxyType) | TAME.map(MappingProxyType)
STATES = st.sampled_from([(), (("vendor", "value"),), (("a", "1"), ("b", "2-3"))]).map(TraceState)
CONTEXTS = st.builds(
    SpanContext,
    st.integers(1, 2**128 - 1) | st.just(0) | st.sampled_from([2**128, -1]),
    st.integers(1, 2**64 - 1) | st.just(0) | st.sampled_from([2**64, -1]),
    st.booleans(),
    st.integers(0, 3).map(TraceFlags),
    st.none() | STATES,
)
GOOD_CONTEXTS = st.builds(
    SpanContext, st.integers(1, 2**128 - 1), st.integers(1, 2**64 - 1), st.booleans(), st.just(TraceFlags(1)), STATES
)
TIMES = st.none() | st.integers(0, 2**64 - 1) | st.sampled_from([0, -1, 2**64, 1_700_000_000_000_000_000, 1.5, True])
STATUSES = st.sampled_from(
    [Status(), Status(StatusCode.OK), Status(StatusCode.ERROR), Status(StatusCode.ERROR, "boom é"), None]
)


def _in_container(items: Any) -> Any:
    def full(several: list[Any]) -> BoundedList:
        return BoundedList.from_seq(2, several)

    several = st.lists(items, max_size=4)
    return several | several.map(tuple) | several.map(full)


EVENTS = (
    st.builds(Event, TEXTS, ATTRIBUTES, st.integers(0, 2**64 - 1))
    | st.builds(Event, TEXTS, ATTRIBUTES, st.integers(0, 2**64 - 1))
    | st.builds(OtherEvent, TEXTS, ATTRIBUTES, TIMES)
)
LINKS = st.builds(Link, GOOD_CONTEXTS, ATTRIBUTES) | st.builds(Link, CONTEXTS, ATTRIBUTES)
# Equal ones among them are different objects.
RESOURCES = st.sampled_from(
    [
        Resource({"service.name": "a", "n": 1}),
        Resource({"service.name": "a", "n": 1}),
        Resource({"service.name": "a", "n": True}),
        Resource({"service.name": "a", "n": 1}, "https://schema"),
        Resource({}),
        Resource({"service.name": "huge", "n": 2**70}),
    ]
)
SCOPES = st.sampled_from(
    [
        None,
        InstrumentationScope("lib"),
        InstrumentationScope("lib"),
        InstrumentationScope("lib", "1.0", "https://schema"),
        InstrumentationScope("lib", "1.0", None, {"k": "v", "n": 1}),
        InstrumentationScope("lib", "1.0", None, {"k": "v", "n": 2}),
        InstrumentationScope("lib", "1.0", None, {"k": "v", "n": 2**70}),
        InstrumentationScope("", ""),
    ]
)


def _span(cls: type[ReadableSpan], /, **fields: Any) -> Any:
    return st.builds(
        cls,
        name=fields.get("name", TEXTS),
        context=fields.get("context", GOOD_CONTEXTS),
        parent=st.none() | GOOD_CONTEXTS,
        resource=RESOURCES,
        attributes=ATTRIBUTES,
        events=_in_container(EVENTS) | st.just(()),
        links=_in_container(LINKS) | st.just(()),
        kind=fields.get("kind", st.sampled_from(SpanKind)),
        status=STATUSES,
        start_time=fields.get("time", st.integers(0, 2**64 - 1)),
        end_time=fields.get("time", st.integers(0, 2**64 - 1)),
        instrumentation_scope=SCOPES,
    )


# What stock can encode, but for single attributes.
SPANS = _span(ReadableSpan) | _span(ReadableSpan) | _span(ReadableSpan) | _span(OtherSpan)
# What stock refuses with the whole batch, often.
WILD_SPANS = _span(
    ReadableSpan,
    name=TEXTS | SURROGATES | st.sampled_from([None, b"bytes", 5, Verb.POST]),
    context=CONTEXTS | st.none(),
    kind=st.sampled_from([*SpanKind, 1, None]),
    time=TIMES,
)
