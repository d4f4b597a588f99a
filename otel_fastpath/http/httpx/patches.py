"""The per-call functions of `opentelemetry-instrumentation-httpx`."""

from __future__ import annotations

import functools
import sys
from typing import TYPE_CHECKING, Any, Final

from otel_fastpath.http import stock_sources
from otel_fastpath.http.stock import STOCK
from otel_fastpath.patching.diverting import Diversions
from otel_fastpath.patching.patch import Patch
from otel_fastpath.patching.sources.guard import are_known

if TYPE_CHECKING:
    from collections.abc import Callable

    from otel_fastpath.settings import Config

_MODULE: Final = "opentelemetry.instrumentation.httpx"
# Stock's set-up takes the functions out of the classes, and users add the transports: all of them are diverted.
_sync: Final = Diversions()
_async: Final = Diversions()


def _sources(wrapper: str) -> dict[str, frozenset[str]]:
    own = stock_sources.sources(
        f"{_MODULE}:HTTPXClientInstrumentor.{wrapper}",
        *stock_sources.SHARED,
    )
    return own | stock_sources.imported(_MODULE, "redact_url", "sanitize_method")


def _divert_transport(diversions: Diversions, name: str, method: str, make: Callable[[Any], Any]) -> None:
    """Divert the method of stock's transport, if its source is known; without httpx there is only httpx2's."""
    place = f"{_MODULE}:{name}.{method}"
    known = stock_sources.sources(place)[place]
    module = vars(sys.modules[_MODULE])
    for each in (f"_{name}Base", name):
        function = vars(module.get(each, object)).get(method)
        # What other code has wrapped, or put in its place, stays as it is.
        if function is not None and are_known({f"{_MODULE}:{each}.{method}": known}):
            diversions.divert(function, make)


def _make_sync(original: Any, _settings: Config) -> Any:
    from otel_fastpath.http.httpx import hooks  # noqa: PLC0415  # only where it is patched

    make = functools.partial(hooks.make_wrapper, diversions=_sync, method="handle_request")
    copy = _sync.divert(original.__func__, make)
    _divert_transport(_sync, "SyncOpenTelemetryTransport", "handle_request", hooks.make_transport)
    return staticmethod(make(copy or original.__func__))


def _make_async(original: Any, _settings: Config) -> Any:
    from otel_fastpath.http.httpx import hooks  # noqa: PLC0415  # only where it is patched

    make = functools.partial(hooks.make_async_wrapper, diversions=_async, method="handle_async_request")
    copy = _async.divert(original.__func__, make)
    _divert_transport(_async, "AsyncOpenTelemetryTransport", "handle_async_request", hooks.make_async_transport)
    return staticmethod(make(copy or original.__func__))


PATCHES: Final = (
    Patch(
        name="httpx.sync",
        target=f"{_MODULE}:HTTPXClientInstrumentor._handle_request_wrapper",
        why="A call parses its URL twice and normalizes its headers for a capture that is off; here the attributes are "
        "made once for each method and server.",
        make=_make_sync,
        requires=stock_sources.requires("httpx"),
        sources=_sources("_handle_request_wrapper"),
        stock=STOCK["httpx.sync"],
        diversions=_sync,
        budgets=("httpx",),
    ),
    Patch(
        name="httpx.async",
        target=f"{_MODULE}:HTTPXClientInstrumentor._handle_async_request_wrapper",
        why="As for a synchronous call.",
        make=_make_async,
        requires=stock_sources.requires("httpx"),
        sources=_sources("_handle_async_request_wrapper"),
        stock=STOCK["httpx.sync"],
        diversions=_async,
        budgets=("httpx, async",),
    ),
)
