"""Puts stock's own functions in the place of our patches for a while, and ours back."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pytest

from otel_fastpath.features import LIBRARIES
from otel_fastpath.instrumentor import FastpathInstrumentor
from otel_fastpath.patching.patch import State

if TYPE_CHECKING:
    from collections.abc import Container, Iterator


def installations(instrumentor: Any) -> dict[str, Any]:
    """The installation of each patch that an instrumentor installs itself, by name and in their order."""
    parts = [part.load() for part in instrumentor._installations()]
    return {name: each for part in parts for name, each in part.installations.items()}


def applied() -> list[Any]:
    """The installations of the patches in place, in the order in which they were applied."""
    return [each for each in installations(FastpathInstrumentor()).values() if each.state is State.APPLIED]


@contextmanager
def stock() -> Iterator[None]:
    """Stock as it is.

    `uninstrument()` would do as well, but takes milliseconds to come back from, which hypothesis has no time for.
    """
    found = applied()
    assert found, "nothing is patched: both runs would be stock"
    for each in reversed(found):
        each.swap.lift()
    try:
        yield
    finally:
        for each in found:
            each.swap.lay()


def wrap_only(libraries: Container[str], patch: pytest.MonkeyPatch) -> None:
    """Leave all other libraries out of what an instrumentor wraps: each takes milliseconds."""
    wrapped = tuple(each for each in LIBRARIES.installations if each.part.wrapper in libraries)
    patch.setitem(vars(LIBRARIES), "installations", wrapped)


@contextmanager
def fastpath(core: str, *names: str, **settings: Any) -> Iterator[None]:
    """The fast path with this core, "c" or "py"; no library is wrapped.

    Args:
        core: The core.
        *names: The patches that must be in place.
        **settings: Arguments of `instrument()`.
    """
    instrumentor = FastpathInstrumentor()
    with pytest.MonkeyPatch.context() as patch:
        wrap_only((), patch)
        instrumentor.instrument(core=core, **settings)
        try:
            found = {each.patch.name for each in applied()}
            assert found, instrumentor.status()
            assert set(names) <= found, instrumentor.status()
            yield
        finally:
            instrumentor.uninstrument()
