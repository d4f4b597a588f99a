"""What the hooks of all HTTP clients do: a call is prepared, made inside of its span, and measured.

A library's class says what is only its own: where the parts of a request and of a response are, and which of stock's
functions describe them. Plain Python; compiled as `client_c`.
"""

from __future__ import annotations

from timeit import default_timer
from typing import TYPE_CHECKING, Any
from urllib import parse

from opentelemetry.instrumentation import _semconv as semconv
from opentelemetry.semconv.attributes.error_attributes import ERROR_TYPE
from opentelemetry.semconv.attributes.network_attributes import NETWORK_PEER_ADDRESS, NETWORK_PEER_PORT
from opentelemetry.util.http import (
    get_custom_header_attributes,
    normalise_request_header_name,
    normalise_response_header_name,
)

from otel_fastpath.compiled.helpers import get_item
from otel_fastpath.http.clients import kinds
from otel_fastpath.http.clients.outgoing import (
    CallShape,
    CallShapes,
    ClientCall,
    ResponsePlan,
    propagate,
)
from otel_fastpath.http.conventions import StockFunctions, is_suppressed
from otel_fastpath.http.exclusions import search_of
from otel_fastpath.http.stock_functions import client_stock
from otel_fastpath.patching import faults
from otel_fastpath.patching.plans import Plan

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

BEGINNING = "the beginning of a call of an HTTP client"
_END = "the end of a call of an HTTP client"


class ClientInstrumentation(Plan):
    """One set-up of a client's stock instrumentation.

    Args:
        target: Its function that is patched.
        given: The options that stock's set-up keeps, by name.

    Attributes:
        response_class: The class of the responses that have a status.
        is_suppressing: Whether a library below may have spans of its own, and connections tell the span their address.
        shows_peer: Whether the server is also the peer of the network, and its scheme is in the old metrics.
    """

    __slots__ = (
        *("_stock", "captured_request", "captured_response", "excluded", "has_hooks", "is_new"),
        *("is_suppressing", "mode", "new", "old", "request_hook", "response_class", "response_hook", "sensitive"),
        *("shapes", "shows_peer", "tracer"),
    )

    def __init__(self, target: str, given: Mapping[str, Any], response_class: Any = object) -> None:
        self._stock = StockFunctions(client_stock(target))
        self.response_class = response_class
        self.is_suppressing = self.shows_peer = False
        self.tracer = given.get("tracer")
        self.old, self.new = given.get("duration_histogram_old"), given.get("duration_histogram_new")
        hooks = given["request_hook"], given["response_hook"]
        self.request_hook, self.response_hook = [hook if callable(hook) else None for hook in hooks]
        self.has_hooks = self.request_hook is not None or self.response_hook is not None
        self.captured_request = given.get("captured_request_headers")
        self.captured_response = given.get("captured_response_headers")
        self.sensitive = given.get("sensitive_headers")
        self.mode = given["sem_conv_opt_in_mode"]
        self.is_new = semconv._report_new(self.mode)
        # Where stock asks at each call, there is none.
        self.excluded = search_of(given["excluded_urls"]) if "excluded_urls" in given else None
        self.shapes = CallShapes(self.new_shape, kinds.url_keys(self.mode))

    def begin(self, subject: Any, args: tuple[Any, ...], kwargs: Any) -> Any:
        """Prepare a call.

        Returns:
            A `ClientCall`; None if the call has no span: it is suppressed, or its URL is excluded; `NotImplemented` if
            stock's own code has to run the call.
        """
        try:
            if not self._stock.hold():
                return NotImplemented
            return None if is_suppressed() else self.prepare(subject, args, kwargs)
        except Exception as error:
            faults.absorb_any(BEGINNING, error)
            # What is not ours, such as a sampler, would raise again in stock's code.
            return NotImplemented if faults.ours(error) else None

    def call(  # noqa: C901  # the begin, the call and the end stand in one `try`
        self, begun: ClientCall | None, wrapped: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any:
        """Make the host's call, inside its span if there is one.

        Args:
            begun: What `begin` returned.
            wrapped: The library's function.
            args: The host's arguments.
            kwargs: Likewise.
        """
        if begun is None:
            return wrapped(*args, **kwargs)
        try:
            if begun.try_enter(self.tracer):
                if self.is_suppressing:
                    begun.connect(self.has_hooks)
                if self.request_hook is not None:
                    self.request_hook(begun.span, *begun.hooked)
                self.propagate(begun)
                if self.is_suppressing:
                    begun.suppress()
                start = default_timer()
                try:
                    try:
                        response = wrapped(*begun.args, **begun.kwargs)
                    finally:
                        seconds = default_timer() - start
                        begun.resume()
                except Exception as error:
                    failed = self.response_of(error)
                    if failed is not None:
                        self.record_response(begun, failed)
                        if self.response_hook is not None and (shown := self.show(failed)) is not None:
                            self.response_hook(begun.span, begun.hooked[0], shown)
                    self.record_error(begun, error, seconds)
                    raise
                self.record_response(begun, response)
                if self.response_hook is not None and (shown := self.show(response)) is not None:
                    self.response_hook(begun.span, begun.hooked[0], shown)
                self.measure(begun, response, seconds)
                begun.leave(None)
                return response
        except BaseException as error:
            try:
                begun.leave(error)
            finally:
                # The first may have been interrupted at its beginning.
                begun.leave(error)
            raise
        return wrapped(*args, **kwargs)

    async def call_async(
        self, begun: ClientCall | None, wrapped: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any:
        """As `call`, of an asynchronous function with asynchronous hooks."""
        if begun is None:
            return await wrapped(*args, **kwargs)
        try:
            if begun.try_enter(self.tracer):
                if self.request_hook is not None:
                    await self.request_hook(begun.span, *begun.hooked)
                self.propagate(begun)
                start = default_timer()
                try:
                    response = await wrapped(*begun.args, **begun.kwargs)
                except Exception as error:
                    seconds = default_timer() - start
                    failed = self.response_of(error)
                    if failed is not None:
                        self.record_response(begun, failed)
                        if self.response_hook is not None and (shown := self.show(failed)) is not None:
                            await self.response_hook(begun.span, begun.hooked[0], shown)
                    self.record_error(begun, error, seconds)
                    raise
                seconds = default_timer() - start
                self.record_response(begun, response)
                if self.response_hook is not None and (shown := self.show(response)) is not None:
                    await self.response_hook(begun.span, begun.hooked[0], shown)
                self.measure(begun, response, seconds)
                begun.leave(None)
                return response
        except BaseException as error:
            try:
                begun.leave(error)
            finally:
                begun.leave(error)
            raise
        return await wrapped(*args, **kwargs)

    def record_response(self, begun: ClientCall, response: Any) -> None:
        """Set what the response says on the span, and keep its `ResponsePlan`."""
        try:
            shape, span, key = begun.shape, begun.span, self.key_of(response)
            answer = None if key is None else get_item(shape.answers, key)
            if answer is None:
                answer = self.new_answer(begun, response)
                if key is not None:
                    shape.keep(key, answer)
            if span.is_recording():
                # A copy: other code's method may add to what it is given, which many calls have.
                span.set_attributes({**self.attributes_of(answer, response)})
                if answer.error is not None:
                    span.set_status(answer.error)
            begun.answer = answer
        except Exception as error:
            faults.absorb_any(_END, error)

    def measure(self, begun: ClientCall, response: Any, seconds: float) -> None:  # noqa: ARG002  # others have its size
        """Record the duration of a call that got this response."""
        try:
            if begun.answer is not None:
                begun.answer.record(seconds)
        except Exception as error:
            faults.absorb_any(_END, error)

    def record_error(self, begun: ClientCall, error: Exception, seconds: float) -> None:
        """Set the type of an exception on the span, and record the duration, as the conventions have it."""
        try:
            metric = self.metric_of(begun)
            if self.is_new:
                name = type(error).__qualname__
                begun.span.set_attribute(ERROR_TYPE, name)
                metric = {**metric, ERROR_TYPE: name}
            if self.old is not None:
                self.old.record(max(round(seconds * 1000), 0), attributes=kinds.old_attributes(metric))
            if self.new is not None:
                self.new.record(seconds, attributes=kinds.new_attributes(metric))
        except Exception as fault:
            faults.absorb_any(_END, fault)

    def response_of(self, error: Exception) -> Any:
        """The response that an exception has, if it has one."""
        try:
            response = getattr(error, "response", None)
            return response if isinstance(response, self.response_class) else None
        except Exception as fault:
            faults.absorb_any(_END, fault)
            return None

    def show(self, response: Any) -> Any:
        """What stock's hook gets of a response; None: it is not called."""
        try:
            return self.info_of(response) if isinstance(response, self.response_class) else None
        except Exception as fault:
            faults.absorb_any(_END, fault)
            return None

    # A library's own, from here on: `prepare`, `describe` and `key_of` in each, and what differs.

    def prepare(self, subject: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """What `begin` returns, for a call that is not suppressed.

        Args:
            subject: What makes it: a session, a pool, a transport.
            args: The arguments of the library's function.
            kwargs: Likewise.
        """
        raise NotImplementedError

    def describe(self, response: Any, seen: kinds.Seen, metric: dict[str, Any]) -> None:
        """Put what stock puts on a span on `seen`, and what it adds to the attributes of metrics in `metric`."""
        raise NotImplementedError

    def key_of(self, response: Any) -> Any:
        """What the `ResponsePlan` of a response follows from; None: it is not kept."""
        raise NotImplementedError

    def info_of(self, response: Any) -> Any:
        """What stock's hook gets of a response with a status."""
        return response

    def propagate(self, begun: ClientCall) -> None:
        """Add the headers of the propagators."""
        propagate(begun.headers)

    def metric_of(self, begun: ClientCall) -> dict[str, Any]:
        """The attributes of the metrics of a call that failed."""
        return begun.shape.metric if begun.answer is None else begun.answer.metric

    def readable(self, headers: Any) -> Any:
        """Headers in a form that stock's function for captured ones reads."""
        return headers

    def attributes_of(self, answer: ResponsePlan, response: Any) -> dict[str, Any]:
        """The attributes that a response adds to the span."""
        captured = self.captured_of(response)
        return answer.attributes if captured is None else {**answer.attributes, **captured}

    def captured_of(self, response: Any) -> dict[str, Any] | None:
        """The attributes of captured headers of a response."""
        if not self.captured_response or not isinstance(response, self.response_class):
            return None
        headers, names = self.readable(response.headers), self.captured_response
        return get_custom_header_attributes(headers, names, self.sensitive, normalise_response_header_name)

    def captured_of_request(self, headers: Any) -> dict[str, Any] | None:
        """The attributes of captured headers of a request."""
        if not self.captured_request:
            return None
        names, normalise = self.captured_request, normalise_request_header_name
        return get_custom_header_attributes(self.readable(headers), names, self.sensitive, normalise)

    def new_call(self, shape: CallShape | None, args: tuple[Any, ...], kwargs: dict[str, Any]) -> ClientCall:
        """A call; what is only its own has to be set."""
        begun = ClientCall.__new__(ClientCall)
        begun.shape, begun.args, begun.kwargs = shape, args, kwargs  # type: ignore[assignment]  # set before it begins
        begun.answer = None
        begun._scope = begun._manager = begun._token = None
        return begun

    def new_answer(self, begun: ClientCall, response: Any) -> ResponsePlan:
        """Make the `ResponsePlan` of a response."""
        seen, metric = kinds.Seen(), begun.shape.metric.copy()
        if isinstance(response, self.response_class):
            self.describe(response, seen, metric)
        made: ResponsePlan = kinds.new_answer(ResponsePlan, seen, metric, self.old, self.new)
        return made

    def new_shape(self, method: str, url: str) -> CallShape:
        """Make the `CallShape` of a method and a URL."""
        mode = self.mode
        attributes: dict[str, Any] = {}
        metric: dict[str, Any] = {}
        semconv._set_http_method(attributes, method, method, mode)
        semconv._set_http_method(metric, method, method, mode)
        semconv._set_http_url(attributes, url, mode)
        before = len(attributes)
        try:
            parsed = parse.urlparse(url)
            if parsed.scheme and self.shows_peer and semconv._report_old(mode):
                semconv._set_http_scheme(metric, parsed.scheme, mode)
            if parsed.hostname:
                semconv._set_http_host_client(metric, parsed.hostname, mode)
                semconv._set_http_net_peer_name_client(metric, parsed.hostname, mode)
                if self.is_new:
                    semconv._set_http_host_client(attributes, parsed.hostname, mode)
                    self._show_peer(attributes, NETWORK_PEER_ADDRESS, parsed.hostname)
            if parsed.port:
                semconv._set_http_peer_port_client(metric, parsed.port, mode)
                if self.is_new:
                    semconv._set_http_peer_port_client(attributes, parsed.port, mode)
                    self._show_peer(attributes, NETWORK_PEER_PORT, parsed.port)
        except ValueError as error:
            faults.raise_interruption(error)
        return CallShape(method, attributes, before if self.shows_peer else len(attributes), metric)

    def _show_peer(self, attributes: dict[str, Any], name: str, value: Any) -> None:
        if self.shows_peer:
            attributes[name] = value
