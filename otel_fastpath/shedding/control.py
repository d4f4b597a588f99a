"""The control law of the guard: what to shed, given what telemetry has cost. Pure functions; there is no clock in them.

The simulation in `examples/guard` and the thread of `keeper` run the same code.

Telemetry is judged every five seconds, or after two if it took more than twice its limit. Above the limit, more is
shed at once, at lower levels first. Below three quarters of the limit, less is shed: the probability of traces rises
step by step, and a level is taken back after ten quiet seconds. If a level that was taken back is needed again within
a minute, the next attempt waits twice as long.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

# The levels. Each one also sheds what the levels below it shed.
EVERYTHING: Final = 0
NO_INTERNAL_SPANS: Final = 1
FEWER_TRACES: Final = 2
NO_EVENTS: Final = 3
FEWER_LOGS: Final = 4
NAMES: Final = (
    "nothing is shed",
    "internal spans are shed",
    "internal spans and whole traces are shed",
    "internal spans, whole traces, events and links are shed",
    "internal spans, whole traces, events, links and log records below WARNING are shed",
)

# Telemetry is judged after so many seconds; if it takes more than `FAR` times its limit, after `SOON` seconds.
WINDOW: Final = 5.0
SOON: Final = 2.0
FAR: Final = 2.0
# Up to so many times the limit, the first level is tried alone.
_CLOSE: Final = 1.1
# When traces are shed, they are to take this share of the limit; less is shed below `LOW` of it.
AIM: Final = 0.9
LOW: Final = 0.75
# A part of the cost does not depend on the probability of traces: it is lowered further than in proportion.
_EMPHASIS: Final = 1.5
# The lowest probability of traces, and the factor by which it rises at most in a window.
LOWEST: Final = 0.01
_RISE: Final = 1.3
# How many seconds telemetry must be below `LOW` before a level is taken back, at first and at most.
CALM: Final = 10.0
MOST_CALM: Final = 600.0
# A level that is needed again within so many seconds was taken back too early.
_TOO_EARLY: Final = 60.0
# A process counts as using at least this share of one processor: what a share of an idle process is, means little.
IDLE: Final = 0.05


@dataclass(frozen=True)
class SheddingState:
    """What the guard sheds, and what it knows.

    Attributes:
        level: One of the levels above.
        probability: The share of new traces that are kept, 0 to 1.
        share: Telemetry's share of the process's CPU in the last window, 0 to 1; None before the first.
        is_at_floor: Whether nothing more can be shed and telemetry was above its limit in the last window.
        telemetry: CPU seconds of telemetry in this window.
        process: CPU seconds of the process in this window.
        seconds: The length of this window so far.
        quiet: For how many seconds telemetry has been below `LOW` of its limit.
        calm: How many such seconds it takes until a level is taken back.
        since_less: Seconds since a level was taken back.
    """

    level: int = EVERYTHING
    probability: float = 1.0
    share: float | None = None
    is_at_floor: bool = False
    telemetry: float = 0.0
    process: float = 0.0
    seconds: float = 0.0
    quiet: float = 0.0
    calm: float = CALM
    since_less: float = MOST_CALM


def step(state: SheddingState, limit: float, telemetry: float, process: float, seconds: float) -> SheddingState:
    """The state after an interval.

    Args:
        state: The state before it.
        limit: The share of the process's CPU that telemetry may take, above 0, at most 1.
        telemetry: CPU seconds that telemetry took in the interval.
        process: CPU seconds of the whole process in it, telemetry included.
        seconds: Its length in seconds.
    """
    state = replace(
        state,
        telemetry=state.telemetry + telemetry,
        process=state.process + process,
        seconds=state.seconds + seconds,
        since_less=state.since_less + seconds,
    )
    share = share_of(state.telemetry, state.process, state.seconds)
    is_far = share > FAR * limit and state.seconds >= SOON
    if not is_far and state.seconds < WINDOW:
        return state
    quiet = state.quiet + state.seconds if share < LOW * limit else 0.0
    state = replace(state, share=share, quiet=quiet, telemetry=0.0, process=0.0, seconds=0.0, is_at_floor=False)
    if share > limit:
        return _more(state, share / limit)
    return _less(state, share / limit) if quiet else state


def renewed(state: SheddingState) -> SheddingState:
    """The same level and probability, for a process that has measured nothing yet."""
    return SheddingState(state.level, state.probability)


def share_of(telemetry: float, process: float, seconds: float) -> float:
    """Telemetry's share of the process's CPU in an interval, at most 1; see `IDLE`."""
    return min(1.0, telemetry / max(process, IDLE * seconds)) if seconds > 0 else 0.0


def _more(state: SheddingState, excess: float) -> SheddingState:
    """Shed more: telemetry takes `excess` times its limit."""
    level, probability = state.level, state.probability
    # Well above the limit, there is no time to see what the first level saves.
    if level > EVERYTHING or excess > _CLOSE:
        if probability > LOWEST:
            level = max(level, FEWER_TRACES)
            probability = max(LOWEST, probability * (AIM / excess) ** _EMPHASIS)
        elif level < FEWER_LOGS:
            level += 1
        else:
            return replace(state, is_at_floor=True)
    else:
        level = NO_INTERNAL_SPANS
    is_too_early = level > state.level and state.since_less < _TOO_EARLY
    calm = min(2 * state.calm, MOST_CALM) if is_too_early else state.calm
    return replace(state, level=level, probability=probability, calm=calm)


def _less(state: SheddingState, excess: float) -> SheddingState:
    """Shed less: telemetry takes only `excess` times its limit, and has been quiet for a while."""
    level = state.level
    if level == FEWER_TRACES and state.probability < 1:
        rise = _RISE if excess <= 0 else min(_RISE, AIM / excess)
        return replace(state, probability=min(1.0, state.probability * rise))
    if state.quiet < state.calm:
        return state
    if level == EVERYTHING:
        # It has worked well without: the next attempt need not wait for long.
        return replace(state, calm=CALM) if state.quiet >= state.calm + _TOO_EARLY else state
    return replace(state, level=level - 1, quiet=0.0, since_less=0.0)
