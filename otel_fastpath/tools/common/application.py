"""Loads an application as its server does, "module:attribute", and starts it if it is an ASGI application."""

from __future__ import annotations

import asyncio
import contextlib
import importlib
import inspect
import os
import sys
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

# What servers look for in a module if no attribute is named.
_USUAL: Final = ("app", "application")
_START_S: Final = 60.0
_STARTED: Final = "lifespan.startup.complete"
_FAILED: Final = "lifespan.startup.failed"


class ApplicationError(Exception):
    """An application cannot be loaded; the message is one line."""


def load(name: str, folder: str = "") -> Any:
    """Import a module as `python -m` finds it; returns its application, or None if it has none.

    Args:
        name: "module", "module:attribute" or "module:function()", as gunicorn has it. An attribute that is a function
            without parameters is called, as uvicorn does: it makes the application.
        folder: Where to look first; empty: in the current folder.

    Raises:
        ApplicationError: The module cannot be imported, or has no such attribute.
    """
    place = os.path.abspath(folder)  # noqa: PTH100  # sys.path holds strings
    if place not in sys.path:
        sys.path.insert(0, place)
    module_name, colon, path = name.partition(":")
    try:
        module = importlib.import_module(module_name)
        if not colon:
            return next((vars(module)[each] for each in _USUAL if callable(vars(module).get(each))), None)
        found: Any = module
        for part in path.removesuffix("()").split("."):
            found = getattr(found, part)
        return found() if path.endswith("()") or _is_factory(found) else found
    except (Exception, SystemExit) as error:  # an application's module may raise anything when it is imported
        raise ApplicationError(f"{name} cannot be imported: {one_line(error)}") from None


def _is_factory(found: Any) -> bool:
    """Whether this makes an application; the application itself is called with what it is to answer."""
    return (
        inspect.isfunction(found)
        and not inspect.iscoroutinefunction(found)
        and all(each.default is not each.empty for each in inspect.signature(found).parameters.values())
    )


def one_line(error: BaseException) -> str:
    """An exception in one line."""
    return " ".join(f"{type(error).__name__}: {error}".split())


@contextlib.contextmanager
def started(application: Any) -> Iterator[str]:
    """Start an ASGI application, as a server does before the first request, and shut it down at the end of the block.

    Gives why it could not be started; an empty string if it was, or if it is no ASGI application or has no lifespan.
    """
    call = getattr(application, "__call__", None)  # noqa: B004  # a class with one is no coroutine function
    if not inspect.iscoroutinefunction(application) and not inspect.iscoroutinefunction(call):
        yield ""
        return
    with contextlib.closing(asyncio.new_event_loop()) as loop:
        lifespan = _Lifespan(application)
        problem = loop.run_until_complete(lifespan.start())
        try:
            yield problem
        finally:
            loop.run_until_complete(lifespan.stop())


class _Lifespan:
    """The lifespan protocol of ASGI, from the server's side."""

    def __init__(self, application: Any) -> None:
        self._application = application
        self._problem = ""
        self._is_started = False

    async def start(self) -> str:
        self._messages: asyncio.Queue[dict[str, str]] = asyncio.Queue()
        self._answered = asyncio.Event()
        self._messages.put_nowait({"type": "lifespan.startup"})
        self._task = asyncio.ensure_future(self._run())
        try:
            await asyncio.wait_for(self._answered.wait(), _START_S)
        except asyncio.TimeoutError:
            return f"its lifespan has not begun within {_START_S:g} seconds"
        return self._problem

    async def stop(self) -> None:
        if self._is_started:
            self._messages.put_nowait({"type": "lifespan.shutdown"})
        else:
            self._task.cancel()
        await asyncio.wait([self._task], timeout=_START_S)
        self._task.cancel()

    async def _run(self) -> None:
        scope = {"type": "lifespan", "asgi": {"version": "3.0", "spec_version": "2.0"}, "state": {}}
        is_asked = False

        async def receive() -> dict[str, str]:
            nonlocal is_asked
            is_asked = True
            return await self._messages.get()

        async def send(message: dict[str, str]) -> None:
            self._is_started = self._is_started or message["type"] == _STARTED
            if message["type"] == _FAILED:
                last = (message.get("message") or "").strip().splitlines()
                self._problem = f"its lifespan failed: {last[-1] if last else 'without a message'}"
            self._answered.set()

        try:
            await self._application(scope, receive, send)
        except BaseException as error:  # an application may raise anything
            # One that does not know lifespans raises at once, and is served without.
            if is_asked and not self._is_started:
                self._problem = self._problem or f"its lifespan failed: {one_line(error)}"
        self._answered.set()
