"""The metrics of HTTP servers, with bound instruments: active requests, and the duration in old and new conventions.

Plain Python; compiled as `series_c`.
"""

from __future__ import annotations

from typing import Any, Final

from opentelemetry.instrumentation._semconv import (
    _filter_semconv_active_request_count_attr,
    _filter_semconv_duration_attrs,
    _report_new,
    _report_old,
    _server_active_requests_count_attrs_new,
    _server_active_requests_count_attrs_old,
    _server_duration_attrs_new,
    _server_duration_attrs_old,
    _StabilityMode,
)
from opentelemetry.semconv._incubating.attributes.http_attributes import HTTP_ROUTE, HTTP_STATUS_CODE, HTTP_TARGET
from opentelemetry.semconv.attributes.error_attributes import ERROR_TYPE
from opentelemetry.semconv.attributes.http_attributes import HTTP_RESPONSE_STATUS_CODE

from otel_fastpath.compiled.helpers import address, get_item, rounded
from otel_fastpath.http.bounded import LONGEST, MOST_LABELS
from otel_fastpath.metrics.bind import bind
from otel_fastpath.patching import faults
from otel_fastpath.patching.cache import keep
from otel_fastpath.patching.plans import Plan, PlanStore

_OLD = _server_duration_attrs_old
_NEW = _server_duration_attrs_new
_ALL = frozenset((*_OLD, *_NEW))
# Where a middleware, or another object that serves requests, keeps its plan.
PLAN: Final = "_otel_fastpath"
_plans = PlanStore(PLAN)


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


class BoundOutcome:
    """The bound histograms of old and of new conventions for one kind of request and response; None: not reported.

    Attributes:
        request_sizes: Those of the size of the request.
        response_sizes: Those of the size of the response.
    """

    __slots__ = ("_new", "_old", "request_sizes", "response_sizes")

    def __init__(self, durations: list[Any], request_sizes: list[Any], response_sizes: list[Any]) -> None:
        self._old, self._new = durations
        self.request_sizes, self.response_sizes = request_sizes, response_sizes

    def record(self, seconds: float, context: Any) -> None:
        """Record the duration, in milliseconds in old conventions; for `context`, see `ApplicationMetrics.record`."""
        if self._old is not None:
            self._old.record(max(rounded(seconds * 1000), 0), context)
        if self._new is not None:
            self._new.record(max(seconds, 0.0), context)


class ApplicationMetrics(Plan):
    """The instruments of an instrumented application. What a server keeps beside them is in a subclass.

    Args:
        active: The counter of active requests; None: requests are not measured.
        old: The histogram of old conventions, or None.
        new: The histogram of new conventions, or None.
        mode: The conventions that are reported.
        request_sizes: The histograms of the size of requests, of old and of new conventions.
        response_sizes: Likewise, of responses.

    Attributes:
        mode: The conventions that are reported.
        has_old: Whether old conventions are reported.
        has_new: Whether new conventions are reported.
    """

    __slots__ = (*("_active", "_instruments", "_labels", "_new", "_old", "_outcomes", "has_new", "has_old", "mode"),)

    def __init__(
        self,
        active: Any,
        old: Any,
        new: Any,
        mode: _StabilityMode,
        request_sizes: tuple[Any, Any] = (None, None),
        response_sizes: tuple[Any, Any] = (None, None),
    ) -> None:
        self._active, self._old, self._new = active, old, new
        self._instruments = (old, new), request_sizes, response_sizes
        self.mode = mode
        self.has_old = _report_old(mode)
        self.has_new = _report_new(mode)
        self._labels: dict[Any, RequestLabels] = {}
        self._outcomes: dict[Any, BoundOutcome] = {}

    def labels(self, attributes: Any) -> Any:
        """The labels of a request with these attributes; None if requests are not measured."""
        if self._active is None:
            return None
        counted = _filter_semconv_active_request_count_attr(
            attributes,
            _server_active_requests_count_attrs_old,
            _server_active_requests_count_attrs_new,
            self.mode,
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
        self.outcome(labels, code, error, target, route).record(seconds, context)

    def outcome(self, labels: RequestLabels, code: Any, error: Any, target: Any, route: Any) -> BoundOutcome:
        """What the metrics of such a request are recorded with; the arguments are those of `record`."""
        key = (labels, code, error, target, route)
        found = get_item(self._outcomes, key)
        if found is None:
            attributes = old_attributes(labels, code, target), new_attributes(labels, code, error, route)
            found = BoundOutcome(*[_bound(instruments, attributes) for instruments in self._instruments])
            # Also of an ASGI server: the `root_path` in the target is a stranger's below a mount whose path has a
            # parameter.
            if labels.length + len(error or "") + len(target or "") + len(str(route or "")) <= LONGEST:
                keep(self._outcomes, key, found, MOST_LABELS)
        return found


def plan_of(owner: Any, active: Any, old: Any, new: Any, mode: Any) -> Any:
    """The plan of an object, if it is of these instruments and conventions; else None.

    Args:
        owner: The object.
        active: See `ApplicationMetrics`.
        old: Likewise.
        new: Likewise.
        mode: Likewise.
    """
    known = get_item(owner.__dict__, PLAN)
    if isinstance(known, ApplicationMetrics):
        plan = known
        if (
            plan.owner == address(owner)
            and plan._active is active
            and plan._old is old
            and plan._new is new
            and plan.mode is mode
        ):
            return plan
    return None


def keep_plan(plan: Any, owner: Any) -> Any:
    """Keep the plan of an object, and return it."""
    return _plans.keep(plan, owner)


def forget_plans() -> None:
    """Forget the plans of all objects."""
    _plans.forget()


def _bound(instruments: tuple[Any, Any], attributes: tuple[dict[str, Any], dict[str, Any]]) -> list[Any]:
    return [bind(each, of) if each else None for each, of in zip(instruments, attributes, strict=True)]


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
