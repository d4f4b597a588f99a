"""The per-call functions of `opentelemetry-instrumentation-aiohttp-client`, and what aiohttp calls in their place."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any, Final

from otel_fastpath.compiled import hot
from otel_fastpath.http.instrumenting import client_patch
from otel_fastpath.patching.outcome import call_guarded
from otel_fastpath.patching.swapping.diverting import Diversions

if TYPE_CHECKING:
    from otel_fastpath.settings import Config

_diversions: Final = Diversions()


def _divert(config: Any) -> None:
    start, end = config.on_request_start[-1], config.on_request_end[-1]
    set_up = hot.http_aiohttp_client_calls.AiohttpClientInstrumentation(start, end, config.trace_config_ctx())

    def make_start(original: Any) -> Any:
        async def on_request_start(session: Any, context: Any, params: Any) -> None:
            try:
                if not set_up.start(context, params):
                    await original(session, context, params)
            except BaseException as error:
                set_up.stop(context, error)
                raise

        return on_request_start

    def make_end(original: Any) -> Any:
        async def on_request_end(session: Any, context: Any, params: Any) -> None:
            try:
                if not set_up.finish(context, params):
                    await original(session, context, params)
            except BaseException as error:
                set_up.stop(context, error)
                raise

        return on_request_end

    _diversions.divert(start, make_start)
    _diversions.divert(end, make_end)


def _make(original: Any, _settings: Config) -> Any:
    @functools.wraps(original)
    def create_trace_config(*args: Any, **kwargs: Any) -> Any:
        config = original(*args, **kwargs)
        call_guarded("accelerating the instrumentation of aiohttp", _divert, config)
        return config

    return create_trace_config


PATCHES: Final = (
    client_patch(
        "aiohttp_client.trace_config",
        "opentelemetry.instrumentation.aiohttp_client:create_trace_config",
        "A request parses its URL three times and lists its headers for a capture that is off; here the attributes "
        "are made once for each method and server. Sessions that were created before keep stock's functions.",
        _make,
        _diversions,
        "aiohttp client",
    ),
)
