"""W3C baggage (https://www.w3.org/TR/baggage/). Plain Python; compiled as `baggage_c`.

What is usual is read and written here. What a limit leaves out, what stock warns about, and any unusual carrier,
context or value is left to stock's propagator.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from opentelemetry.baggage import _BAGGAGE_KEY
from opentelemetry.baggage.propagation import W3CBaggagePropagator as _Propagator
from opentelemetry.context.context import Context
from opentelemetry.propagators.textmap import default_getter, default_setter

from otel_fastpath.compiled.baggage_header import read_baggage, write_baggage
from otel_fastpath.compiled.facts import Facts
from otel_fastpath.compiled.helpers import copied, get_item, with_value
from otel_fastpath.patching import faults
from otel_fastpath.patching.stock import UNKNOWN
from otel_fastpath.trace.context.context_functions import known_context
from otel_fastpath.trace.propagation.known_headers import with_known_headers
from otel_fastpath.trace.propagation.stock_propagators import EXTRACTING_BAGGAGE, INJECTING_BAGGAGE

if TYPE_CHECKING:
    from collections.abc import Callable

    from opentelemetry.propagators.textmap import Getter, Setter

_EXTRACT = "W3CBaggagePropagator.extract"
_INJECT = "W3CBaggagePropagator.inject"
# W3C's limits: an object may have others. So many commas are within them, whatever is in between.
_LONGEST: Final = 8192
_LONGEST_PAIR: Final = 4096
_MOST_PAIRS: Final = 180
_MOST_COMMAS: Final = 179
# What is not called: other code may replace it.
_extracting = Facts(UNKNOWN)
_injecting = Facts(UNKNOWN)


def make_extract(original: Callable[..., Context]) -> Callable[..., Context]:
    """Make the method that returns a context with the baggage read from a carrier."""

    def extract(
        self: Any, carrier: Any, context: Context | None = None, getter: Getter[Any] = default_getter
    ) -> Context:
        known: Any = None
        try:
            where = known_context(None) if context is None else context
            if where is not None and getter is not None and _can_read(self):
                if getter is default_getter and type(carrier) is dict:
                    header = get_item(carrier, self._BAGGAGE_HEADER_NAME)
                    is_usual = header is None or type(header) is str
                else:
                    known = getter.get(carrier, self._BAGGAGE_HEADER_NAME)
                    if known is None:
                        return where
                    # Of anything else stock takes the first element, too.
                    is_usual = type(known) is list or type(known) is tuple
                    header = known[0] if is_usual and known else None
                if is_usual:
                    if not header:
                        return where
                    entries: dict[str, object] = {}
                    rest = _read(header, where, entries)
                    if entries:
                        where = with_value(Context, where, _BAGGAGE_KEY, entries)
                    if rest is None:
                        return where
                    context, known = where, [rest]
        except Exception as error:
            faults.absorb(_EXTRACT, error)
        if known is not None:
            getter = with_known_headers(_EXTRACT, getter, {self._BAGGAGE_HEADER_NAME: known})
        return original(self, carrier, context, getter)

    return extract


def make_inject(original: Callable[..., None]) -> Callable[..., None]:
    """Make the method that writes the baggage of a context."""

    def inject(self: Any, carrier: Any, context: Context | None = None, setter: Setter[Any] = default_setter) -> None:
        header = _written(self, context)
        if header is None:
            original(self, carrier, context, setter)
        elif header:
            # As `put`; in plain Python, each call counts.
            if setter is default_setter and type(carrier) is dict:
                carrier[self._BAGGAGE_HEADER_NAME] = header
            else:
                setter.set(carrier, self._BAGGAGE_HEADER_NAME, header)

    return inject


def _has_usual_limits(propagator: Any) -> bool:
    """Whether this is a propagator of stock's, which a subclass may change, and has W3C's limits."""
    return (
        type(propagator) is _Propagator
        and propagator._MAX_PAIRS == _MOST_PAIRS
        and propagator._MAX_PAIR_LENGTH == _LONGEST_PAIR
        and propagator._MAX_HEADER_LENGTH == _LONGEST
    )


def _can_read(propagator: object) -> bool:
    """Whether this propagator would read a header with stock's own functions and limits."""
    return _has_usual_limits(propagator) and (_extracting.hold() or EXTRACTING_BAGGAGE.holds_again(_extracting))


def _read(header: Any, context: Context, entries: dict[str, object]) -> Any:
    """Add the entries of a header to these, after those in the context; returns what is left to stock, None: nothing.

    If there are none in the header, none are added.
    """
    if type(header) is not str or type(context) is not Context or len(header) > _LONGEST or not header.isascii():
        return header
    if len(header) > _MOST_COMMAS and header.count(",") > _MOST_COMMAS:
        return header
    before = context.get(_BAGGAGE_KEY)
    if type(before) is not dict:
        # Stock does without what is no dict.
        if isinstance(before, dict):
            return header
        before = None
    found: dict[str, object] = {}
    at = read_baggage(header, found)
    if found:
        if before:
            entries.update(copied(before))
        entries.update(found)
    return None if at < 0 else header[at:]


def _written(propagator: object, context: Context | None) -> str | None:
    """What is written of a context, perhaps nothing; None: stock's propagator decides."""
    try:
        if _has_usual_limits(propagator) and (_injecting.hold() or INJECTING_BAGGAGE.holds_again(_injecting)):
            where = known_context(None) if context is None else context
            if type(where) is Context:
                entries = where.get(_BAGGAGE_KEY)
                if entries is None:
                    return ""
                if type(entries) is dict:
                    return write_baggage(entries)
    except Exception as error:
        faults.absorb(_INJECT, error)
    return None
