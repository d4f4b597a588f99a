"""The smallest program that shows a difference."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Sequence

    from otel_fastpath.tools.prove.observer_process import ObserverProcess

# So long at most.
_LIMIT_S: Final = 20.0
_AROUND: Final = 60
_LONGEST: Final = 160


@dataclass(frozen=True)
class SmallestDifference:
    """A difference.

    Attributes:
        program: The name of the program.
        steps: The names of the steps that are needed to see it.
        stock: What stock shows.
        fastpath: What this package shows in its place.
    """

    program: str
    steps: tuple[str, ...]
    stock: str
    fastpath: str


def smallest_difference(
    stock: ObserverProcess, fastpath: ObserverProcess, names: Sequence[str]
) -> SmallestDifference | None:
    """Take steps out of the shortest of these programs as long as a difference is seen.

    Returns:
        The difference that is left; None if none of the programs shows one again.
    """
    texts: list[tuple[int, str]] = []
    for name in names:
        one, other = (each.ask("show", name=name, skipped=[]) for each in (stock, fastpath))
        if one["text"] != other["text"]:
            texts.append((len(one["steps"]), name))
    if not texts:
        return None
    name = min(texts)[1]
    skipped: list[list[int]] = []
    one, other = (each.ask("show", name=name, skipped=skipped) for each in (stock, fastpath))
    end = time.monotonic() + _LIMIT_S
    # The outermost steps first: what happens inside of them goes, too. The first of all is the program.
    for step, _ in sorted(one["steps"], key=lambda each: len(each[0])):
        if len(step) == 1 or time.monotonic() > end or any(step[: len(each)] == each for each in skipped):
            continue
        without = [*skipped, step]
        found = [each.ask("show", name=name, skipped=without) for each in (stock, fastpath)]
        if found[0]["text"] != found[1]["text"]:
            skipped = without
            one, other = found
    return SmallestDifference(
        name, tuple(called for step, called in one["steps"] if len(step) > 1), *_differ(one, other)
    )


def _differ(one: dict[str, Any], other: dict[str, Any]) -> tuple[str, str]:
    """Where two texts differ first."""
    texts = one["text"], other["text"]
    at = next(
        (number for number, (left, right) in enumerate(zip(*texts, strict=False)) if left != right),
        min(map(len, texts)),
    )
    first, second = (text[max(0, at - _AROUND) : at + _LONGEST] for text in texts)
    return first, second
