"""One call of httpx or httpx2: before the request, and after the response. Compiled as `calls_c`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from opentelemetry.propagate import inject
from opentelemetry.trace import SpanKind

from otel_fastpath.compiled.facts import Facts
from otel_fastpath.compiled.helpers import get_item
from otel_fastpath.http.conventions import is_suppressed
from otel_fastpath.http.outgoing import has_no_sdk, propagated, redacted
from otel_fastpath.http.scopes import enter_scope, exit_scope, make_scope
from otel_fastpath.patching import faults
from otel_fastpath.patching.stock import UNKNOWN

if TYPE_CHECKING:
    from otel_fastpath.http.outgoing import CallShape, CallShapes, ResponsePlan
    from otel_fastpath.patching.stock import Stock

BEGINNING = "the beginning of a call of httpx"
_END = "the end of a call of httpx"
_CLIENT = SpanKind.CLIENT


class HttpxCall:
    """A prepared call.

    Attributes:
        request: The request.
        headers: Its headers before those of the propagators.
        shape: The `CallShape`; None if only the headers are needed: there is no SDK.
        name: The name of the span.
        attributes: The attributes of the span at its start.
        info: What stock's hooks get; None if there are none.
        scope: The scope of the span.
        span: The span.
    """

    __slots__ = ("attributes", "headers", "info", "name", "request", "scope", "shape", "span")
    attributes: dict[str, Any]
    headers: Any
    info: Any
    name: str
    request: Any
    scope: Any
    shape: CallShape
    span: Any


class HttpxCalls:
    """The calls of one set-up of stock's.

    Args:
        tracer: Starts the spans.
        shapes: The `CallShapes`.
        excluded: Searches a URL for what is excluded; None: nothing is.
        kinds: The classes Request, Response and Headers of the library.
        is_known: Whether the fields of URLs and headers are as they are read here.
        cold: Functions for what is rare: `new_answer(shape, response)`, `request_info(request, url)` or None if there
            are no hooks, `captured_request(headers)` and `captured_response(headers)` or None if none is captured.
        stock: The functions of stock's in whose place this stands.
    """

    __slots__ = (
        *("_captured_request", "_captured_response", "_excluded", "_facts", "_headers_class", "_is_known"),
        *("_new_answer", "_request_class", "_request_info", "_response_class", "_shapes", "_stock", "_tracer"),
    )

    def __init__(
        self,
        tracer: Any,
        shapes: CallShapes,
        excluded: Any,
        kinds: tuple[Any, Any, Any],
        is_known: bool,
        cold: tuple[Any, Any, Any, Any],
        stock: Stock,
    ) -> None:
        self._facts, self._stock = Facts(UNKNOWN), stock
        self._tracer = tracer
        self._shapes = shapes
        self._excluded = excluded
        self._request_class, self._response_class, self._headers_class = kinds
        self._is_known = is_known
        self._new_answer, self._request_info, self._captured_request, self._captured_response = cold

    def begin(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Prepare a call, for `enter` and `close` in one `try`.

        Returns:
            A `HttpxCall`; None if the call has no span: it is suppressed, its URL is excluded, or there is no SDK;
            `NotImplemented` if stock's own code has to run the call.
        """
        try:
            if not (self._facts.hold() or self._stock.holds_again(self._facts)):
                return NotImplemented
            if is_suppressed():
                return None
            if len(args) != 1 or kwargs or not isinstance(args[0], self._request_class):
                return NotImplemented
            begun = self._begin(args[0])
        except Exception as error:
            faults.absorb_any(BEGINNING, error)
            # What is not ours, such as a sampler, would raise again in stock's code.
            return NotImplemented if faults.ours(error) else None
        if type(begun) is not HttpxCall:
            return begun
        if begun.shape is None:
            self.propagate(begun)
            return None
        begun.scope = make_scope(self._tracer, begun.name, _CLIENT, begun.attributes)
        return None if begun.scope is None else begun

    def enter(self, begun: HttpxCall) -> bool:
        """Start the span and make it the current one; False after a fault of ours: there is no span."""
        begun.span = enter_scope(begun.scope)
        return begun.span is not None

    def _begin(self, request: Any) -> Any:
        begun = HttpxCall.__new__(HttpxCall)
        begun.request = request
        begun.headers = request.headers
        begun.shape = begun.info = None  # type: ignore[assignment]  # set below, if there is an SDK
        is_silent = self._request_info is None and has_no_sdk(self._tracer)
        if is_silent and self._excluded is None:
            return begun
        url = server = None
        if self._is_known:
            scheme, userinfo, host, port, path, query, fragment = request.url._uri_reference
            if host and ":" not in host and not userinfo and fragment is None:
                server = f"{scheme}://{host}" if port is None else f"{scheme}://{host}:{port}"
                url = server + path if query is None else f"{server}{path}?{query}"
        if url is None:
            url = str(request.url)
        if self._excluded is not None and self._excluded(url):
            return None
        if is_silent:
            return begun
        shape = self._shapes.find(request.method, url, server)
        if shape is None:
            return NotImplemented
        captured = None if self._captured_request is None else self._captured_request(begun.headers)
        begun.shape = shape
        begun.name = shape.name
        begun.attributes = self._shapes.attributes(shape, redacted(url), captured)
        if self._request_info is not None:
            begun.info = self._request_info(request, url)
        return begun

    def close(self, begun: HttpxCall, error: BaseException | None) -> None:
        """Restore the context and end the span, of a call that raised this."""
        exit_scope(begun.scope, error)

    def propagate(self, begun: HttpxCall) -> None:
        """Give the request new headers, with those of the propagators."""
        try:
            self._propagate(begun)
        except Exception as error:
            faults.absorb_any(BEGINNING, error)

    def _propagate(self, begun: HttpxCall) -> None:
        headers = self._headers_class(begun.headers)
        fields = propagated() if self._is_known else None
        if fields is None:
            inject(headers)
        elif fields:
            items = headers._list
            for name, value in fields.items():
                key = name.encode()
                for item in items:
                    if item[1] == key:
                        headers[name] = value
                        break
                else:
                    items.append((key, key, value.encode()))
        begun.request.headers = headers

    def record_response(self, begun: HttpxCall, response: Any) -> ResponsePlan | None:
        """Set what the response says on the span; return the `ResponsePlan` that records the duration."""
        try:
            shape, span = begun.shape, begun.span
            if type(response) is not self._response_class:
                answer: ResponsePlan = self._new_answer(shape, response)
            else:
                # A server can send any version, but it is short. What a transport sets may not be hashable.
                key = (response.status_code, response.extensions.get("http_version"))
                answer = get_item(shape.answers, key) if type(key[0]) is int else None  # type: ignore[assignment]  # made below
                if answer is None:
                    answer = self._new_answer(shape, response)
                    if type(key[0]) is int:
                        shape.keep(key, answer)
            if answer.attributes and span.is_recording():
                attributes = answer.attributes
                if self._captured_response is not None:
                    attributes = {**self._captured_response(response.headers), **attributes}
                span.set_attributes(attributes)
                if answer.error is not None:
                    span.set_status(answer.error)
        except Exception as error:
            faults.absorb_any(_END, error)
            return None
        return answer
