"""One set-up of stock's for httpx or httpx2, and what is its own in each call. Compiled as `calls_c`."""

from __future__ import annotations

from importlib import import_module
from inspect import signature
from typing import TYPE_CHECKING, Any

from opentelemetry.instrumentation import httpx as stock
from opentelemetry.propagate import inject
from opentelemetry.util import http as util

from otel_fastpath.http.client import BEGINNING, ClientInstrumentation
from otel_fastpath.http.clients.outgoing import CallShape, ClientCall, ResponsePlan, has_no_sdk, propagated, redact
from otel_fastpath.patching import faults

if TYPE_CHECKING:
    from collections.abc import Callable

    from otel_fastpath.http.clients.kinds import Seen

# Asynchronous calls rest on the same functions.
_TARGET = "opentelemetry.instrumentation.httpx:HTTPXClientInstrumentor._handle_request_wrapper"
# A header that is captured to see where captured headers come.
_MARK = "otel-fastpath-mark"
# Releases before 0.65 support httpx only; their functions have no argument for the module.
TAKES_MODULE = "module" in signature(stock._extract_parameters).parameters
# The fields of a parsed URL, which `str` joins in a call of four properties.
_PARTS = ("scheme", "userinfo", "host", "port", "path", "query", "fragment")


class HttpxInstrumentation(ClientInstrumentation):
    """One set-up of stock's: a call of `instrument` or `instrument_client`, or a transport.

    Args:
        options: What stock's set-up passes to each call, by name.

    Attributes:
        options: Likewise.
    """

    __slots__ = ("_is_known", "_module", "_tail", "options")

    def __init__(self, options: dict[str, Any]) -> None:
        self.options = options
        self._module = module = options.get("module") or import_module("httpx")
        self._tail = (module,) if TAKES_MODULE else ()
        hooks = {name: options.get(name) or options.get(f"async_{name}") for name in ("request_hook", "response_hook")}
        super().__init__(_TARGET, {**options, **hooks}, module.Response)
        url = getattr(module.URL("http://a/"), "_uri_reference", None)
        # Whether the fields of URLs and headers are as they are read here.
        self._is_known = getattr(url, "_fields", None) == _PARTS and (
            getattr(module.Headers({"a": "b"}), "_list", None) == [(b"a", b"a", b"b")]
        )

    def prepare(self, subject: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:  # noqa: ARG002  # of the skeleton
        """See `ClientInstrumentation`."""
        if len(args) != 1 or kwargs or not isinstance(args[0], self._module.Request):
            return NotImplemented
        request = args[0]
        begun: ClientCall = self.new_call(None, args, kwargs)
        begun.headers = request.headers
        is_silent = not self.has_hooks and has_no_sdk(self.tracer)
        if not is_silent or self.excluded is not None:
            url, server = self._url_of(request.url)
            if self.excluded is not None and self.excluded(url):
                return None
        if is_silent:
            self.propagate(begun)
            return None
        shape = self.shapes.find(request.method, url, server)
        if shape is None:
            return NotImplemented
        begun.shape = shape
        begun.attributes = self.shapes.attributes(shape, redact(url), self.captured_of_request(begun.headers))
        if self.has_hooks:
            parts = self._module.URL(url), request.headers, request.stream, request.extensions
            begun.hooked = (stock.RequestInfo(request.method.encode(), *parts),)
        return begun

    def _url_of(self, url: Any) -> tuple[str, str | None]:
        """A URL as a text, and its beginning up to the path, if that is known."""
        if self._is_known:
            scheme, userinfo, host, port, path, query, fragment = url._uri_reference
            if host and ":" not in host and not userinfo and fragment is None:
                server = f"{scheme}://{host}" if port is None else f"{scheme}://{host}:{port}"
                return server + path if query is None else f"{server}{path}?{query}", server
        return str(url), None

    def propagate(self, begun: ClientCall) -> None:
        """Give the request new headers, with those of the propagators."""
        try:
            headers = self._module.Headers(begun.headers)
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
            begun.args[0].headers = headers
        except Exception as error:
            faults.absorb_any(BEGINNING, error)

    def key_of(self, response: Any) -> Any:
        """Status and version of a response."""
        if type(response) is not self.response_class or type(response.status_code) is not int:
            return None
        # A server can send any version, but it is short. What a transport sets may not be hashable.
        return response.status_code, response.extensions.get("http_version")

    def describe(self, response: Any, seen: Seen, metric: dict[str, Any]) -> None:
        """See `ClientInstrumentation`."""
        status, version = response.status_code, response.http_version
        to_metrics: Callable[..., None] = stock._apply_response_client_attributes_to_metrics
        to_metrics(seen, metric, status, version, self.mode)
        to_span: Callable[..., None] = stock._apply_response_client_attributes_to_span
        to_span(seen, status, version, self.mode, *self._tail)

    def info_of(self, response: Any) -> Any:
        """See `ClientInstrumentation`."""
        return stock.ResponseInfo(response.status_code, response.headers, response.stream, response.extensions)

    def metric_of(self, begun: ClientCall) -> dict[str, Any]:
        """Without the status of a response that an exception has."""
        return begun.shape.metric

    def readable(self, headers: Any) -> Any:
        """As stock does it."""
        normalize: Callable[..., Any] = stock._normalize_headers
        return normalize(headers, *self._tail)

    def attributes_of(self, answer: ResponsePlan, response: Any) -> dict[str, Any]:
        """Those of captured headers come first."""
        captured = self.captured_of(response)
        return answer.attributes if captured is None else {**captured, **answer.attributes}

    def new_shape(self, method: str, url: str) -> CallShape:
        """See `ClientInstrumentation`."""
        attributes: dict[str, Any] = {}
        metric: dict[str, Any] = {}
        function: Callable[..., None] = stock._apply_request_client_attributes_to_span
        function(attributes, metric, url, method, self.mode, *self._tail, {_MARK: "-"}, [_MARK], [])
        mark = util.normalise_request_header_name(_MARK)
        before = list(attributes).index(mark)
        del attributes[mark]
        return CallShape(stock._get_default_span_name(method), attributes, before, metric)
