"""Stock's middleware for ASGI, per request: what is kept for the middleware, and the way of a request.

Compiled as `serving_c`.
"""

from __future__ import annotations

import functools
import sys
from types import FunctionType
from typing import TYPE_CHECKING, Any, Final

from opentelemetry import trace
from opentelemetry.context import Context
from opentelemetry.instrumentation import asgi as _asgi
from opentelemetry.instrumentation import propagators as _propagators
from opentelemetry.metrics import _internal as _metrics_api
from opentelemetry.trace import INVALID_SPAN, ProxyTracer
from opentelemetry.util.http import detect_synthetic_user_agent

from otel_fastpath.compiled.helpers import get_item
from otel_fastpath.http.asgi.headers import HOST, USER_AGENT, first_host, read, remote_context
from otel_fastpath.http.asgi.requests import PLACE, AsgiRequest
from otel_fastpath.http.asgi.shapes import Description, ScopeShape
from otel_fastpath.http.conventions import StockFunctions, is_suppressed
from otel_fastpath.http.exclusions import is_of_stock
from otel_fastpath.http.scopes import detach_token
from otel_fastpath.http.server import LEFT_TO_STOCK, WITHOUT, RequestChooser
from otel_fastpath.http.servers.malformed import is_malformed_scope
from otel_fastpath.http.servers.server_metrics import ApplicationMetrics, keep_plan, plan_of
from otel_fastpath.http.stock_functions import COLLECTING, STOCK
from otel_fastpath.http.stock_sources import sources
from otel_fastpath.patching import faults
from otel_fastpath.patching.cache import keep
from otel_fastpath.patching.sources.guard import are_known
from otel_fastpath.patching.stock import inherits
from otel_fastpath.trace.context.current_context import attach_context, current, span_in

if TYPE_CHECKING:
    from collections.abc import Callable

asgi: Any = _asgi
_asgi_globals = vars(_asgi)
_propagators_globals = vars(_propagators)
# The memory of one middleware is bounded: so many kinds of requests and user agents, with texts no longer than this.
_MOST: Final = 128
_LONGEST: Final = 256
# The attributes of metrics that follow from the kind of a request, unless an own `default_span_details` sets them.
_OF_METRICS: Final = frozenset(asgi._server_duration_attrs_old + asgi._server_duration_attrs_new) - {"http.route"}
_trace_globals = vars(trace)
_metrics_globals = vars(_metrics_api)
# What names a span after the route of the request and does nothing else. New metrics have the route as an attribute.
_ROUTES: Final = frozenset(
    f"opentelemetry.instrumentation.{each}:_get_default_span_details" for each in ("fastapi", "starlette")
)
_SANITIZE: Final = "opentelemetry.util.http:sanitize_method"
# What a request rests on, and what the attributes rest on that are made once for each kind of request.
_stock_functions = StockFunctions(STOCK["asgi.request"])
_collecting = StockFunctions(COLLECTING["asgi"], is_measured=False)
# 0.61b0 does not ask whether HTTP instrumentation is suppressed.
_ASKS: Final = "is_http_instrumentation_enabled" in _asgi_globals
_OVERRIDABLE: Final = ("_get_otel_receive", "_get_otel_send", "_set_send_span", "_set_server_span")


class MiddlewarePlan(ApplicationMetrics):
    """What is kept for one middleware.

    Args:
        middleware: Stock's middleware.
        active: See `ApplicationMetrics`.
        old: Likewise.
        new: Likewise.
        mode: Likewise.

    Attributes:
        is_stock: Whether its methods are stock's.
    """

    __slots__ = ("_details", "_module", "_sanitize", "_shapes", "_synthetic", "is_stock")

    def __init__(self, middleware: Any, active: Any, old: Any, new: Any, mode: Any) -> None:
        request_sizes = middleware.server_request_size_histogram, middleware.server_request_body_size_histogram
        response_sizes = middleware.server_response_size_histogram, middleware.server_response_body_size_histogram
        ApplicationMetrics.__init__(self, active, old, new, mode, request_sizes, response_sizes)
        self._shapes: dict[Any, ScopeShape] = {}
        self._synthetic: dict[str, str | None] = {}
        self._details = middleware.default_span_details
        self._module: dict[str, Any] | None = _known_module(self._details)
        self._sanitize = None if self._module is None else self._module.get("sanitize_method")
        self.is_stock = inherits(type(middleware), asgi.OpenTelemetryMiddleware, _OVERRIDABLE)

    def shape(self, scope: Any, found: dict[str, list[str]], user_agent: str | None) -> ScopeShape | None:
        """The kind of a request; None if stock's own code is to serve it."""
        server = scope.get("server")
        address, port = scope.get("client") or (None, None)
        if (address is not None and type(address) is not str) or (port is not None and type(port) is not int):
            return None
        query = scope.get("query_string")
        if query and type(query) is not bytes:
            return None
        if not _collecting.hold():
            return self._shape_of_one(scope, user_agent)
        host = ",".join(found[HOST]) if HOST in found else None
        key = (
            scope.get("method"),
            scope.get("scheme"),
            scope.get("http_version"),
            tuple(server) if server else None,
            host,
            not scope.get("path"),
            not query,
            not address,
            not port,
            self._synthetic_type(user_agent) if user_agent else False,
        )
        shape = get_item(self._shapes, key)
        if shape is None:
            shape = ScopeShape(self, _decodable(scope, found), user_agent)
            if len(host or "") + len(scope.get("method") or "") <= _LONGEST:
                keep(self._shapes, key, shape, _MOST)
        return shape if shape.is_usable else None

    def _shape_of_one(self, scope: Any, user_agent: str | None) -> ScopeShape | None:
        """The kind of this request only; None if the function that collects the attributes raises an exception."""
        try:
            return ScopeShape(self, scope, user_agent, is_of_one=True)
        except Exception as error:
            faults.raise_interruption(error)
            # It is called again, and raises where stock lets it.
            return None

    def route_function(self, details: Any) -> Any:
        """What returns the route of a request, if these details name its span after it; else None."""
        module = self._module
        if module is None or details is not self._details:
            return None
        # Looked up at each request, as stock does: they may be patched.
        if get_item(module, "sanitize_method") is not self._sanitize:
            return None
        return module["_get_route_details"]

    def waits(self, details: Any, route_function: Any) -> bool:
        """Whether the name and attributes of a span may be made later, or not at all: no metric has any of them."""
        if route_function is not None:
            return not self.has_new
        return details is _asgi_globals["get_default_span_details"]

    def kept(self) -> int:
        """How many kinds of requests and user agents are kept."""
        return len(self._shapes) + len(self._synthetic)

    def _synthetic_type(self, user_agent: str) -> str | None:
        try:
            return self._synthetic[user_agent]
        except KeyError:
            found = detect_synthetic_user_agent(user_agent)
            if len(user_agent) <= _LONGEST:
                keep(self._synthetic, user_agent, found, _MOST)
            return found


def _known_module(details: Any) -> dict[str, Any] | None:
    """The module of this `default_span_details`, if it names a span after its route, with the code that is known."""
    if type(details) is not FunctionType or (place := f"{details.__module__}:{details.__qualname__}") not in _ROUTES:
        return None
    name = details.__module__
    module = vars(sys.modules[name])
    if module.get(details.__qualname__) is not details:
        return None
    expected = sources(place)
    if "sanitize_method" in module:
        expected[f"{name}:sanitize_method"] = sources(_SANITIZE)[_SANITIZE]
    return module if are_known(expected) else None


def _decodable(scope: dict[str, Any], found: dict[str, list[str]]) -> dict[str, Any]:
    """The request with headers and a query that stock's functions can decode."""
    decodable = [(name.encode(), value.encode("utf-8", "replace")) for name in found for value in found[name]]
    query = (scope.get("query_string") or b"").decode("utf-8", "replace").encode()
    return {**scope, "headers": decodable, "query_string": query}


def bind_call(original: Callable[..., Any]) -> Callable[..., Any]:
    """Make the method that serves a request, in place of the middleware's `__call__`."""

    @functools.wraps(original)
    async def __call__(self: Any, scope: Any, receive: Any, send: Any) -> Any:  # noqa: N807  # the name is in stack traces
        chosen = _requests.choose(self, scope)
        if type(chosen) is AsgiRequest:
            request: AsgiRequest = chosen
            try:
                chosen = request.try_start(PLACE)
                if chosen is request:
                    given_receive, given_send = request.announce(receive, send)
                    await self.app(scope, given_receive, given_send)
                    request.end(None)
                    return None
            except BaseException as error:
                request.end(error)
                raise
        if chosen is LEFT_TO_STOCK:
            return await original(self, scope, receive, send)
        if chosen is WITHOUT:
            return await self.app(scope, receive, send)
        token = None
        try:
            token = attach_context(chosen)
            await self.app(scope, receive, send)
        finally:
            detach_token(token)
        return None

    return __call__


class _AsgiRequests(RequestChooser):
    """Decides how each request is served."""

    __slots__ = ()

    def find(self, middleware: Any, scope: Any) -> Any:
        """An `AsgiRequest`, the context to serve it in without a span, or how to serve it without."""
        if type(scope) is not dict or not _stock_functions.hold():
            return LEFT_TO_STOCK
        if (_ASKS and is_suppressed()) or scope["type"] not in {"http", "websocket"}:
            return WITHOUT
        urls = middleware.excluded_urls
        # FastAPI's middleware has a list even if nothing is excluded.
        if urls and (not (is_stock := is_of_stock(urls)) or urls._excluded_urls):
            if not is_stock and not hasattr(urls, "url_disabled"):
                # Such as a list: stock's code raises the error.
                return LEFT_TO_STOCK
            url = _url(scope)
            if urls._regex.search(url) if is_stock else urls.url_disabled(url):
                return WITHOUT
        found = read(scope.get("headers") or ())
        if _is_idle(middleware):
            return _without_sdk(scope, found)
        return _request(middleware, scope, found)

    def is_malformed(self, request: Any) -> bool:
        """See `RequestChooser`."""
        return is_malformed_scope(request)


_requests = _AsgiRequests(PLACE)


def _request(middleware: Any, scope: dict[str, Any], found: dict[str, list[str]]) -> Any:
    """The request, not started yet; `LEFT_TO_STOCK` if stock's own code is to serve it."""
    active, mode = middleware.active_requests_counter, middleware._sem_conv_opt_in_mode
    old, new = middleware.duration_histogram_old, middleware.duration_histogram_new
    plan = plan_of(middleware, active, old, new, mode)
    if plan is None:
        plan = keep_plan(MiddlewarePlan(middleware, active, old, new, mode), middleware)
    agents = found.get(USER_AGENT)
    user_agent = agents[0] if agents else None
    shape = plan.shape(scope, found, user_agent) if plan.is_stock else None
    if shape is None:
        return LEFT_TO_STOCK
    details = middleware.default_span_details
    route_function = plan.route_function(details)
    about = Description.__new__(Description)
    about.prepare(middleware, scope, shape, user_agent, route_function)
    request = AsgiRequest.__new__(AsgiRequest)
    request.describe_as(middleware, scope, found, about, plan, shape)
    if request.has_hooks or not plan.waits(details, route_function):
        # A hook may change the request.
        about.make()
        if about.further and not _OF_METRICS.isdisjoint(about.further):
            return LEFT_TO_STOCK
    return request


def _is_idle(middleware: Any) -> bool:
    """Whether there is neither an SDK nor a hook, so that only the remote parent is handed on."""
    tracer = middleware.tracer
    return (
        _trace_globals["_TRACER_PROVIDER"] is None
        and _metrics_globals["_METER_PROVIDER"] is None
        and type(tracer) is ProxyTracer
        and tracer._real_tracer is None
        and getattr(middleware.active_requests_counter, "_real_instrument", middleware) is None
        and middleware.server_request_hook is None
        and middleware.client_request_hook is None
        and middleware.client_response_hook is None
        and not _propagators_globals["_RESPONSE_PROPAGATOR"]
    )


def _without_sdk(scope: dict[str, Any], found: dict[str, list[str]]) -> Any:
    """The context to serve a request in, without an SDK; `WITHOUT` for the current one."""
    parent = span_in(None)
    if parent is not None and parent is not INVALID_SPAN:
        return WITHOUT
    remote = remote_context(scope, found)
    if remote is None:
        return Context() if current() else WITHOUT
    return remote


def _url(scope: Any) -> str:
    """The URL that stock compares with the excluded ones."""
    host = first_host(scope.get("headers") or ())
    if host is None:
        url: str = asgi.get_host_port_url_tuple({**scope, "headers": []})[2]
        return url
    return f"{scope.get('scheme', 'http')}://{host}{scope.get('path', '')}"
