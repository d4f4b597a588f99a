"""What one set-up of stock's needs for each of its calls: the options, and the attributes that are made once."""

from __future__ import annotations

from importlib import import_module
from inspect import signature
from typing import TYPE_CHECKING, Any, Final

from opentelemetry.instrumentation import httpx as stock
from opentelemetry.instrumentation._semconv import _report_new
from opentelemetry.semconv.attributes.error_attributes import ERROR_TYPE
from opentelemetry.util.http import (
    get_custom_header_attributes,
    normalise_request_header_name,
    normalise_response_header_name,
)

from otel_fastpath.compiled import hot
from otel_fastpath.http import kinds
from otel_fastpath.http.exclusions import search_of
from otel_fastpath.http.stock import STOCK
from otel_fastpath.patching import faults

if TYPE_CHECKING:
    from collections.abc import Callable

    from typing_extensions import Self

_END: Final = "the end of a call of httpx"
# A header that is captured to see where captured headers come.
_MARK: Final = "otel-fastpath-mark"
# Releases before 0.65 support httpx only; their functions have no argument for the module.
TAKES_MODULE: Final = "module" in signature(stock._extract_parameters).parameters
# The fields of a parsed URL, which `str` joins in a call of four properties.
_PARTS: Final = ("scheme", "userinfo", "host", "port", "path", "query", "fragment")


class HttpxInstrumentation:
    """One set-up of stock's: a call of `instrument` or `instrument_client`, or a transport.

    Args:
        options: What stock's set-up passes to each call, by name.

    Attributes:
        options: Likewise.
        calls: Its `Calls`.
        tracer: Starts the spans.
        request_hook: The hook, if it can be called.
        response_hook: Likewise.
        response_class: httpx's or httpx2's.

    Raises:
        TypeError: The excluded URLs are not in stock's own class.
    """

    def __init__(self, options: dict[str, Any]) -> None:
        self.options = options
        self.tracer = options["tracer"]
        self._old, self._new = options["duration_histogram_old"], options["duration_histogram_new"]
        hooks = (options.get(name) or options.get(f"async_{name}") for name in ("request_hook", "response_hook"))
        self.request_hook, self.response_hook = (hook if callable(hook) else None for hook in hooks)
        self._mode = options["sem_conv_opt_in_mode"]
        self._is_new = _report_new(self._mode)
        self._module = module = options.get("module") or import_module("httpx")
        self._tail = (module,) if TAKES_MODULE else ()
        self.response_class: type = module.Response
        self._hot = hot.http_outgoing
        self.calls = self._new_calls()

    def __deepcopy__(self, _memo: Any) -> Self:
        """Itself: it has modules, which cannot be copied. A copied transport with other options makes its own."""
        return self

    def _new_calls(self) -> Any:
        options, module = self.options, self._module
        has_hooks = self.request_hook is not None or self.response_hook is not None
        cold = (
            self._answer,
            self._request_info if has_hooks else None,
            self._captured_request if options.get("captured_request_headers") else None,
            self._captured_response if options.get("captured_response_headers") else None,
        )
        url = getattr(module.URL("http://a/"), "_uri_reference", None)
        are_known = getattr(url, "_fields", None) == _PARTS
        return hot.http_httpx_calls.HttpxCalls(
            self.tracer,
            self._hot.CallShapes(self._new_shape, kinds.url_keys(self._mode)),
            search_of(options["excluded_urls"]),
            (module.Request, module.Response, module.Headers),
            are_known and getattr(module.Headers({"a": "b"}), "_list", None) == [(b"a", b"a", b"b")],
            cold,
            STOCK["httpx.sync"],
        )

    def record_error(self, begun: Any, error: Exception, seconds: float) -> None:
        """Set the type of an exception on the span, and record the duration, as the conventions have it.

        Stock only sets the attribute.

        Args:
            begun: The call.
            error: The exception.
            seconds: The duration of the call.
        """
        try:
            kind = type(error).__qualname__
            if self._is_new and begun.span.is_recording():
                begun.span.set_attribute(ERROR_TYPE, kind)
            metric = {**begun.shape.metric, ERROR_TYPE: kind}
            kinds.new_answer(self._hot.ResponsePlan, kinds.Seen(), metric, self._old, self._new).record(seconds)
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

    def response_info(self, response: Any) -> Any:
        """What the response hook gets; None: there is nothing to call it with."""
        try:
            if isinstance(response, self.response_class):
                found: Any = response
                return stock.ResponseInfo(found.status_code, found.headers, found.stream, found.extensions)
        except Exception as fault:
            faults.absorb_any(_END, fault)
        return None

    def _new_shape(self, method: str, url: str) -> Any:
        attributes: dict[str, Any] = {}
        metric: dict[str, Any] = {}
        function: Callable[..., None] = stock._apply_request_client_attributes_to_span
        function(attributes, metric, url, method, self._mode, *self._tail, {_MARK: "-"}, [_MARK], [])
        mark = normalise_request_header_name(_MARK)
        before = list(attributes).index(mark)
        del attributes[mark]
        return self._hot.CallShape(stock._get_default_span_name(method), attributes, before, metric)

    def _answer(self, shape: Any, response: Any) -> Any:
        """The `Answer` for this response."""
        seen, metric = kinds.Seen(), shape.metric.copy()
        if isinstance(response, self.response_class):
            status, version = response.status_code, response.http_version  # type: ignore[attr-defined]  # it has
            to_metrics: Callable[..., None] = stock._apply_response_client_attributes_to_metrics
            to_metrics(seen, metric, status, version, self._mode)
            to_span: Callable[..., None] = stock._apply_response_client_attributes_to_span
            to_span(seen, status, version, self._mode, *self._tail)
        return kinds.new_answer(self._hot.ResponsePlan, seen, metric, self._old, self._new)

    def _captured_request(self, headers: Any) -> dict[str, Any]:
        return self._captured(headers, "captured_request_headers", normalise_request_header_name)

    def _captured_response(self, headers: Any) -> dict[str, Any]:
        return self._captured(headers, "captured_response_headers", normalise_response_header_name)

    def _captured(self, headers: Any, names: str, normalise: Callable[[str], str]) -> dict[str, Any]:
        normalize: Callable[..., Any] = stock._normalize_headers
        sensitive = self.options.get("sensitive_headers")
        return get_custom_header_attributes(normalize(headers, *self._tail), self.options[names], sensitive, normalise)

    def _request_info(self, request: Any, url: str) -> Any:
        made = self._module.URL(url)
        return stock.RequestInfo(request.method.encode(), made, request.headers, request.stream, request.extensions)
