"""What the propagators of stock call and read, in whose place this package's methods stand: see `patching.stock`."""

from __future__ import annotations

import importlib
import re
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote_plus, unquote_plus

from opentelemetry import trace
from opentelemetry.baggage import _BAGGAGE_KEY
from opentelemetry.trace.propagation import _SPAN_KEY
from opentelemetry.trace.span import SpanContext, TraceFlags, TraceState

from otel_fastpath.compiled.facts import WatchedFact, is_same
from otel_fastpath.patching.sources.guard import (
    MAY_BE_MISSING,
    ReplacedError,
    SkipError,
    check_sources,
    owner_of,
    resolve,
)
from otel_fastpath.patching.stock import Stock, watched
from otel_fastpath.trace.stock_sources import KNOWN, sources, sources_if_any

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_API: Final = "opentelemetry"
# What stock's regular expressions are in each release that is supported.
_KEY: Final = r"[\x21\x23-\x27\x2a\x2b\x2d\x2e\x30-\x39\x41-\x5a\x5e-\x7a\x7c\x7e]+"
_VALUE: Final = r"[\x21\x23-\x2b\x2d-\x3a\x3c-\x5b\x5d-\x7e]*"
_SPACE: Final = r"[ \t]*"
_PROPERTY: Final = rf"{_SPACE}{_KEY}{_SPACE}={_SPACE}{_VALUE}{_SPACE}|{_SPACE}{_KEY}{_SPACE}"
_BAGGAGE: Final = f"{_API}.baggage"
_HEADERS: Final = f"{_API}.baggage.propagation"
_CONTEXT: Final = f"{_API}.context"
SPANS: Final = f"{_API}.trace"
_W3C: Final = f"{_API}.trace.propagation.tracecontext"
_TEXTMAP: Final = f"{_API}.propagators.textmap"
TRACE_CONTEXT: Final = f"{_W3C}:TraceContextTextMapPropagator"
W3C_BAGGAGE: Final = f"{_HEADERS}:W3CBaggagePropagator"
SPAN_CONTEXT: Final = f"{SPANS}.span:SpanContext.__new__"
STATE: Final = f"{SPANS}.span:TraceState.__len__"
COMPOSITE: Final = f"{_API}.propagators.composite:CompositePropagator"
GETTING: Final = f"{_TEXTMAP}:DefaultGetter.get"
SETTING: Final = f"{_TEXTMAP}:DefaultSetter.set"


READING_SPAN: Final = f"{SPANS}.propagation:get_current_span"
# Of a span that is only a context, such as a remote parent: it is read without a call.
OWN_CONTEXT: Final = f"{SPANS}.span:NonRecordingSpan.get_span_context"
SETTING_SPAN: Final = f"{SPANS}.propagation:set_span_in_context"
WRITING_IDS: Final = (f"{SPANS}.span:format_trace_id", f"{SPANS}.span:format_span_id")


def sources_in(module: str, *places: str) -> dict[str, frozenset[str]]:
    """The fingerprints of these functions in a module that has imported them: other code may replace them there."""
    return {f"{module}:{place.partition(':')[2]}": of for place, of in sources(*places).items()}


def trace_in(module: str) -> dict[str, Any]:
    """What a module of propagators calls the API by, and the key of spans: tests put others there."""
    return {f"{module}:trace": trace, f"{SPANS}.propagation:_SPAN_KEY": _SPAN_KEY}


# The key of baggage, likewise.
USING_BAGGAGE: Final = {f"{_BAGGAGE}:_BAGGAGE_KEY": _BAGGAGE_KEY}


class StockPropagator(Stock):
    """What one method of a propagator calls and reads.

    Args:
        functions: What it calls, with the fingerprints.
        values: What it reads, by the place where it does.
        read: The properties that it reads.
        written: Functions whose code alone is looked at, with the fingerprints.
    """

    def __init__(
        self,
        functions: Mapping[str, frozenset[str]],
        values: Mapping[str, Any] | None = None,
        read: Sequence[WatchedFact] = (),
        written: Mapping[str, frozenset[str]] | None = None,
    ) -> None:
        super().__init__(None, KNOWN, functions)
        self.functions = functions
        self.values = values or {}
        self._read = read
        # What properties do is read from their code, too; whether they are replaced is looked at for each call.
        self._written = {**(READING_CONTEXTS if read else {}), **(written or {})}

    def look(self) -> tuple[list[tuple[Any, str, Any]], SkipError | None]:
        """Every function and value as it is now, and why they may not be replaced."""
        error: SkipError | None = None
        try:
            check_sources({**self.functions, **self._written}, frozenset())
        except SkipError as skip:
            error = skip.without_frames()
        places = [place for place, of in self.functions.items() if MAY_BE_MISSING not in of or _exists(place)]
        owners = [
            owner_of(importlib.import_module(place.partition(":")[0]), place) for place in (*places, *self.values)
        ]
        found = [(owner, name, getattr(owner, name)) for owner, name in owners]
        for (_, _, value), (place, expected) in zip(found[len(places) :], self.values.items(), strict=True):
            if value != expected:
                error = error or ReplacedError(f"{place} is replaced already")
        for kind, name, value in self._read:
            if getattr(kind, name) is not value:
                error = error or ReplacedError(f"{kind!r}: {name} is replaced already")
        return [*found, *self._read], error

    def lasting(self) -> tuple[list[tuple[Any, str, Any]], bool]:
        """Facts that hold until one of them is replaced or given back, and whether they are stock's own."""
        found, error = self.look()
        if error is None:
            return list(map(WatchedFact, found)), True
        now = [(owner, name, getattr(owner, name)) for owner, name, _ in found]
        # No fact holds about what is made anew each time that it is read.
        return [fact for fact in now if is_same(getattr(*fact[:2]), fact[2])], False


def _exists(place: str) -> bool:
    try:
        resolve(place)
    except SkipError:
        return False
    return True


# What propagators call to read the span of a context, or to make one with a span, and what that calls.
READING_SPANS: Final = sources_in(SPANS, READING_SPAN) | sources_in(f"{SPANS}.propagation", f"{_CONTEXT}:get_value")
SETTING_SPANS: Final = (
    sources(SPAN_CONTEXT)
    | sources_in(SPANS, SETTING_SPAN)
    | sources_in(f"{SPANS}.propagation", f"{_CONTEXT}:set_value")
)
# The properties of a span's context that stock reads, and the fast paths do not.
READ_OF_CONTEXTS: Final = (
    *watched(SpanContext, "is_valid", "span_id", "trace_flags", "trace_id", "trace_state"),
    *watched(TraceFlags, "random_trace_id", "sampled"),
    *watched(TraceState, "__len__"),
)
READING_CONTEXTS: Final = sources(
    *(f"{SPANS}.span:SpanContext.{name}" for name in ("is_valid", "span_id", "trace_flags", "trace_id", "trace_state")),
    f"{SPANS}.span:TraceFlags.sampled",
    STATE,
) | sources_if_any(f"{SPANS}.span:TraceFlags.random_trace_id")
READING_ENTRIES: Final = sources(f"{_BAGGAGE}:_get_baggage_value") | sources_in(_BAGGAGE, f"{_CONTEXT}:get_value")
EXTRACTING: Final = StockPropagator(sources(GETTING) | SETTING_SPANS, trace_in(_W3C))
INJECTING: Final = StockPropagator(
    sources(SETTING, OWN_CONTEXT) | READING_SPANS | sources_in(_W3C, *WRITING_IDS), trace_in(_W3C), READ_OF_CONTEXTS
)
READING_BAGGAGE: Final = (
    f"{_HEADERS}:_extract_first_element",
    f"{_BAGGAGE}:_is_valid_key",
    f"{_BAGGAGE}:_is_valid_value",
    f"{_BAGGAGE}:_get_baggage_value",
    f"{_BAGGAGE}:_is_valid_pair",
    f"{_BAGGAGE}:set_baggage",
    f"{_CONTEXT}:get_current",
    f"{_CONTEXT}:get_value",
    f"{_CONTEXT}:set_value",
)
WRITING_BAGGAGE: Final = (f"{_BAGGAGE}:get_all", f"{_BAGGAGE}:_get_baggage_value", f"{_CONTEXT}:get_value")
# Since 1.42.
LIMITING_BAGGAGE: Final = sources_if_any(f"{_HEADERS}:_apply_baggage_limits", f"{_HEADERS}:_filter_valid_entries")
ENCODING_BAGGAGE: Final = sources_if_any(f"{_HEADERS}:_encode_baggage_pairs")
EXTRACTING_BAGGAGE: Final = StockPropagator(
    sources(GETTING, *READING_BAGGAGE[:4])
    | LIMITING_BAGGAGE
    | sources_in(_HEADERS, f"{_BAGGAGE}:_is_valid_pair", f"{_BAGGAGE}:set_baggage", f"{_CONTEXT}:get_current")
    | sources_in(_BAGGAGE, f"{_CONTEXT}:get_value", f"{_CONTEXT}:set_value"),
    {
        **USING_BAGGAGE,
        f"{_HEADERS}:split": re.split,
        f"{_HEADERS}:unquote_plus": unquote_plus,
        f"{_HEADERS}:_DELIMITER_PATTERN": re.compile(rf"{_SPACE},{_SPACE}"),
        f"{_BAGGAGE}:_KEY_PATTERN": re.compile(_KEY),
        f"{_BAGGAGE}:_PROPERT_PATTERN": re.compile(_PROPERTY),
        f"{_BAGGAGE}:_VALUE_PATTERN": re.compile(_VALUE),
    },
)
INJECTING_BAGGAGE: Final = StockPropagator(
    sources(SETTING)
    | READING_ENTRIES
    | LIMITING_BAGGAGE
    | ENCODING_BAGGAGE
    | sources_in(_HEADERS, f"{_BAGGAGE}:get_all"),
    {**USING_BAGGAGE, f"{_HEADERS}:quote_plus": quote_plus},
)
_NAMES: Final = {
    f"{TRACE_CONTEXT}._TRACEPARENT_HEADER_NAME": "traceparent",
    f"{TRACE_CONTEXT}._TRACESTATE_HEADER_NAME": "tracestate",
    f"{W3C_BAGGAGE}._BAGGAGE_HEADER_NAME": "baggage",
}
# While these hold, the usual two propagators do nothing about a header, or about baggage, that is not there.
EXTRACTING_BOTH: Final = StockPropagator(
    {
        **EXTRACTING.functions,
        **sources(f"{TRACE_CONTEXT}.extract", f"{W3C_BAGGAGE}.extract", READING_BAGGAGE[0]),
    },
    {**_NAMES, **trace_in(_W3C)},
    written=sources(f"{COMPOSITE}.extract"),
)
INJECTING_BOTH: Final = StockPropagator(
    {
        **INJECTING.functions,
        **READING_ENTRIES,
        **sources(f"{TRACE_CONTEXT}.inject", f"{W3C_BAGGAGE}.inject"),
        **sources_in(_HEADERS, WRITING_BAGGAGE[0]),
    },
    {f"{TRACE_CONTEXT}._TRACEPARENT_HEADER_NAME": "traceparent", **trace_in(_W3C), **USING_BAGGAGE},
    READ_OF_CONTEXTS,
    sources(f"{COMPOSITE}.inject"),
)
