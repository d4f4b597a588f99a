"""Every item of every slow proof has its day, once in twenty, and no day is too long."""

from __future__ import annotations

import datetime as dt
from collections import Counter

import pytest

# The drivers' suites name their files only where the drivers are installed.
pytest.importorskip("asyncpg")
pytest.importorskip("sqlalchemy")

import schedule
from proofs import PROOFS, ROOT, Proof
from schedule import DAYS, MOST_SECONDS, ScheduleError, slices_of
from today import LIMIT

FIRST = dt.date(2026, 12, 1)
pytestmark = pytest.mark.source


def days(first, proofs=PROOFS):
    """The slices of twenty days from this one on."""
    return [slices_of(first + dt.timedelta(number), proofs) for number in range(DAYS)]


def test_each_item_runs_once_within_twenty_days():
    """From whichever day on they are counted."""
    wanted = Counter((proof.name, item) for proof in PROOFS for item in proof.items)
    assert set(wanted.values()) == {1}
    for first in (FIRST, FIRST + dt.timedelta(7), dt.date(2028, 2, 29)):
        found = Counter((part.proof.name, item) for day in days(first) for part in day for item in part.items)
        assert found == wanted


def test_no_day_is_longer_than_its_limit():
    """As estimated; a fifteenth of the five minutes is left for what takes longer."""
    loads = [sum(part.seconds for part in day) for day in days(FIRST)]
    assert max(loads) <= MOST_SECONDS <= LIMIT * 14 / 15
    assert min(loads) > 0


def test_the_slices_of_a_proof_are_numbered():
    """Over the twenty days, which have all of them."""
    numbers = sorted((part.proof.name, part.number, part.of) for day in days(FIRST) for part in day)
    of = Counter(name for name, _, _ in numbers)
    assert numbers == sorted((name, number, count) for name, count in of.items() for number in range(1, count + 1))


def test_a_date_has_the_same_slices_each_time():
    """And another one others; twenty days later they are the same, in another order."""
    day, same, later = (slices_of(date, PROOFS) for date in (FIRST, FIRST, FIRST + dt.timedelta(DAYS)))
    assert day == same
    assert sorted(part.proof.name for part in day) == sorted(part.proof.name for part in later)
    assert len(day) == 1 or day != later
    assert day != slices_of(FIRST + dt.timedelta(1), PROOFS)


def test_what_lacked_time_comes_first_twenty_days_later():
    """The last slice of a day, and the second half of the items of each."""
    for number in range(DAYS):
        day, later = (slices_of(FIRST + dt.timedelta(number + added), PROOFS) for added in (0, DAYS))
        assert later[0].proof is day[-1].proof
        for part in later:
            (before,) = (each.items for each in day if each.proof is part.proof)
            assert len(before) == 1 or part.items[0] in before[-(len(before) // 2) :]


def test_what_does_not_fit_is_named():
    """A new item that is too long, or one too many."""
    with pytest.raises(ScheduleError, match=r"^huge: all fits on none of the 20 days"):
        schedule.schedule([Proof("huge", ["true"], ["all"], MOST_SECONDS + 1)])
    with pytest.raises(ScheduleError, match=r"^many: \d+ fits on none"):
        schedule.schedule([Proof("many", ["true"], [str(number) for number in range(DAYS + 1)], MOST_SECONDS)])


@pytest.mark.parametrize("target", sorted({proof.name.partition(",")[0] for proof in PROOFS}))
def test_each_proof_is_a_target_of_the_makefile(target):
    """What runs all of it."""
    assert f"\n{target}: " in (ROOT / "Makefile").read_text(encoding="utf-8")
