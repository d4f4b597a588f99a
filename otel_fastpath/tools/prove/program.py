"""A program, and one run of it."""

from __future__ import annotations

import contextvars
import random
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from otel_fastpath.tools.prove.requests_seen import renumbered
from otel_fastpath.tools.prove.telemetry_kept import KeptTelemetry

if TYPE_CHECKING:
    from collections.abc import Callable


# What the outcome of a call that raised begins with.
RAISED: Final = "raised "


@dataclass(frozen=True)
class Program:
    """A program.

    Attributes:
        name: Its name.
        seed: What it draws its steps from.
        run: It takes all of its steps, pauses, and takes them again, on the same objects.
        is_exact: Whether the seed decides its ids and ports, too.
        left_out: The signals that are not compared.
    """

    name: str
    seed: int
    run: Callable[[ProgramRun], object]
    is_exact: bool = True
    left_out: frozenset[str] = frozenset()


class ProgramRun:
    """What a program has in hand while it runs.

    Attributes:
        seed: Its seed.
        outcomes: What its calls returned or raised.
    """

    def __init__(self, seed: int, at_pause: Callable[[], object]) -> None:
        self.seed = seed
        self.outcomes: list[Any] = []
        self.pause = at_pause
        self._telemetry: list[KeptTelemetry] = []

    def telemetry(self, *args: Any, **kwargs: Any) -> KeptTelemetry:
        """Providers with these arguments of `KeptTelemetry`."""
        made = KeptTelemetry(*args, **kwargs)
        self._telemetry.append(made)
        return made

    def halves(self) -> Any:
        """What the steps of each half are drawn from: the same for both."""
        for is_first in (True, False):
            yield random.Random(self.seed)  # noqa: S311  # it is to repeat, not to be unguessable
            if is_first:
                self.pause()

    def attempt(self, call: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        """Call, keep what comes of it, and return it; None if it raises."""
        try:
            value = call(*args, **kwargs)
        except Exception as error:  # any exception is a result to compare
            self.outcomes.append(f"{RAISED}{type(error).__name__}")
            return None
        self.outcomes.append(repr(value) if isinstance(value, str | int | float | tuple | None) else "returned")
        return value

    def seen(self, *, is_exact: bool) -> list[Any]:
        """Everything that was exported."""
        return [each for telemetry in self._telemetry for each in telemetry.seen(is_exact=is_exact)]


def observe(program: Program, at_pause: Callable[[], object] = lambda: None) -> str:
    """Run a program; return the outcomes of its calls and its telemetry, as text with a line for each of them.

    Args:
        program: The program.
        at_pause: Called between its two halves.
    """
    run = ProgramRun(program.seed, at_pause)
    before = random.getstate()
    # Ids and exemplars come from it.
    random.seed(program.seed)
    try:
        contextvars.Context().run(run.attempt, program.run, run)
        found = [("outcomes", tuple(run.outcomes)), *run.seen(is_exact=program.is_exact)]
    finally:
        random.setstate(before)
    seen = "\n".join(repr(each) for each in found if each[0] not in program.left_out)
    return seen if program.is_exact else renumbered(seen)
