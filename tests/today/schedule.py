"""Which items of which proof are run on which day: each of them once in twenty days, and none of the days too long."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    import datetime as dt
    from collections.abc import Iterable, Sequence

    from proofs import Proof

DAYS = 20
# A day has five minutes. A fifteenth of them is left for what takes longer than `proofs` says.
MOST_SECONDS = 280.0
_STEP = 2.0
# A proof that takes at most so many seconds to begin is spread over the days, the others are on few.
AT_ONCE = 3.0


class ScheduleError(Exception):
    """The items do not fit into the days; the message says which one does not."""


class Slice(NamedTuple):
    """What is run of a proof on one day, in one process.

    Attributes:
        proof: The proof.
        items: Its items.
        number: From 1, which of the proof's slices this is.
        of: How many slices the proof has.
    """

    proof: Proof
    items: tuple[str, ...]
    number: int
    of: int

    @property
    def seconds(self) -> float:
        """How long it takes, as estimated."""
        return self.proof.start + sum(map(self.proof.seconds_of, self.items))


def schedule(proofs: Sequence[Proof]) -> list[list[Slice]]:
    """The slices of each day: of equally long days, as far as the items allow it.

    Raises:
        ScheduleError: They do not fit.
    """
    total = sum(proof.start + sum(map(proof.seconds_of, proof.items)) for proof in proofs)
    most = min(MOST_SECONDS, total / DAYS)
    while True:
        try:
            return _days(proofs, most)
        except ScheduleError:  # noqa: PERF203  # a few times
            if most >= MOST_SECONDS:
                raise
            most = min(MOST_SECONDS, most + _STEP)


def _days(proofs: Sequence[Proof], most: float) -> list[list[Slice]]:
    """The slices of days of so many seconds.

    Raises:
        ScheduleError: They do not fit.
    """
    loads = [0.0] * DAYS
    days: list[list[Slice]] = [[] for _ in range(DAYS)]
    # What takes long to begin, or has long items, comes first; the others fill what is left.
    for proof in sorted(proofs, key=lambda each: (-each.start - max(map(each.seconds_of, each.items)), each.name)):
        parts = _parts(proof, loads, most)
        for number, (day, items) in enumerate(sorted(parts.items()), 1):
            days[day].append(Slice(proof, tuple(items), number, len(parts)))
    return days


def _parts(proof: Proof, loads: list[float], most: float) -> dict[int, list[str]]:
    """Day -> items of the proof; adds what they take to the loads of these days.

    Raises:
        ScheduleError: They do not fit.
    """
    rest = sorted(proof.items, key=lambda each: (-proof.seconds_of(each), each))
    found: dict[int, list[str]] = {}
    while rest:
        day = _day(proof, rest, found, loads, most)
        if day is None:
            raise ScheduleError(
                f"{proof.name}: {rest[0]} fits on none of the {DAYS} days, which have {most:.0f} seconds each:"
                " see tests/today/proofs.py"
            )
        if day not in found:
            loads[day] += proof.start
            found[day] = []
        for item in list(rest):
            if loads[day] + proof.seconds_of(item) <= most:
                loads[day] += proof.seconds_of(item)
                found[day].append(item)
                rest.remove(item)
                if proof.start <= AT_ONCE:
                    break
    return found


def _day(proof: Proof, rest: Sequence[str], found: Iterable[int], loads: Sequence[float], most: float) -> int | None:
    """The day for the next items; None if there is none."""
    if proof.start <= AT_ONCE:
        # Spread over the days: a break is seen soon.
        after = {day: loads[day] + proof.seconds_of(rest[0]) + proof.start * (day not in found) for day in range(DAYS)}
        day = min(after, key=after.__getitem__)
        return day if after[day] <= most else None
    # On as few days as there are: the fullest that takes all of them, or else the one with the least to do.
    wanted = proof.start + sum(map(proof.seconds_of, rest))
    free = [day for day in range(DAYS) if day not in found]
    for_all = [day for day in free if loads[day] + wanted <= most]
    day = max(for_all, key=loads.__getitem__) if for_all else min(free, key=loads.__getitem__, default=-1)
    return day if day >= 0 and loads[day] + proof.start + proof.seconds_of(rest[-1]) <= most else None


def slices_of(date: dt.date, proofs: Sequence[Proof]) -> list[Slice]:
    """The slices of a day. What came last, and may have lacked time, comes first twenty days later, items likewise."""
    turn, day = divmod(date.toordinal(), DAYS)
    found = [
        part._replace(items=_turned(part.items, turn * -(-len(part.items) // 2))) for part in schedule(proofs)[day]
    ]
    return list(_turned(found, -turn))


def _turned(values: Sequence[Any], first: int) -> tuple[Any, ...]:
    """The values, from this one on."""
    first %= len(values) or 1
    return (*values[first:], *values[:first])
