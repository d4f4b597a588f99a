"""The samples of all processes of a profile, each with its owner."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from otel_fastpath.tools.profile.attribution import modules, owners, passing
from otel_fastpath.tools.profile.attribution.owners import COMPILED_FRAME

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from otel_fastpath.tools.profile.attribution.owners import Frame, Owner
    from otel_fastpath.tools.profile.profile_file import Recording


@dataclass(frozen=True)
class Sample:
    """Equal samples of one thread.

    Attributes:
        stack: The frames, the outermost one first.
        seconds: Their CPU time.
        block: The second that they were taken in, of one process.
        thread: The kind of thread; empty for the main thread.
        owner: Who they belong to.
    """

    stack: Sequence[Frame]
    seconds: float
    block: tuple[int, int]
    thread: str
    owner: Owner

    @property
    def is_telemetry(self) -> bool:
        """Whether they belong to telemetry."""
        return self.owner.begin >= 0


def samples(recordings: Iterable[Recording]) -> list[Sample]:
    """The samples of all processes, without those that were taken while modules were imported."""
    found = []
    for recording in recordings:
        names = frozenset(recording.compiled)
        places = [("", stack, seconds, at) for at, second in enumerate(recording.main) for stack, seconds in second]
        places += [(*sample, at) for at, second in enumerate(recording.others) for sample in second]
        for thread, indexes, seconds, at in places:
            stack = _true([recording.frames[index] for index in indexes], names)
            if not owners.is_importing(stack) and seconds > 0:
                found.append(Sample(stack, seconds, (recording.process, at), thread, owners.owner(stack)))
    return found


def _true(stack: list[Frame], names: frozenset[str]) -> list[Frame]:
    """A stack without a compiled function that cannot have been called there.

    In the C frames of other functions, there are return addresses of compiled functions that ran before.
    """
    if len(stack) < 2 or stack[-1].name != COMPILED_FRAME:  # noqa: PLR2004  # it, and what called it
        return stack
    caller = stack[-2]
    is_possible = modules.kind(caller.module) == modules.TELEMETRY or passing.may_call(
        caller.file, caller.first_line, caller.line, names
    )
    return stack if is_possible else stack[:-1]
