"""Scenarios that are written once and run with either client.

A scenario is a coroutine function. With the synchronous client nothing in it is ever awaited for real, and it is run
by hand, outside of any event loop.
"""

from __future__ import annotations

import asyncio
import inspect
from contextlib import asynccontextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

import openai

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable

KINDS = ("sync", "async")
# Not asked of the objects: what wraps a stream may have the methods of both kinds.
_is_async: ContextVar[bool] = ContextVar("is_async")


async def wait(value: Any) -> Any:
    """The result of a call."""
    return await value if inspect.isawaitable(value) else value


@asynccontextmanager
async def within(manager: Any) -> AsyncIterator[Any]:
    """Enter a context manager of either kind."""
    if _is_async.get():
        async with manager as entered:
            yield entered
    else:
        with manager as entered:
            yield entered


async def take(stream: Any, most: int = -1, each: Callable[[Any], object] = lambda _item: None) -> list[Any]:
    """The items of a stream; leaves the loop after so many."""
    taken: list[Any] = []
    if _is_async.get():
        async for item in stream:
            taken.append(item)
            each(item)
            if len(taken) == most:
                break
    else:
        for item in stream:
            taken.append(item)
            each(item)
            if len(taken) == most:
                break
    return taken


async def next_of(stream: Any) -> Any:
    """The next item of a stream."""
    return await anext(aiter(stream)) if _is_async.get() else next(iter(stream))


def run(kind: str, scenario: Callable[[Any], Awaitable[Any]], **settings: Any) -> Any:
    """Run a scenario with a new client of this kind."""
    token = _is_async.set(kind == "async")
    try:
        if kind == "async":
            return asyncio.run(_with_async_client(scenario, settings))
        with openai.OpenAI(**settings) as client:
            return by_hand(scenario(client))
    finally:
        _is_async.reset(token)


async def _with_async_client(scenario: Callable[[Any], Awaitable[Any]], settings: dict[str, Any]) -> Any:
    async with openai.AsyncOpenAI(**settings) as client:
        return await scenario(client)


def by_hand(coroutine: Any) -> Any:
    """Run a coroutine that never waits."""
    try:
        coroutine.send(None)
    except StopIteration as end:
        return end.value
    coroutine.close()
    raise AssertionError("it waited")
