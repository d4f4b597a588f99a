"""HTTP requests of OTLP exporters: `RequestsHTTPTransport.request` of `opentelemetry-exporter-http-transport`.

Stock prepares each request from scratch: it parses the URL, looks for a netrc file twice, and merges headers, cookies
and hooks, holding the GIL meanwhile. Here a request is prepared once, by its session, and sent again with another body
by the same session, so that nothing changes for adapters, hooks, cookies, retries, TLS, and patches of `Session.send`
or of an adapter. Proxies and certificates are taken from the environment, which is read again whenever it has changed.
"""

from __future__ import annotations

import functools
import itertools
import operator
import sys
import urllib.request
from types import FunctionType
from typing import TYPE_CHECKING, Any, Final, NamedTuple
from weakref import WeakKeyDictionary

from otel_fastpath.patching import faults
from otel_fastpath.patching.patch import Patch, SkipError
from otel_fastpath.settings import environment
from otel_fastpath.trace.stock_sources import sources

if TYPE_CHECKING:
    from collections.abc import Callable

    from otel_fastpath.settings import Config

_TARGET: Final = "opentelemetry.exporter.http.transport._requests:RequestsHTTPTransport.request"
# The functions and classes that prepare a request. If one of them is replaced, its replacement must always be called.
_OF_SESSION: Final = ("merge_environment_settings", "prepare_request", "request")
_OF_MODULE: Final = (
    "get_environ_proxies",
    "get_netrc_auth",
    "merge_cookies",
    "merge_hooks",
    "merge_setting",
    "PreparedRequest",
    "Request",
)
_OF_PREPARED: Final = (
    "copy",
    "prepare",
    "prepare_auth",
    "prepare_body",
    "prepare_content_length",
    "prepare_cookies",
    "prepare_headers",
    "prepare_hooks",
    "prepare_method",
    "prepare_url",
)
_SUCCESS: Final = range(200, 300)


def _own(used: Any) -> bool:
    """Whether a function or class is that of `requests` itself, and not a replacement."""
    if type(used) is type:
        return used.__module__ == "requests.models"
    module = sys.modules.get(getattr(used, "__module__", ""))
    return (
        type(used) is FunctionType
        and getattr(module, "__name__", "").startswith("requests.")
        and used.__code__.co_filename == getattr(module, "__file__", None)
    )


class _PreparedRequest(NamedTuple):
    """A prepared request, the arguments for sending it, and the inputs that both were made from."""

    prepared: Any
    settings: dict[str, Any]
    made_of: tuple[Any, ...]


class _PreparedRequests:
    """The prepared requests of all transports, each kept until one of its inputs changes."""

    def __init__(self) -> None:
        from requests import PreparedRequest, Request, Session, sessions  # noqa: PLC0415  # as stock does: when it sends

        self._request = Request
        self._session = Session
        self._kept: WeakKeyDictionary[Any, _PreparedRequest] = WeakKeyDictionary()
        places = ((_OF_SESSION, Session), (_OF_MODULE, sessions), (_OF_PREPARED, PreparedRequest))
        self._used = tuple(functools.partial(operator.itemgetter(*names), vars(owner)) for names, owner in places)
        self._netrc_auth = vars(sessions)["get_netrc_auth"]
        read = self._read()
        own = all(map(_own, read))
        # None: every request is left to stock, because a function was replaced before this patch, or because the
        # operating system configures proxies outside of the environment.
        self._as_read = read if own and urllib.request.getproxies is urllib.request.getproxies_environment else None

    def _read(self) -> tuple[Any, ...]:
        return tuple(itertools.chain.from_iterable([read() for read in self._used]))

    def _is_replaced(self) -> bool:
        # By identity: a proxy object compares equal to the object that it wraps.
        return self._as_read is None or not all(map(operator.is_, self._read(), self._as_read))

    def prepared(
        self, transport: Any, method: str, url: str, headers: Any, data: Any
    ) -> tuple[Any, dict[str, Any]] | None:
        """The request with this body, and the arguments for sending it; None if stock must prepare it."""
        session = transport._session
        if (
            type(session) is not self._session
            or type(data) is not bytes
            or not data
            or session.auth is not None
            or session.params
            or any(session.hooks.values())
            or len(session.cookies)
            or not vars(session).keys().isdisjoint(_OF_SESSION)
            or self._is_replaced()
            or (environ := environment()) is None
        ):
            return None
        of_session = (session.trust_env, dict(session.proxies), session.stream, session.verify, session.cert)
        made_of = (method, url, headers, environ, tuple(session.headers.items()), of_session)
        kept = self._kept.get(transport)
        if kept is None or kept.made_of != made_of:
            kept = self._keep(transport, made_of, data)
        if kept is None:
            return None
        prepared = kept.prepared.copy()
        prepared.prepare_body(data, None)
        # An adapter may change the request and add hooks to it, and copies of a request share the lists of hooks.
        prepared.hooks = {event: list(hooks) for event, hooks in prepared.hooks.items()}
        return prepared, {**kept.settings, "proxies": kept.settings["proxies"].copy()}

    def _keep(self, transport: Any, made_of: tuple[Any, ...], data: bytes) -> _PreparedRequest | None:
        method, url, headers, environ, *rest = made_of
        session = transport._session
        if session.trust_env and self._netrc_auth(url) is not None:
            return None
        prepared = session.prepare_request(self._request(method.upper(), url, headers=headers, data=data))
        # Do not keep the body alive.
        prepared.body = None
        settings = session.merge_environment_settings(prepared.url, {}, None, None, None)
        headers = None if headers is None else dict(headers)
        kept = self._kept[transport] = _PreparedRequest(
            prepared, settings, (method, url, headers, dict(environ), *rest)
        )
        return kept

    def forget(self, transport: Any) -> None:
        """Prepare the transport's next request anew."""
        self._kept.pop(transport, None)


def _make(original: Callable[..., Any], _settings: Config) -> Any:
    result = getattr(original, "__globals__", {}).get("RequestsHTTPResult")
    if result is None:
        raise SkipError(f"RequestsHTTPTransport.request is not stock's own, but {original!r}")
    requests = functools.cache(_PreparedRequests)

    @functools.wraps(original)
    def request(
        self: Any,
        method: str,
        url: str,
        *,
        headers: dict[str, str] | None = None,
        timeout: float | None = None,
        data: bytes | None = None,
    ) -> Any:
        try:
            ready = requests().prepared(self, method, url, headers, data)
        except Exception as error:
            faults.raise_interruption(error)
            # If the request is invalid, stock must raise the error.
            if faults.ours(error):
                faults.report("OTLP request", error)
            ready = None
        if ready is None:
            return original(self, method, url, headers=headers, timeout=timeout, data=data)
        prepared, settings = ready
        try:
            response = self._session.send(prepared, timeout=timeout, allow_redirects=False, **settings)
        except Exception as error:
            requests().forget(self)
            return result(error=error)
        if response.status_code not in _SUCCESS:
            requests().forget(self)
        return result(status_code=response.status_code, reason=response.reason, response=response)

    return request


PATCHES: Final = (
    Patch(
        name="otlp.http_request",
        target=_TARGET,
        why="Preparing a request costs a third of sending it, and looks for a netrc file; here it is done once.",
        make=_make,
        requires=("opentelemetry-exporter-http-transport>=0.66b0,<1", "requests>=2.31,<3"),
        sources=sources(_TARGET),
        budgets=("otlp, sending a batch over HTTP",),
    ),
)
