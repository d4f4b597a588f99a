"""What a request means for each HTTP server: it is counted, has a span that is the current one, and is measured.

A library's class says what is only its own. `RequestChooser` decides how a request is served, `try_start` starts its
span; an error in them leaves it to stock's own code. Each step is done once, and `end` does what was not done yet: a
time limit may arrive between any two of them. Plain Python; compiled as `server_c`.
"""

from __future__ import annotations

from time import perf_counter
from typing import TYPE_CHECKING, Any, Final

from opentelemetry.trace import SpanKind

from otel_fastpath.http.servers.activations import Activation  # noqa: TC001  # C types of the compiled twin
from otel_fastpath.http.servers.responses import ResponseTelemetry
from otel_fastpath.http.servers.server_metrics import ApplicationMetrics, RequestLabels  # noqa: TC001  # C types of the compiled twin
from otel_fastpath.http.servers.variables import VARIABLES
from otel_fastpath.patching import faults

if TYPE_CHECKING:
    from collections.abc import Callable

_PLACE = "the metrics of a request"
_SERVER = SpanKind.SERVER
# How a request is served without a `ServerRequest`: by stock's own code, or without any telemetry.
LEFT_TO_STOCK: Final = object()
WITHOUT: Final = object()


class ServerRequest(ResponseTelemetry):
    """A request that is being served; `prepare` is called before anything else.

    Attributes:
        activation: The span as the current one.
        is_counted: Whether it is among the active requests.
        route: The route, for the metrics in new conventions; None if there is none.
        started: When it began.
        target: The target, for the metrics in old conventions; likewise.
    """

    __slots__ = ("activation", "is_counted", "labels", "route", "series", "started", "target")
    activation: Activation
    is_counted: bool
    labels: RequestLabels
    route: Any
    series: ApplicationMetrics
    started: float
    target: Any

    def prepare(self, series: Any, labels: Any, activation: Any) -> None:
        """Set what is known of the request.

        Args:
            series: The `ApplicationMetrics`; None: the library's class records its own.
            labels: The `RequestLabels`; None: it is not counted.
            activation: The `Activation`; None: other functions make the span.
        """
        self.has_old = series is not None and series.has_old
        self.has_new = series is not None and series.has_new
        self.series, self.labels, self.activation = series, labels, activation
        self.is_counted = False
        self.code = self.error = None
        self.route = None
        self.target = None
        self.started = 0.0

    def start(self) -> None:
        """Start the span, and make it the current one: the library's own code."""
        raise NotImplementedError

    def try_start(self, place: str) -> Any:
        """Start the span; return the request, or how to serve it without one after an error."""
        try:
            self.start()
        except Exception as error:
            instead = serve_instead(place, error, self.is_malformed())
            if instead is LEFT_TO_STOCK:
                # That makes a span of its own: one that has begun is not ended.
                self.activation.span = None
            self.uncount()
            self.activation.leave(None)
            return instead
        return self

    def is_malformed(self) -> bool:
        """Whether whoever made the request is to blame for an error."""
        return False

    def count(self) -> None:
        """Count it among the active requests, until `measure` or `uncount`."""
        self.started = perf_counter()
        self.is_counted = True
        self.labels.count(1, _PLACE)

    def uncount(self) -> None:
        """It is no longer active."""
        is_counted, self.is_counted = self.is_counted, False
        if is_counted:
            self.labels.count(-1, _PLACE)

    def measure(self) -> None:
        """Record the duration of a request that is counted, and that it is no longer active."""
        if not self.is_counted:
            return
        try:
            self.record(perf_counter() - self.started)
        except Exception as error:
            faults.absorb_any(_PLACE, error)
        finally:
            self.uncount()

    def record(self, seconds: float) -> None:
        """Record the duration. While the span is the current one, for exemplars."""
        self.series.record(self.labels, seconds, None, self.code, self.error, self.target, self.route)

    def end(self, error: BaseException | None) -> None:
        """Measure the request, restore the context and end the span: what was not done yet."""
        try:
            self.measure()
        finally:
            self.activation.leave(error)


def collect_attributes(collect: Callable[..., dict[str, Any]], request: Any, mode: Any) -> dict[str, Any]:
    """The attributes that stock's function makes of a request, for its span: the place for one that every server adds.

    Args:
        collect: Stock's `collect_request_attributes`.
        request: The request, in the form that the function takes.
        mode: The conventions that are reported.
    """
    return collect(request, mode)


def put_captured(span: Any, variable: Any, collect: Callable[..., dict[str, Any]], headers: Any) -> bool:
    """Put captured headers on the span of a server; return whether there are any.

    Args:
        span: The span.
        variable: The key in `VARIABLES` that says which are captured.
        collect: Stock's function for them.
        headers: What has the headers.
    """
    if VARIABLES.get(variable) and span.is_recording() and span.kind == _SERVER:
        captured = collect(headers)
        if captured:
            span.set_attributes(captured)
            return True
    return False


class RequestChooser:
    """Decides how each request is served; the class of a library has `find`.

    Args:
        place: The place to report.
    """

    __slots__ = ("_place",)

    def __init__(self, place: str) -> None:
        self._place = place

    def choose(self, server: Any, request: Any) -> Any:
        """What `find` returns; after an error, how to serve the request without it."""
        try:
            return self.find(server, request)
        except Exception as error:
            return serve_instead(self._place, error, self.is_malformed(request))

    def is_malformed(self, request: Any) -> bool:  # noqa: ARG002  # for those that know
        """Whether whoever made the request is to blame for an error."""
        return False

    def find(self, server: Any, request: Any) -> Any:
        """A `ServerRequest` that is not started yet, or how to serve this request without one.

        Args:
            server: What serves the request.
            request: The request, as the library has it.
        """
        raise NotImplementedError


def serve_instead(place: str, error: BaseException, malformed: bool = False) -> Any:
    """After an error at the beginning of a request: whether stock's code serves it, or it has no telemetry.

    Args:
        place: The place to report.
        error: The error.
        malformed: Whether whoever made the request is to blame.
    """
    if malformed:
        faults.blame_others(error)
    try:
        faults.absorb_any(place, error)
        # What is not ours, such as a sampler, would raise again in stock's code.
        return LEFT_TO_STOCK if malformed or faults.ours(error) else WITHOUT
    finally:
        # As in `faults.absorb`.
        del error
