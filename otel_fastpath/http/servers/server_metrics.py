"""The metrics of HTTP servers, with bound instruments: active requests, and the duration in old and new conventions.

Plain Python; compiled as `series_c`.
"""

from __future__ import annotations

from typing import Any

from opentelemetry.instrumentation._semconv import (
    _filter_semconv_active_request_count_attr,
    _filter_semconv_duration_attrs,
    _server_active_requests_count_attrs_new,
    _server_active_requests_count_attrs_old,
    _server_duration_attrs_new,
    _server_duration_attrs_old,
    _StabilityMode,
)
from opentelemetry.semconv._incubating.attributes.http_attributes import HTTP_ROUTE, HTTP_STATUS_CODE, HTTP_TARGET
from opentelemetry.semconv.attributes.error_attributes import ERROR_TYPE
from opentelemetry.semconv.attributes.http_attributes import HTTP_RESPONSE_STATUS_CODE

from otel_fastpath.compiled.helpers import get_item
from otel_fastpath.http.bounded import LONGEST, MOST_LABELS
from otel_fastpath.metrics.bind import bind
from otel_fastpath.patching import faults
from otel_fastpath.patching.cache import keep

_OLD = _server_duration_attrs_old
_NEW = _server_duration_attrs_new
_ALL = frozenset((*_OLD, *_NEW))


class RequestLabels:
    """The attributes of a request from which those of its metrics follow.

    Attributes:
        active: The bound counter of active requests.
        attributes: The attributes of the durations, without those of the response.
        counted: The attributes of the counter.
        length: The number of characters in them.
    """

    __slots__ = ("active", "attributes", "counted", "length")

    def __init__(self, active: Any, counted: dict[str, Any], attributes: dict[str, Any], length: int) -> None:
        self.active = active
        self.counted = counted
        self.attributes = attributes
        self.length = length

    def count(self, number: int, place: str) -> None:
        """Add to the number of active requests; an error is reported as one in this place."""
        try:
            self.active.add(number)
        except Exception as error:
            faults.absorb_any(place, error)


class BoundDurations:
    """The bound histograms of old and of new conventions for one kind of request and response; None: not reported."""

    __slots__ = ("new", "old")

    def __init__(self, old: Any, new: Any) -> None:
        self.old = old
        self.new = new


class ApplicationMetrics:
    """The instruments of an instrumented application.

    Args:
        active: The counter of active requests.
        old: The histogram of old conventions, or None.
        new: The histogram of new conventions, or None.
        mode: The conventions that are reported.
    """

    __slots__ = ("_active", "_durations", "_labels", "_mode", "_new", "_old")

    def __init__(self, active: Any, old: Any, new: Any, mode: _StabilityMode) -> None:
        self._active = active
        self._old = old
        self._new = new
        self._mode = mode
        self._labels: dict[Any, RequestLabels] = {}
        self._durations: dict[Any, BoundDurations] = {}

    def is_of(self, active: Any, old: Any, new: Any, mode: Any) -> bool:
        """Whether these are the instruments and the mode."""
        return self._active is active and self._old is old and self._new is new and self._mode is mode

    def labels(self, attributes: Any) -> RequestLabels:
        """The labels of a request with these attributes."""
        counted = _filter_semconv_active_request_count_attr(
            attributes,
            _server_active_requests_count_attrs_old,
            _server_active_requests_count_attrs_new,
            self._mode,
        )
        timed = {name: value for name, value in attributes.items() if name in _ALL}
        every = {**counted, **timed}
        # A value that is equal to one of another type is another attribute. In one tuple, which takes a fifth of the
        # memory of a set of pairs.
        key = (*every, *every.values(), *map(type, every.values()))
        found = get_item(self._labels, key)
        if found is None:
            length = sum([len(str(value)) for value in timed.values()])
            found = RequestLabels(bind(self._active, counted), counted, timed, length)
            if length <= LONGEST:
                keep(self._labels, key, found, MOST_LABELS)
        return found

    def record(
        self, labels: RequestLabels, seconds: float, context: Any, code: Any, error: Any, target: Any, route: Any
    ) -> None:
        """Record the duration of a request.

        Args:
            labels: Those of the request.
            seconds: Its duration.
            context: The context with the span, for exemplars; None: the current one.
            code: The status of the response; None: there was none.
            error: The value of `error.type`, or None.
            target: The value of `http.target` in old conventions, or None.
            route: The value of `http.route` in new conventions, or None.
        """
        key = (labels, code, error, target, route)
        found = get_item(self._durations, key)
        if found is None:
            found = self._bound(key)
        if found.old is not None:
            found.old.record(max(round(seconds * 1000), 0), context)
        if found.new is not None:
            found.new.record(max(seconds, 0), context)

    def _bound(self, key: tuple[Any, Any, Any, Any, Any]) -> BoundDurations:
        labels, code, error, target, route = key
        found = BoundDurations(
            bind(self._old, old_attributes(labels, code, target)) if self._old else None,
            bind(self._new, new_attributes(labels, code, error, route)) if self._new else None,
        )
        if labels.length + len(error or "") + len(target or "") + len(route or "") <= LONGEST:
            keep(self._durations, key, found, MOST_LABELS)
        return found


def old_attributes(labels: RequestLabels, code: int | None, target: str | None) -> dict[str, Any]:
    """The attributes of the metrics in old conventions."""
    found = _filter_semconv_duration_attrs(labels.attributes, _OLD, _NEW, _StabilityMode.DEFAULT)
    if code is not None:
        found[HTTP_STATUS_CODE] = code
    if target is not None:
        found[HTTP_TARGET] = target
    return found


def new_attributes(labels: RequestLabels, code: int | None, error: str | None, route: str | None) -> dict[str, Any]:
    """The attributes of the metrics in new conventions."""
    found = _filter_semconv_duration_attrs(labels.attributes, _OLD, _NEW, _StabilityMode.HTTP)
    if code is not None:
        found[HTTP_RESPONSE_STATUS_CODE] = code
    if error is not None:
        found[ERROR_TYPE] = error
    if route is not None:
        found[HTTP_ROUTE] = route
    return found
