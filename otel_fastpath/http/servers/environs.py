"""The attributes of requests in WSGI's form, an environ. What many requests have in common is made once.

The attributes that follow from the method, the scheme, the protocol, the server, the Host header and the user agent are
made by stock's own `collect_request_attributes`, and kept. The target, the URL and the client are put in for each
request, in the places that stock gave them.

Plain Python; compiled as `environs_c`.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any
from wsgiref.util import request_uri

from opentelemetry.semconv._incubating.attributes.http_attributes import HTTP_TARGET, HTTP_URL
from opentelemetry.semconv._incubating.attributes.net_attributes import NET_PEER_IP, NET_PEER_PORT
from opentelemetry.semconv.attributes.client_attributes import CLIENT_ADDRESS, CLIENT_PORT
from opentelemetry.semconv.attributes.url_attributes import URL_PATH, URL_QUERY
from opentelemetry.util.http import _parse_url_query, redact_query_parameters, redact_url

from otel_fastpath.compiled.helpers import get_item
from otel_fastpath.http.bounded import LONGEST
from otel_fastpath.http.conventions import METHODS, StockFunctions
from otel_fastpath.http.redaction import needs_redaction
from otel_fastpath.http.server import collect_attributes
from otel_fastpath.http.servers.server_metrics import ApplicationMetrics
from otel_fastpath.patching.cache import keep

if TYPE_CHECKING:
    from otel_fastpath.http.servers.server_metrics import RequestLabels
    from otel_fastpath.patching.stock import Stock

# A path that `request_uri` does not have to quote.
_is_plain = re.compile(r"[A-Za-z0-9_.~/;=,-]*").fullmatch


class EnvironShape:
    """What requests have in common.

    Attributes:
        method: The method in the names of spans; empty: it is unknown.
        labels: The labels of the metrics.
        template: The attributes, with values of another request for what each has of its own, such as the target.
        prefix: The beginning of the URL, up to the slash of the path.
        has_target: Whether the server gives the target; otherwise, the URL is put together.
    """

    __slots__ = ("has_target", "labels", "method", "prefix", "template")

    def __init__(
        self, method: str, labels: RequestLabels | None, template: dict[str, Any], prefix: str, has_target: bool
    ) -> None:
        self.has_target = has_target
        self.method = method
        self.labels: Any = labels
        self.template = template
        self.prefix = prefix


class EnvironShapes(ApplicationMetrics):
    """The shapes of the requests of one application.

    Args:
        module: The module that calls stock's `collect_request_attributes`.
        collect: Its name there.
        stock: What that function rests on.
        instruments: Those of the application, see `ApplicationMetrics`; the first is None: requests have no labels.
    """

    __slots__ = ("_collect", "_kept", "_module", "_split", "_stock")

    def __init__(self, module: Any, collect: str, stock: Stock, *instruments: Any) -> None:
        ApplicationMetrics.__init__(self, *instruments)
        self._module, self._collect, self._stock = module, collect, StockFunctions(stock, is_measured=False)
        self._split: Any = None
        self._kept: dict[Any, EnvironShape] = {}

    def find(self, environ: dict[str, Any]) -> EnvironShape | None:
        """The shape of this request; None: stock must make its attributes."""
        if not self._stock.hold():
            # It may put anything there, such as who asks.
            return None
        target = environ.get("RAW_URI")
        if target is None:
            target = environ.get("REQUEST_URI")
        key = (
            environ.get("REQUEST_METHOD"),
            environ.get("wsgi.url_scheme"),
            environ.get("SERVER_PROTOCOL"),
            environ.get("SERVER_NAME"),
            environ.get("SERVER_PORT"),
            environ.get("HTTP_HOST"),
            environ.get("HTTP_USER_AGENT"),
            not target,
            not environ.get("REMOTE_ADDR"),
            not environ.get("REMOTE_PORT"),
        )
        return get_item(self._kept, key) or self._new_shape(key, environ)

    def labels_of(self, environ: dict[str, Any]) -> Any:
        """The labels of this request's metrics."""
        shape = self.find(environ)
        return self.labels(self._collected(environ)) if shape is None else shape.labels

    def _collected(self, environ: dict[str, Any]) -> dict[str, Any]:
        """What stock's function collects."""
        collect = getattr(self._module, self._collect)
        try:
            return collect_attributes(collect, environ, self.mode)
        except UnicodeEncodeError:
            return collect_attributes(collect, _undecoded(environ), self.mode)

    def look(self, environ: dict[str, Any]) -> tuple[EnvironShape, dict[str, Any]]:
        """The shape of this request, and all its attributes, which the caller may change."""
        address, port, name = environ.get("REMOTE_ADDR"), environ.get("REMOTE_PORT"), environ.get("REMOTE_HOST")
        shape = None if name and name != address else self.find(environ)
        if shape is None:
            return self._uncommon(environ)
        attributes = shape.template.copy()
        if port and not self._put_port(attributes, port):
            return self._uncommon(environ)
        if shape.has_target:
            self._put_target(attributes, environ)
        elif self.has_old:
            attributes[HTTP_URL] = _url(shape, environ)
        if address:
            if self.has_old:
                attributes[NET_PEER_IP] = address
            if self.has_new:
                attributes[CLIENT_ADDRESS] = address
        return shape, attributes

    def _put_port(self, attributes: dict[str, Any], port: Any) -> bool:
        try:
            number = int(port)
        except (TypeError, ValueError):
            return False
        if self.has_old:
            attributes[NET_PEER_PORT] = number
        if self.has_new:
            attributes[CLIENT_PORT] = number
        return True

    def _put_target(self, attributes: dict[str, Any], environ: dict[str, Any]) -> None:
        target = environ.get("RAW_URI")
        if target is None:
            target = environ["REQUEST_URI"]
        if self.has_old:
            attributes[HTTP_TARGET] = target
        if self.has_new:
            if self._split is None:
                path, query = environ.get("PATH_INFO"), environ.get("QUERY_STRING")
            else:
                path, query = self._split(target)
            _put(attributes, URL_PATH, path)
            _put(attributes, URL_QUERY, query)
            _redact(attributes)

    def _uncommon(self, environ: dict[str, Any]) -> tuple[EnvironShape, dict[str, Any]]:
        attributes = self._collected(environ)
        if self.has_new:
            _redact(attributes)
        return EnvironShape("", self.labels(attributes), {}, "", has_target=False), attributes

    def _new_shape(self, key: tuple[Any, ...], environ: dict[str, Any]) -> EnvironShape | None:
        """The shape of this key; None: stock must make the attributes of each such request."""
        texts = [value for value in key[:-3] if value is not None]
        # Of other methods, an environment variable decides.
        if key[0] not in METHODS or set(map(type, texts)) != {str}:
            return None
        lengths = sum(map(len, texts))
        if lengths > LONGEST:
            return None
        no_target, no_address, no_port = key[-3:]
        example = dict(environ)
        example.update({"SCRIPT_NAME": "", "PATH_INFO": "/", "QUERY_STRING": "", "REMOTE_HOST": ""})
        example.update({"REMOTE_ADDR": "" if no_address else "address", "REMOTE_PORT": "" if no_port else "1"})
        prefix = request_uri(example) if no_target and self.has_old else ""
        if not no_target:
            example.update({"RAW_URI": "/?query", "QUERY_STRING": "query"})
        collect = getattr(self._module, self._collect)
        # Until 0.62b1, path and query were those of the target.
        self._split = _parse_url_query if "_parse_url_query" in collect.__code__.co_names else None
        template = collect_attributes(collect, example, self.mode)
        shape = EnvironShape(key[0], self.labels(template), template, prefix, not no_target)
        keep(self._kept, key, shape)
        return shape


def name_span(method: str, environ: dict[str, Any]) -> str:
    """The name of the span of a request with a known method, after its path."""
    path = environ.get("PATH_INFO", "").strip()
    return f"{method} {path}" if path else method


def _put(attributes: dict[str, Any], name: str, value: Any) -> None:
    if value:
        attributes[name] = value
    else:
        del attributes[name]


def _redact(attributes: dict[str, Any]) -> None:
    """Redact the values in `url.query` that stock redacts in `http.url`, but not there."""
    query = attributes.get(URL_QUERY)
    if query and needs_redaction(url := f"/?{query}"):
        attributes[URL_QUERY] = redact_query_parameters(url)[2:]


def _undecoded(environ: dict[str, Any]) -> dict[str, Any]:
    """The environ with the path as WSGI has it: Django puts the decoded one in its place, which may not be Latin-1."""
    made = environ.copy()
    for name in ("SCRIPT_NAME", "PATH_INFO"):
        made[name] = environ.get(name, "").encode("utf-8", "replace").decode("latin-1")
    return made


def _url(shape: EnvironShape, environ: dict[str, Any]) -> str:
    """`redact_url(request_uri(environ))`."""
    path = environ.get("PATH_INFO", "")
    if environ.get("SCRIPT_NAME") or not _is_plain(path):
        try:
            url = request_uri(environ)
        except UnicodeEncodeError:
            url = request_uri(_undecoded(environ))
    else:
        url = shape.prefix + path[1:]
        query = environ.get("QUERY_STRING")
        if query:
            url = f"{url}?{query}"
    return redact_url(url) if needs_redaction(url) else url
