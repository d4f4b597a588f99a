"""Sources that this package does not know, and for which `otel-fastpath prove` found the same telemetry here."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

# Where `otel-fastpath prove --write` writes it.
FILE: Final = "otel-fastpath-proven.toml"


class SourceJudge(Protocol):
    """Decides about sources that no release of this package knows."""

    def accepts(self, place: str, found: str) -> bool:
        """Whether patches may be applied although this place has a source with this fingerprint."""

    def remark(self, places: Iterable[str]) -> str:
        """What the status says of a patch that rests on these places; empty for nothing."""


@dataclass(frozen=True)
class Proof:
    """What `otel-fastpath prove` has found.

    Attributes:
        date: The day, as "2026-11-27".
        cores: The cores that it was proven with.
        sources: "module:qualified.name" -> the fingerprint that was proven.
        programs: "module:qualified.name" -> the number of programs that have executed it.
    """

    date: str = ""
    cores: tuple[str, ...] = ()
    sources: Mapping[str, str] = field(default_factory=dict)
    programs: Mapping[str, int] = field(default_factory=dict)

    def accepts(self, place: str, found: str) -> bool:
        """Whether this source was proven."""
        return self.sources.get(place) == found

    def remark(self, places: Iterable[str]) -> str:
        """When it was proven, and by how many programs: the fewest of one of these places."""
        proven = [self.programs[place] for place in places if place in self.sources]
        return f"proven here on {self.date} by {min(proven)} programs" if proven else ""


NOTHING: Final = Proof()
_judge: SourceJudge = NOTHING


def use(judge: SourceJudge) -> None:
    """Let it decide from now on."""
    global _judge
    _judge = judge


def is_used() -> bool:
    """Whether anything was proven."""
    return _judge is not NOTHING


def is_accepted(place: str, found: str) -> bool:
    """Whether patches may be applied although this place has a source with this fingerprint, which they do not know."""
    return _judge.accepts(place, found)


def remark(places: Iterable[str]) -> str:
    """What the status says of a patch that rests on these places; empty for nothing."""
    return _judge.remark(places)
