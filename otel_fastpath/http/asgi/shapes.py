"""What requests of one kind have in common: made once by stock's own functions, then only filled in.

A kind is what follows from the method, scheme, protocol version, server and Host header of a request, and which further
values it has. What is left for each request is its path, query, user agent and client. Compiled as `shapes_c`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final
from urllib.parse import unquote

from opentelemetry.instrumentation import asgi as _asgi
from opentelemetry.util.http import redact_query_parameters, redact_url

from otel_fastpath.http.conventions import METHODS
from otel_fastpath.http.redaction import needs_redaction
from otel_fastpath.http.server import collect_attributes
from otel_fastpath.trace.planning.plan import LazyAttributes

if TYPE_CHECKING:
    from collections.abc import Mapping

    from otel_fastpath.http.servers.server_metrics import ApplicationMetrics

asgi: Any = _asgi
_asgi_globals = vars(_asgi)
# The path, the user agent, and the client's address and port, in the old conventions and the new ones.
_OLD: Final = ("http.target", "http.user_agent", "net.peer.ip", "net.peer.port")
_NEW: Final = ("url.path", "user_agent.original", "client.address", "client.port")
_OF_A_REQUEST: Final = ("http.url", "url.query", *_OLD, *_NEW)


class ScopeShape:
    """One kind of request.

    Args:
        metrics: Those of the middleware.
        scope: A request of this kind.
        user_agent: Its user agent.
        is_of_one: Whether it is of this request only: the function that collects attributes is not stock's own, and
            may put anything there.

    Attributes:
        labels: The attributes of its metrics, and the counter of its requests in progress.
        is_usable: Whether `attributes` returns what stock's `collect_request_attributes` does.
    """

    __slots__ = ("_has_new", "_has_old", "_is_of_one", "_prefix", "_template", "is_usable", "labels")

    def __init__(
        self, metrics: ApplicationMetrics, scope: Mapping[str, Any], user_agent: str | None, is_of_one: bool = False
    ) -> None:
        self._has_old, self._has_new = metrics.has_old, metrics.has_new
        self._template: dict[str, Any] = collect_attributes(asgi.collect_request_attributes, scope, metrics.mode)
        self.labels = metrics.labels(self._template)
        self._is_of_one = self.is_usable = is_of_one
        if is_of_one:
            self._prefix = ""
            return
        _, _, self._prefix = asgi.get_host_port_url_tuple({**scope, "path": ""})
        expected = list(self._template.items())
        filled = self.attributes(scope, user_agent, redacts=False)
        self.is_usable = list(filled.items()) == expected
        # Per-request values are blanked; only their order is kept, because a client could send megabytes.
        self._template.update({name: "" for name in _OF_A_REQUEST if name in self._template})

    def attributes(self, scope: Mapping[str, Any], user_agent: str | None, *, redacts: bool = True) -> dict[str, Any]:
        """The attributes of a request of this kind, in stock's order.

        Args:
            scope: The request.
            user_agent: The value of its header.
            redacts: Whether to redact `url.query`, which stock does not.
        """
        made = self._template.copy()
        if self._is_of_one:
            if type(query_seen := made.get("url.query")) is str:
                made["url.query"] = redact_query(query_seen)
            return made
        path: str = scope.get("path", "")
        raw: bytes = scope.get("query_string", b"")
        query = raw.decode("utf8", "replace") if raw else ""
        address, port = scope.get("client") or (None, None)
        if self._has_old:
            url = self._prefix + path
            if query:
                url += "?" + unquote(query)
            made["http.url"] = redact_url(url) if needs_redaction(url) else url
            fill(made, _OLD, path, user_agent, address, port)
        if self._has_new:
            if query:
                made["url.query"] = redact_query(query) if redacts else query
            fill(made, _NEW, path, user_agent, address, port)
        return made


class Description(LazyAttributes):
    """The name and the attributes of the span of a request.

    Attributes:
        further: The attributes among them that `default_span_details` of the middleware has returned.
    """

    __slots__ = ("_middleware", "_route_function", "_scope", "_shape", "_user_agent", "further")

    def prepare(
        self, middleware: Any, scope: dict[str, Any], shape: ScopeShape, user_agent: str | None, route_function: Any
    ) -> None:
        """Set what it is made from; for `route_function`, see `details`."""
        self.name = self.attributes = None
        self.further: dict[str, Any] | None = None
        self._middleware, self._scope, self._shape, self._user_agent = middleware, scope, shape, user_agent
        self._route_function = route_function

    def make(self) -> None:
        """See `LazyAttributes`."""
        if self.name is not None:
            return
        name, further = details(self._middleware, self._scope, self._route_function)
        attributes = self._shape.attributes(self._scope, self._user_agent)
        if further:
            attributes.update(further)
        self.name, self.attributes, self.further = name, attributes, further


def details(middleware: Any, scope: dict[str, Any], route_function: Any) -> tuple[str, dict[str, Any] | None]:
    """The name and further attributes of the span of a request.

    Args:
        middleware: Stock's middleware.
        scope: The request.
        route_function: Returns the route of a request, if the middleware names its spans after it; else None.
    """
    function = middleware.default_span_details
    method = scope.get("method")
    # Stock's functions name a span by these methods as they are; of a subclass of `str`, they make a plain one.
    if type(method) is str and method in METHODS:
        if route_function is not None:
            route = route_function(scope)
            # None in the place of stock's empty dict: there is nothing to add.
            return (f"{method} {route}", {"http.route": route}) if route else (method, None)
        if function is _asgi_globals["get_default_span_details"] and (path := scope.get("path", "").strip()):
            return f"{method} {path}", None
    found: tuple[str, dict[str, Any]] = function(scope)
    return found


def fill(
    attributes: dict[str, Any], keys: tuple[str, ...], path: str, user_agent: str | None, address: Any, port: Any
) -> None:
    """Set these values of a request, but for those that are missing or empty."""
    if path:
        attributes[keys[0]] = path
    if user_agent:
        attributes[keys[1]] = user_agent
    if address:
        attributes[keys[2]] = address
    if port:
        attributes[keys[3]] = port


def redact_query(query: str) -> str:
    """The query with the values of the parameters redacted that stock redacts in `http.url`."""
    url = f"/?{query}"
    return redact_query_parameters(url)[2:] if needs_redaction(url) else query
