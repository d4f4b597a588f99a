"""The functions that aiohttp calls for each request, in the place of stock's."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

    from otel_fastpath.http.aiohttp_client.calls import AiohttpClientInstrumentation


def make_start(set_up: AiohttpClientInstrumentation, original: Callable[..., Any]) -> Callable[..., Any]:
    """Make the replacement for `on_request_start`."""

    async def on_request_start(session: Any, context: Any, params: Any) -> None:
        try:
            if not set_up.start(context, params):
                await original(session, context, params)
        except BaseException as error:
            set_up.stop(context, error)
            raise

    return on_request_start


def make_end(set_up: AiohttpClientInstrumentation, original: Callable[..., Any]) -> Callable[..., Any]:
    """Make the replacement for `on_request_end`."""

    async def on_request_end(session: Any, context: Any, params: Any) -> None:
        try:
            if not set_up.finish(context, params):
                await original(session, context, params)
        except BaseException as error:
            set_up.stop(context, error)
            raise

    return on_request_end
