"""Stand-ins for otel-fastpath, to show that the harness sees what it must see."""

from __future__ import annotations

from dataclasses import dataclass

from opentelemetry.sdk.trace import Span


@dataclass(frozen=True)
class Row:
    """A line of a status, as `FastpathInstrumentor().status()` gives them."""

    name: str
    state: str
    reason: str = ""
    target: str = "opentelemetry.sdk.trace:Span.update_name"


class StandIn:
    """Something that was activated and has a status."""

    def __init__(self, *states: str) -> None:
        self._rows = [Row(f"stand-in-{number}", state) for number, state in enumerate(states)]

    def status(self) -> list[Row]:
        """One line for each patch."""
        return self._rows


def harmless() -> StandIn:
    """Replace a method by one that does the same."""
    original = Span.update_name

    def update_name(self: Span, name: str) -> None:
        original(self, name)

    Span.update_name = update_name  # type: ignore[method-assign]
    return StandIn("applied", "waiting")


def breaking() -> StandIn:
    """Replace a method by one that forgets what it is for."""
    Span.update_name = lambda _self, _name: None  # type: ignore[method-assign]
    return StandIn("applied")


def idle() -> StandIn:
    """Patch nothing and say so."""
    return StandIn("waiting", "skipped")


def fading() -> StandIn:
    """Patch something that the first call takes away again."""
    original = Span.update_name

    def update_name(self: Span, name: str) -> None:
        Span.update_name = original  # type: ignore[method-assign]
        original(self, name)

    Span.update_name = update_name  # type: ignore[method-assign]
    return StandIn("applied")
