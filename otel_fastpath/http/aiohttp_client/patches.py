"""The per-call functions of `opentelemetry-instrumentation-aiohttp-client`."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any, Final

from otel_fastpath.compiled import hot
from otel_fastpath.http import stock_sources
from otel_fastpath.http.stock import STOCK
from otel_fastpath.patching.diverting import Diversions
from otel_fastpath.patching.outcome import call_guarded
from otel_fastpath.patching.patch import Patch

if TYPE_CHECKING:
    from otel_fastpath.settings import Config

_MODULE: Final = "opentelemetry.instrumentation.aiohttp_client"
_diversions: Final = Diversions()


def _divert(config: Any) -> None:
    from otel_fastpath.http.aiohttp_client import hooks  # noqa: PLC0415  # only where it is patched

    start, end = config.on_request_start[-1], config.on_request_end[-1]
    set_up = hot.http_aiohttp_client_calls.AiohttpClientInstrumentation(start, end)
    _diversions.divert(start, functools.partial(hooks.make_start, set_up))
    _diversions.divert(end, functools.partial(hooks.make_end, set_up))


def _make(original: Any, _settings: Config) -> Any:
    @functools.wraps(original)
    def create_trace_config(*args: Any, **kwargs: Any) -> Any:
        config = original(*args, **kwargs)
        call_guarded("accelerating the instrumentation of aiohttp", _divert, config)
        return config

    return create_trace_config


PATCHES: Final = (
    Patch(
        name="aiohttp_client.trace_config",
        target=f"{_MODULE}:create_trace_config",
        why="A request parses its URL three times and lists its headers for a capture that is off; here the attributes "
        "are made once for each method and server. Sessions that were created before keep stock's functions.",
        make=_make,
        requires=stock_sources.requires("aiohttp-client"),
        sources=stock_sources.sources(f"{_MODULE}:create_trace_config", *stock_sources.SHARED)
        | stock_sources.imported(_MODULE, "redact_url", "sanitize_method"),
        stock=STOCK["aiohttp_client.trace_config"],
        diversions=_diversions,
        budgets=("aiohttp client",),
    ),
)
