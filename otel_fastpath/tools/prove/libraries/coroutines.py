"""Runs coroutines that do not wait: without a loop, which the processes that a program is forked to would share."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Coroutine


def run_at_once(coroutine: Coroutine[Any, Any, Any]) -> Any:
    """What a coroutine that does not wait returns.

    Raises:
        RuntimeError: It waits.
    """
    try:
        coroutine.send(None)
    except StopIteration as end:
        return end.value
    coroutine.close()
    raise RuntimeError("it waits")
