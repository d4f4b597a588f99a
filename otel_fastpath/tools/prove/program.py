"""A program, and one run of it."""

from __future__ import annotations

import contextvars
import logging
import random
import re
import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from otel_fastpath.tools.prove.requests_seen import renumbered
from otel_fastpath.tools.prove.telemetry_kept import KeptTelemetry

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    Step = tuple[int, ...]


# What the outcome of a call that raised begins with.
RAISED: Final = "raised "
# What is seen of a program begins with it if the program itself raised.
BROKEN: Final = "broken "
# In what is logged about an object.
_ADDRESS: Final = re.compile(r"\bat 0x[0-9a-f]+")
# What is shown by its own text if a step returns it.
_SHOWN: Final = (str, bytes, int, float, tuple, list, dict, type(None))
_NOTHING_SKIPPED: Final[frozenset[Any]] = frozenset()


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

    What a step draws depends on its number alone, so that the others stay the same if one is skipped.

    Args:
        seed: Its seed.
        at_pause: Called between its two halves.
        skipped: The steps that are not taken.

    Attributes:
        seed: Its seed.
        draw: What its steps are drawn from.
        outcomes: What its calls returned or raised.
        carried: What telemetry has told others along the way, such as the headers of a request.
        steps: The steps that were taken, and what each called.
    """

    def __init__(self, seed: int, at_pause: Callable[[], object], skipped: frozenset[Step] = _NOTHING_SKIPPED) -> None:
        self.seed = seed
        self.draw = random.Random(seed)  # noqa: S311  # it is to repeat, not to be unguessable
        self.outcomes: list[Any] = []
        self.carried: list[Any] = []
        self.steps: dict[Step, str] = {}
        self.pause = at_pause
        self._skipped = skipped
        self._numbers = [0]
        self._telemetry: list[KeptTelemetry] = []

    def telemetry(self, *args: Any, **kwargs: Any) -> KeptTelemetry:
        """Providers with these arguments of `KeptTelemetry`."""
        made = KeptTelemetry(*args, **kwargs)
        self._telemetry.append(made)
        return made

    def halves(self) -> Iterator[random.Random]:
        """What the steps of each half are drawn from: the same for both."""
        for is_first in (True, False):
            self._numbers[-1] = 0
            self.draw.seed(self.seed)
            yield self.draw
            if is_first:
                self.pause()

    def attempt(self, call: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        """Take a step: call, keep what comes of it, and return it; None if it raises."""
        state = self._begin(call)
        if state is None:
            return None
        try:
            return self._keep(call(*args, **kwargs))
        except Exception as error:  # any exception is a result to compare
            return self._keep_error(error)
        finally:
            self._end(state)

    def _begin(self, call: Any) -> Any:
        self._numbers[-1] += 1
        step = tuple(self._numbers)
        if step in self._skipped:
            return None
        self.steps[step] = getattr(call, "__name__", type(call).__name__).removeprefix("_do_").strip("_")
        state = self.draw.getstate()
        self.draw.seed(f"{self.seed} {step}")
        self._numbers.append(0)
        return state

    def _end(self, state: Any) -> None:
        self._numbers.pop()
        self.draw.setstate(state)

    def _keep(self, value: Any) -> Any:
        is_plain = isinstance(value, _SHOWN)
        self.outcomes.append(repr(value) if is_plain else f"returned {type(value).__name__}")
        return value

    def _keep_error(self, error: Exception) -> None:
        self.outcomes.append(f"{RAISED}{type(error).__name__}: {error}")

    def seen(self, *, is_exact: bool) -> list[Any]:
        """Everything that was exported."""
        return [each for telemetry in self._telemetry for each in telemetry.seen(is_exact=is_exact)]


class _RecordKeeper(logging.Handler):
    """Keeps what OpenTelemetry logs while it is used in a `with` statement."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[tuple[str, str, str]] = []
        self._before: dict[logging.Logger, tuple[list[Any], list[Any]]] = {}

    def emit(self, record: logging.LogRecord) -> None:
        """Keep the record."""
        self.found.append((record.name, record.levelname, record.getMessage()))

    def __enter__(self) -> _RecordKeeper:  # noqa: PYI034  # typing.Self is not in each release of Python
        """Begin. Filters that leave out what was logged a minute ago are taken off."""
        top = logging.getLogger("opentelemetry")
        for name, logger in list(top.manager.loggerDict.items()):
            if isinstance(logger, logging.Logger) and name.startswith("opentelemetry."):
                self._before[logger] = logger.filters[:], logger.handlers[:]
                logger.filters.clear()
                if not logger.propagate:
                    logger.handlers[:] = [self]
        self._propagates, top.propagate = top.propagate, False
        top.addHandler(self)
        return self

    def __exit__(self, *_error: object) -> None:
        """End."""
        top = logging.getLogger("opentelemetry")
        top.removeHandler(self)
        top.propagate = self._propagates
        for logger, (filters, handlers) in self._before.items():
            logger.filters[:], logger.handlers[:] = filters, handlers


def observe(
    program: Program, at_pause: Callable[[], object] = lambda: None, skipped: frozenset[Step] = _NOTHING_SKIPPED
) -> str:
    """Run a program; return the outcomes of its calls and its telemetry, as text with a line for each of them.

    What OpenTelemetry logs and warns of is among them.

    Args:
        program: The program.
        at_pause: See `ProgramRun`.
        skipped: Likewise.
    """
    return observe_steps(program, at_pause, skipped)[0]


def observe_steps(
    program: Program, at_pause: Callable[[], object] = lambda: None, skipped: frozenset[Step] = _NOTHING_SKIPPED
) -> tuple[str, dict[Step, str]]:
    """Like `observe`; with the steps that were taken."""
    run = ProgramRun(program.seed, at_pause, skipped)
    before = random.getstate()
    # Ids and exemplars come from it.
    random.seed(program.seed)
    try:
        with _RecordKeeper() as kept, warnings.catch_warnings(record=True) as warned:
            warnings.simplefilter("always")
            contextvars.Context().run(run.attempt, program.run, run)
            # It shows nothing of what it is for.
            is_broken = run.outcomes[-1].startswith(RAISED)
            exported = run.seen(is_exact=program.is_exact)
    finally:
        random.setstate(before)
    # Of several threads, and once for a place in the code: their order and number mean nothing.
    shown = (each for each in warned if not issubclass(each.category, ResourceWarning))
    said = sorted({*kept.found, *(("warning", each.category.__name__, str(each.message)) for each in shown)})
    found = [("outcomes", tuple(run.outcomes)), ("carried", *run.carried), ("logged", *said), *exported]
    seen = _ADDRESS.sub("at an address", "\n".join(repr(each) for each in found if each[0] not in program.left_out))
    if is_broken:
        seen = f"{BROKEN}{seen}"
    return (seen if program.is_exact else renumbered(seen)), run.steps
