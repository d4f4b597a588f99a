"""What the hooks of outgoing calls share: the attributes that follow from a method and a server are made once.

Compiled as `outgoing_c`. Stock's own functions make the attributes, on a `Seen` in the place of a span.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from opentelemetry import context as context_api
from opentelemetry import trace as _trace_api
from opentelemetry.baggage import _BAGGAGE_KEY
from opentelemetry.context import _SUPPRESS_HTTP_INSTRUMENTATION_KEY
from opentelemetry.context.context import Context
from opentelemetry.metrics import _internal as _metrics_api
from opentelemetry.propagate import inject
from opentelemetry.trace import NonRecordingSpan, ProxyTracer, SpanKind
from opentelemetry.util.http import redact_url
from opentelemetry.util.http.httplib import _STATE_KEY, set_ip_on_next_http_connection

from otel_fastpath.compiled.helpers import get_item, with_value
from otel_fastpath.http.bounded import MOST_ANSWERS
from otel_fastpath.http.conventions import METHODS
from otel_fastpath.http.redaction import needs_redaction
from otel_fastpath.http.scopes import exit_scope
from otel_fastpath.patching import faults
from otel_fastpath.patching.cache import keep
from otel_fastpath.patching.outcome import call_guarded
from otel_fastpath.trace.context.current_context import attach_context, current, restore, span_in
from otel_fastpath.trace.propagation.global_propagator import w3c_writer
from otel_fastpath.trace.propagation.trace_context import traceparent

if TYPE_CHECKING:
    from collections.abc import Callable

_PLACE = "a call of an HTTP client"
_CLIENT = SpanKind.CLIENT
# The memory for one set-up is bounded: methods and servers of texts no longer than this.
LONGEST = 255
_trace_globals = vars(_trace_api)
_metrics_globals = vars(_metrics_api)
_SCHEMES = ("http://", "https://")
# No scheme is longer, so this is the first place where the path can begin.
_AFTER_SCHEME = len("https://")


class ResponsePlan:
    """What follows from an answer of one kind to the calls of one `CallShape`.

    Args:
        attributes: What it adds to the span.
        error: The status of the span, if it is an error.
        metric: The attributes of the metrics.
        old: The histogram of the old conventions with its attributes; None if it is not recorded.
        new: That of the new ones.
    """

    __slots__ = ("attributes", "error", "metric", "new", "old")

    def __init__(self, attributes: dict[str, Any], error: Any, metric: dict[str, Any], old: Any, new: Any) -> None:
        self.attributes = attributes
        self.error = error
        self.metric = metric
        self.old = old
        self.new = new

    def record(self, seconds: float) -> None:
        """Record the duration of a call."""
        if self.old is not None:
            self.old.record(max(round(seconds * 1000), 0))
        if self.new is not None:
            self.new.record(seconds)


class CallShape:
    """What the calls with one method to one server have in common.

    Attributes:
        name: The name of the span.
        attributes: The attributes of the span at its start, without the URL.
        before: How many of them come before those of captured headers.
        metric: The attributes of the metrics that are known before the answer.
        answers: The `ResponsePlan` of each kind.
    """

    __slots__ = ("answers", "attributes", "before", "metric", "name")

    def __init__(self, name: str, attributes: dict[str, Any], before: int, metric: dict[str, Any]) -> None:
        self.name = name
        self.attributes = attributes
        self.before = before
        self.metric = metric
        self.answers: dict[Any, ResponsePlan] = {}

    def keep(self, key: Any, answer: ResponsePlan) -> None:
        """Keep the answer for the next one of its kind."""
        keep(self.answers, key, answer, MOST_ANSWERS)


class CallShapes:
    """The shapes of one set-up.

    Args:
        make: Makes the shape of a method and a URL.
        url_keys: The attributes with the URL.
    """

    __slots__ = ("_make", "_shapes", "_url_keys")

    def __init__(self, make: Callable[[str, str], CallShape], url_keys: tuple[str, ...]) -> None:
        self._make = make
        self._shapes: dict[tuple[str, str], CallShape] = {}
        self._url_keys = url_keys

    def find(self, method: str, url: str, server: str | None = None) -> CallShape | None:
        """The shape of a call.

        Args:
            method: The method.
            url: The URL.
            server: The URL up to the path, if that is known.

        Returns:
            The shape; None if stock's own code has to handle the call: the method is unusual, or the URL is no
            plain URL of a web server.
        """
        if not server:
            # What is before the path determines the server; a query or a fragment that is in it is harmless.
            end = url.find("/", _AFTER_SCHEME)
            server = url if end < 0 else url[:end]
        shape = get_item(self._shapes, (method, server))
        return self._new((method, server), url) if shape is None else shape

    def _new(self, key: tuple[str, str], url: str) -> CallShape | None:
        method, server = key
        if method not in METHODS or not server.startswith(_SCHEMES):
            return None
        shape = self._make(method, url)
        # It only has its place in the order here: an application may call a URL of any length.
        for url_key in self._url_keys:
            shape.attributes[url_key] = ""
        if len(server) <= LONGEST:
            keep(self._shapes, key, shape)
        return shape

    def attributes(self, shape: CallShape, url: str, captured: dict[str, Any] | None = None) -> dict[str, Any]:
        """The attributes of a span at its start.

        Args:
            shape: Its shape.
            url: Its URL, redacted where that is stock's way.
            captured: Those of captured headers.
        """
        if captured and shape.before == len(shape.attributes):
            made = {**shape.attributes, **captured}
        elif captured:
            items = tuple(shape.attributes.items())
            made = {**dict(items[: shape.before]), **captured, **dict(items[shape.before :])}
        else:
            made = shape.attributes.copy()
        for key in self._url_keys:
            made[key] = url
        return made


class ClientCall:
    """A prepared call; its span begins with `try_enter`, in one `try` with `leave`.

    Attributes:
        args: The positional arguments of the library's function.
        kwargs: The others.
        shape: What it has in common with others.
        attributes: The attributes of the span at its start.
        headers: Those that are sent, for the propagators.
        body: What is sent, where its size is measured.
        hooked: What stock's request hook gets after the span; its response hook gets the first of it, and the response.
        answer: What follows from the response, once there is one.
        span: The span.
    """

    __slots__ = (
        *("_manager", "_scope", "_token", "answer", "args", "attributes", "body", "headers", "hooked", "kwargs"),
        *("shape", "span"),
    )
    _manager: Any
    _scope: Any
    _token: Any
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    shape: CallShape
    attributes: dict[str, Any]
    headers: Any
    body: Any
    hooked: tuple[Any, ...]
    answer: ResponsePlan | None
    span: Any

    def try_enter(self, tracer: Any) -> bool:
        """Start the span and make it the current one; False after a fault of ours: there is none."""
        try:
            self._scope = tracer.start_as_current_span(self.shape.name, None, _CLIENT, self.attributes)
            self.span = self._scope.__enter__()
        except Exception as error:
            faults.absorb_any(_PLACE, error)
            return False
        return True

    def connect(self, has_hooks: bool) -> None:
        """Let a connection that stock's hooks open tell the span its address."""
        if has_hooks or is_connecting():
            self._manager = connecting(self.span)

    def suppress(self) -> None:
        """Suppress further spans of HTTP, and let the next connection tell this span its address."""
        self._token = suppress(None if self._manager is not None else self.span)

    def resume(self) -> None:
        """Undo `suppress`."""
        resume(self._token)

    def leave(self, error: BaseException | None) -> None:
        """Restore the context and end the span, of a call that raised this: what was not done yet."""
        try:
            end_connecting(self._manager)
            self._manager = None
        finally:
            exit_scope(self._scope, error)


def redact(url: str) -> str:
    """As stock's `redact_url`."""
    return redact_url(url) if needs_redaction(url) else url


def propagated() -> dict[str, str] | None:
    """The headers that the propagators write; None if others than the default ones are configured, or have work."""
    propagator = w3c_writer()
    if propagator is None:
        return None
    context = current()
    if context.get(_BAGGAGE_KEY):
        return None
    header = traceparent(span_in(context))
    if header is not None:
        return {"traceparent": header}
    made: dict[str, str] = {}
    if context:
        propagator.inject(made)
    return made


def propagate(headers: Any) -> None:
    """Add the headers of the propagators to these."""
    try:
        fields = propagated()
        if fields is None:
            inject(headers)
        else:
            for name, value in fields.items():
                headers[name] = value
    except Exception as error:
        faults.absorb_any(_PLACE, error)


def suppress(span: Any) -> Any:
    """Suppress HTTP instrumentation, and let the next connection tell this span its address.

    Returns:
        The token for `resume`; None after an error.
    """
    try:
        context = with_value(Context, current(), _SUPPRESS_HTTP_INSTRUMENTATION_KEY, True)  # noqa: FBT003  # a value
        if span is not None:
            context = with_value(Context, context, _STATE_KEY, {"need_ip": [span]})
        token = attach_context(context)
        if token is not None:
            return token
    except Exception as error:
        faults.absorb_any(_PLACE, error)
    # Otherwise, a library below this one would make a span for the same call.
    return call_guarded(_PLACE, _suppress_as_stock)


def _suppress_as_stock() -> Any:
    return (context_api.attach(context_api.set_value(_SUPPRESS_HTTP_INSTRUMENTATION_KEY, value=True)),)


def resume(token: Any) -> None:
    """Undo `suppress`."""
    if token is not None:
        restore(token)


def is_connecting() -> bool:
    """Whether a span around this call is to be told the address of the next connection."""
    try:
        return bool(current().get(_STATE_KEY))
    except Exception as error:
        faults.absorb_any(_PLACE, error)
        return False


def connecting(span: Any) -> Any:
    """Let the next connection tell this span its address, while stock's hooks run.

    Returns:
        What `end_connecting` undoes; None after an error.
    """
    manager = None
    try:
        manager = set_ip_on_next_http_connection(span)
        manager.__enter__()
        return manager  # noqa: TRY300  # an exception may still arrive here
    except BaseException as error:
        # Otherwise, the garbage collector would leave it, when another context is current.
        call_guarded(_PLACE, _abandon, manager)
        faults.absorb_any(_PLACE, error)
        return None


def end_connecting(manager: Any) -> None:
    """Undo `connecting`, unless that was done."""
    if manager is not None:
        call_guarded(_PLACE, manager.__exit__, None, None, None)


def _abandon(manager: Any) -> None:
    if manager is not None:
        manager.gen.close()


def has_no_sdk(tracer: Any) -> bool:
    """Whether there is no tracer provider and no meter provider, and no span that would hide the current one.

    The tracer's spans then record nothing, and have the span context that is current already.
    """
    if type(tracer) is not ProxyTracer or _trace_globals["_TRACER_PROVIDER"] is not None:
        return False
    if tracer._real_tracer is not None or _metrics_globals["_METER_PROVIDER"] is not None:
        return False
    span = span_in(None)
    return span is None or type(span) is NonRecordingSpan
