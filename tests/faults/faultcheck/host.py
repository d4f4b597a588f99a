"""The host that a workload plays: what each step gave it, and whether it kept its context."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from opentelemetry import context as context_api

if TYPE_CHECKING:
    from collections.abc import Callable


class HostError(Exception):
    """An exception of the host's own, which must reach it as the very same object."""


class Host:
    """Takes down the outcome of each step.

    Attributes:
        outcomes: Step -> what it returned, or the exception that it raised.
        moved: The steps after which the current context was another.
    """

    def __init__(self) -> None:
        self.outcomes: dict[str, str] = {}
        self.moved: list[str] = []
        self._errors: list[BaseException] = []

    def error(self) -> HostError:
        """An exception for the host to raise."""
        made = HostError(f"number {len(self._errors)}")
        self._errors.append(made)
        return made

    def forget(self) -> None:
        """Let go of what it raised: with the tracebacks, frames are let go of, and what they hold."""
        for error in self._errors:
            error.__traceback__ = None
        self._errors.clear()

    def step(self, name: str, function: Callable[..., Any], *args: Any) -> Any:
        """Call, and take down what came of it; gives the result, None where there is none."""
        before = context_api.get_current()
        result = None
        try:
            result = function(*args)
        except BaseException as error:
            self._raised(name, error)
        else:
            self._returned(name, result)
        self._compare(name, before)
        return result

    async def astep(self, name: str, function: Callable[..., Any], *args: Any) -> Any:
        """Likewise, for what is to be awaited."""
        before = context_api.get_current()
        result = None
        try:
            result = await function(*args)
        except BaseException as error:
            self._raised(name, error)
        else:
            self._returned(name, result)
        self._compare(name, before)
        return result

    def _returned(self, name: str, result: Any) -> None:
        plain = isinstance(result, (str, int, float, bool, bytes, tuple, list, dict, type(None)))
        self._note(name, f"returned {result!r}" if plain else f"returned {type(result).__qualname__}")

    def _raised(self, name: str, error: BaseException) -> None:
        for number, own in enumerate(self._errors):
            if error is own:
                self._note(name, f"raised its own exception, number {number}")
                return
        self._note(name, f"raised {type(error).__qualname__}: {str(error)[:200]}")

    def _note(self, name: str, outcome: str) -> None:
        if name in self.outcomes:
            raise ValueError(f"two steps are called {name!r}")
        self.outcomes[name] = outcome

    def _compare(self, name: str, before: Any) -> None:
        if context_api.get_current() != before:
            self.moved.append(name)
            # What follows is judged by itself.
            context_api.attach(before)
