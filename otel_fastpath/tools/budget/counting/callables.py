"""Prepares a scenario to run: loads its callables, calls its set-up, and gives sync and async one interface."""

from __future__ import annotations

import asyncio
import functools
import importlib
import inspect
from itertools import repeat
from time import perf_counter_ns
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable


class ScenarioError(Exception):
    """A scenario cannot be run. `key` says which part of its declaration is wrong, if it is the declaration."""

    def __init__(self, message: str, key: str = "") -> None:
        super().__init__(" ".join(message.split()))
        self.key = key


def nothing(*_given: object) -> None:
    """The bare call of a hook that is measured by itself."""


async def async_nothing(*_given: object) -> None:
    """The bare call of an async hook that is measured by itself."""


def load(place: str, key: str) -> Callable[..., Any]:
    """Load the callable at "module:name".

    Raises:
        ScenarioError: There is no such callable.
    """
    module_name, _, path = place.partition(":")
    try:
        value = functools.reduce(getattr, path.split("."), importlib.import_module(module_name))
    except (Exception, SystemExit) as error:
        raise ScenarioError(describe(error), key) from error
    if not callable(value):
        raise ScenarioError(f"{place} is a {type(value).__name__}", key)
    found: Callable[..., Any] = value
    return found


def describe(error: BaseException) -> str:
    """An exception in one line, with where it was raised."""
    text = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
    step = error.__traceback__
    while step is not None and step.tb_next is not None:
        step = step.tb_next
    file = "<" if step is None else step.tb_frame.f_code.co_filename
    if step is None or file.startswith("<") or file == __file__:
        return text
    return f"{text} ({file}:{step.tb_lineno})"


class Arm:
    """One callable of a scenario.

    Attributes:
        block: Runs the given number of calls and returns the nanoseconds that they took.
    """

    def __init__(self, call: Callable[[], Any], loop: asyncio.AbstractEventLoop | None = None) -> None:
        self.block = _sync_block(call) if loop is None else _async_block(call, loop)


def _sync_block(call: Callable[[], Any]) -> Callable[[int], int]:
    def block(times: int) -> int:
        turns = repeat(None, times)
        start = perf_counter_ns()
        for _ in turns:
            call()
        return perf_counter_ns() - start

    return block


def _async_block(call: Callable[[], Any], loop: asyncio.AbstractEventLoop) -> Callable[[int], int]:
    async def run(times: int) -> int:
        turns = repeat(None, times)
        start = perf_counter_ns()
        for _ in turns:
            await call()
        return perf_counter_ns() - start

    def block(times: int) -> int:
        return loop.run_until_complete(run(times))

    return block


class Running:
    """A scenario that is set up and can be measured; a context manager.

    Attributes:
        bare: The work without the hook.
        instrumented: The work with the hook.
        is_async: Whether both callables are async.
    """

    bare: Arm
    instrumented: Arm
    is_async: bool

    def __init__(
        self, bare: Callable[..., Any], instrumented: Callable[..., Any], setup: Callable[[], Any] | None = None
    ) -> None:
        self._calls = {"bare": bare, "instrumented": instrumented}
        self._setup = setup
        self._loop: asyncio.AbstractEventLoop | None = None
        self._generator: Any = None

    def __enter__(self) -> Running:  # noqa: PYI034  # typing.Self is 3.11's
        """Call the set-up, then each callable once, because only its result shows whether it is async.

        Raises:
            ScenarioError: One of them failed, or one callable is async and the other is not.
        """
        try:
            value = None if self._setup is None else self._settle("setup", self._setup)
            if value is not None:
                self._calls = {name: functools.partial(call, value) for name, call in self._calls.items()}
            self.is_async = self._look()
        except BaseException:
            self.close()
            raise
        loop = self._loop if self.is_async else None
        self.bare, self.instrumented = (Arm(call, loop) for call in self._calls.values())
        return self

    def __exit__(self, *exception: object) -> None:
        """Continue the set-up where it yielded, and close the loop."""
        self.close()

    def close(self) -> None:
        """End the scenario; an exception raised by its teardown is ignored, because the measurement is complete."""
        generator, self._generator = self._generator, None
        try:
            if inspect.isasyncgen(generator):
                self._run(_end(generator))
            elif generator is not None:
                next(generator, None)
        except Exception:  # noqa: S110  # the measurement is over
            pass
        finally:
            loop, self._loop = self._loop, None
            if loop is not None:
                loop.close()
                asyncio.set_event_loop(None)

    def _run(self, awaitable: Any) -> Any:
        if self._loop is None:
            self._loop = asyncio.new_event_loop()
            asyncio.set_event_loop(self._loop)

        async def wait() -> Any:
            return await awaitable

        return self._loop.run_until_complete(wait())

    def _settle(self, name: str, setup: Callable[[], Any]) -> Any:
        try:
            value = setup()
            if inspect.isasyncgen(value):
                self._generator = value
                return self._run(value.__anext__())
            if inspect.isgenerator(value):
                self._generator = value
                return next(value)
            return self._run(value) if inspect.isawaitable(value) else value
        except (Exception, SystemExit) as error:
            raise ScenarioError(f"{name} raised {describe(error)}") from error

    def _look(self) -> bool:
        is_async = {name: self._first_call(name, call) for name, call in self._calls.items()}
        if len(set(is_async.values())) > 1:
            odd = "bare" if is_async["bare"] else "instrumented"
            raise ScenarioError(f"only {odd} is async: both callables must be async, or neither", odd)
        return is_async["bare"]

    def _first_call(self, name: str, call: Callable[[], Any]) -> bool:
        try:
            value = call()
            if not inspect.isawaitable(value):
                return False
            self._run(value)
        except (Exception, SystemExit) as error:
            raise ScenarioError(f"{name} raised {describe(error)}") from error
        return True


async def _end(generator: Any) -> None:
    await anext(generator, None)
