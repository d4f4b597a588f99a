"""What the hosts of servers and clients have in common."""

from __future__ import annotations

import asyncio

from opentelemetry import context

# What a test may give an instrumentation.
HOOKS = (
    *("server_request_hook", "client_request_hook", "client_response_hook", "default_span_details"),
    *("request_hook", "response_hook", "async_request_hook", "async_response_hook"),
)
_ASGI_HOOKS = ("server_request_hook", "client_request_hook", "client_response_hook")
CLIENT_HOOKS = ("request_hook", "response_hook")
# The hooks that a server or a client takes; those that are not here take `CLIENT_HOOKS`.
HOOKS_OF = {
    "asgi": (*_ASGI_HOOKS, "default_span_details"),
    "starlette": _ASGI_HOOKS,
    "fastapi": _ASGI_HOOKS,
    "FastAPI's own": (),
    "wsgi": CLIENT_HOOKS,
    "flask": CLIENT_HOOKS,
    "django": CLIENT_HOOKS,
    "aiohttp.web": (),
    "httpx, async": ("async_request_hook", "async_response_hook"),
    "aiohttp": CLIENT_HOOKS,
}
PROVIDERS = ("tracer_provider", "meter_provider")
PARENT = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"


class HostError(Exception):
    """What the applications raise."""


class Outcomes:
    """What calls returned or raised, and whether the current context was the same after each."""

    def __init__(self):
        self.found = []

    def call(self, function, *args, **keywords):
        """Call the function."""
        before = context.get_current()
        try:
            result = function(*args, **keywords)
        except Exception as error:
            result = _told(error)
        self._keep(result, before)

    async def wait(self, function, *args, **keywords):
        """Call the function and await its result."""
        before = context.get_current()
        try:
            result = await function(*args, **keywords)
        except Exception as error:
            result = _told(error)
        self._keep(result, before)

    def _keep(self, result, before):
        is_same = context.get_current() == before
        self.found.append((result, "context kept" if is_same else "context moved"))
        if not is_same:
            context.attach(before)


def _told(error):
    # The texts of errors of the network have addresses and ports.
    return type(error).__name__


def only(given, *names):
    """These of the providers and hooks that are given."""
    return {name: given[name] for name in names if name in given}


def run(main):
    """What a coroutine function returns in an event loop of its own."""
    return asyncio.run(main())
