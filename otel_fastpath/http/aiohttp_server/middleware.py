"""The middleware function for aiohttp.web, in the place of stock's."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from aiohttp import web
from opentelemetry.instrumentation import aiohttp_server as stock

from otel_fastpath.compiled import hot
from otel_fastpath.http.conventions import is_suppressed
from otel_fastpath.http.exclusions import excludes
from otel_fastpath.http.stock_functions import STOCK
from otel_fastpath.patching.outcome import call_guarded

if TYPE_CHECKING:
    from collections.abc import Callable

_PLACE: Final = "the aiohttp.web middleware"


class _AiohttpServerInstrumentation:
    """The `Requests` of what the instrumentation has set up now."""

    def __init__(self) -> None:
        self._core = hot.http_aiohttp_server_requests
        self._series = hot.http_servers_server_metrics.ApplicationMetrics
        self._requests: Any = None

    def make_request(self, urls: Any, request: Any) -> Any:
        """The `Request`, not begun yet; None: it is excluded, or after an error."""
        # A client can make stock's functions raise with a Host header: the request is served all the same.
        return call_guarded(_PLACE, self._make_request, urls, request)

    def _make_request(self, urls: Any, request: Any) -> Any:
        if excludes(urls) and urls.url_disabled(request.url.path):
            return None
        return self.requests().make_request(request)

    def requests(self) -> Any:
        """The requests, of the instruments that the instrumentation has now."""
        active, mode = stock.active_requests_counter, stock._sem_conv_opt_in_mode
        old, new = stock.duration_histogram_old, stock.duration_histogram_new
        requests = self._requests
        if requests is None or not requests.series.is_of(active, old, new, mode):
            requests = self._requests = self._core.Requests(self._series(active, old, new, mode), mode)
        return requests


def make_factory() -> Callable[..., Any]:
    """Make the function that makes the middleware functions, with the chosen core."""
    set_up = _AiohttpServerInstrumentation()
    functions = hot.http_conventions.StockFunctions(STOCK["aiohttp_server.request"])

    def make(twin: Any, *, _tracer: Any) -> Any:
        async def middleware(request: Any, handler: Any) -> Any:
            urls = stock._excluded_urls
            if _tracer is None or urls is None or not call_guarded(_PLACE, functions.hold):
                # The instrumentation was not set up, or other code has replaced a function in whose place this stands.
                return await twin(request, handler)
            begun = None if is_suppressed() else set_up.make_request(urls, request)
            if begun is None:
                return await handler(request)
            try:
                begun.start(_tracer, request)
                response = await handler(request)
                # If it is no response, this raises, as with stock.
                begun.answer(response, response.status)
                begun.end(None)
            except web.HTTPException as error:
                begun.fail(error, error.status_code)
                raise
            except Exception as error:
                begun.fail(error, -1)
                raise
            finally:
                begun.end(None)
            return response

        return middleware

    return make
