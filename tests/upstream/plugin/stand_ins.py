"""Stand-ins for otel-fastpath, to show that the harness sees what it must see."""

from __future__ import annotations

from dataclasses import dataclass

from opentelemetry.sdk.trace import Span

TARGETS = ("opentelemetry.sdk.trace:Span.update_name", "opentelemetry.sdk.trace:Span.set_status")


@dataclass(frozen=True)
class Row:
    """A line of a status, as `FastpathInstrumentor().status()` gives them."""

    name: str
    state: str
    reason: str = ""
    target: str = ""


class StandIn:
    """Something that was activated and has a status."""

    def __init__(self, *states: str) -> None:
        self.states = list(states)

    def status(self) -> list[Row]:
        """One line for each patch."""
        return [
            Row(f"stand-in-{number}", state, target=target)
            for number, (state, target) in enumerate(zip(self.states, TARGETS, strict=False))
        ]


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


def deferring() -> StandIn:
    """Patch something that the first call takes away again, and say so."""
    original = Span.update_name
    active = StandIn("applied", "applied")

    def update_name(self: Span, name: str) -> None:
        active.states[0] = "off"
        Span.update_name = original  # type: ignore[method-assign]
        original(self, name)

    Span.update_name = update_name  # type: ignore[method-assign]
    return active


def renewing() -> StandIn:
    """Patch something by otel-fastpath's own means, which the first call does anew."""
    from otel_fastpath.patching.swapping.swap import Swap

    swap = Swap(Span, "update_name")

    def update_name(self: Span, name: str) -> None:
        swap.take_off()
        swap.put(again)
        swap.original(self, name)

    def again(self: Span, name: str) -> None:
        swap.original(self, name)

    swap.put(update_name)
    return StandIn("applied")
