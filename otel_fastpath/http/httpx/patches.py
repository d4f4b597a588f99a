"""The per-call functions of `opentelemetry-instrumentation-httpx`."""

from __future__ import annotations

import functools
import sys
from typing import TYPE_CHECKING, Any, Final

from otel_fastpath.http.instrumenting import client_patch
from otel_fastpath.http.stock_sources import sources
from otel_fastpath.patching.sources.guard import are_known
from otel_fastpath.patching.swapping.diverting import Diversions

if TYPE_CHECKING:
    from collections.abc import Callable

    from otel_fastpath.settings import Config

_MODULE: Final = "opentelemetry.instrumentation.httpx"
# Stock's set-up takes the functions out of the classes, and users add the transports: all of them are diverted.
_sync: Final = Diversions()
_async: Final = Diversions()


def _divert_transport(diversions: Diversions, name: str, method: str, make: Callable[[Any], Any]) -> None:
    """Divert the method of stock's transport, if its source is known; without httpx there is only httpx2's."""
    place = f"{_MODULE}:{name}.{method}"
    known = sources(place)[place]
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


def _forget_plans() -> None:
    from otel_fastpath.http.httpx.hooks import PLANS  # noqa: PLC0415  # only where it was patched

    PLANS.forget()


_INSTRUMENTOR: Final = f"{_MODULE}:HTTPXClientInstrumentor"
PATCHES: Final = (
    client_patch(
        "httpx.sync",
        f"{_INSTRUMENTOR}._handle_request_wrapper",
        "A call parses its URL twice and normalizes its headers for a capture that is off; here the attributes are "
        "made once for each method and server.",
        _make_sync,
        _sync,
        "httpx",
        undo=_forget_plans,
    ),
    client_patch(
        "httpx.async",
        f"{_INSTRUMENTOR}._handle_async_request_wrapper",
        "As for a synchronous call.",
        _make_async,
        _async,
        "httpx, async",
        undo=_forget_plans,
        stock=f"{_INSTRUMENTOR}._handle_request_wrapper",
    ),
)
