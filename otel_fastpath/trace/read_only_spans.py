"""The read-only spans that processors get when a span ends, with upstream's containers created on first use.

Most processors look at few of a span's fields. Upstream's containers for attributes, events and links, and the span
context, are created when somebody reads them; they are then those of the span, as with upstream's own read-only span.
"""

from __future__ import annotations

from typing import Any, Final

from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import ReadableSpan, _Span

_stock_init: Any = ReadableSpan.__init__
_stock_readable_span: Any = _Span._readable_span
# The fields of upstream's class in the installed release.
_FIELDS: Final = tuple(vars(ReadableSpan("", resource=Resource({}))))
_DEFERRED: Final = ("_attributes", "_context", "_events", "_links")
_COPIED: Final = tuple(name for name in _FIELDS if name not in _DEFERRED)
# Where a read-only span keeps the span that it was made from.
_SPAN: Final = "_otel_fastpath_span"


class _Deferred:
    """A field that is read from the span on first use. A value that is set takes precedence."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __get__(self, readable: Any, owner: type) -> Any:
        if readable is None:
            return self
        fields = vars(readable)
        return fields.setdefault(self._name, getattr(fields[_SPAN], self._name))


class ReadOnlySpan(ReadableSpan):
    """An `opentelemetry.sdk.trace.ReadableSpan` as the fast path creates it."""

    def __init__(self, span: Any) -> None:
        # Not upstream's `__init__`, which takes the containers.
        fields = vars(self)
        for name in _COPIED:
            fields[name] = getattr(span, name)
        fields[_SPAN] = span

    def __reduce_ex__(self, _protocol: Any) -> Any:
        """Copy and pickle as upstream's own class."""
        plain = ReadableSpan.__new__(ReadableSpan)
        vars(plain).update((name, getattr(self, name)) for name in _FIELDS)
        # Newer protocols compare the class that is created with this one.
        return plain.__reduce_ex__(1)


for _name in _DEFERRED:
    setattr(ReadOnlySpan, _name, _Deferred(_name))
# Shown by repr(), and checked by code that looks at the name of a span's class.
ReadOnlySpan.__name__ = ReadOnlySpan.__qualname__ = ReadableSpan.__name__


def read_only(span: Any) -> Any:
    """The read-only span for processors: upstream's own if its constructor was replaced, or if there is no resource."""
    if ReadableSpan.__init__ is not _stock_init or span._resource is None:
        return _stock_readable_span(span)
    return ReadOnlySpan(span)
