"""Verdicts: a fail is confirmed, a pass means something, and what is neither is called neither."""

from __future__ import annotations

import pytest

from otel_fastpath.tools.budget import verdicts
from otel_fastpath.tools.budget.results import Exit, Verdict, exit_code

QUIET = [1.00, 1.01, 0.99, 1.00, 1.01]


def test_within_the_limit_is_a_pass_at_once():
    """No second batch is asked for."""
    assert not verdicts.needs_another_batch(QUIET, [], 1.2, 0.2)
    assert verdicts.timed(QUIET, [], 1.2, 0.2).verdict is Verdict.PASS


def test_a_breach_needs_confirmation_and_then_fails():
    """Both batches above the limit, and the interval of all as well."""
    slow = [1.3, 1.31, 1.29, 1.3, 1.32]

    assert verdicts.needs_another_batch(slow, [], 1.2, 0.2)
    assert not verdicts.needs_another_batch(slow, slow, 1.2, 0.2)
    assert verdicts.timed(slow, slow, 1.2, 0.2).verdict is Verdict.FAIL


def test_a_breach_that_goes_away_is_a_pass_and_says_so():
    """A state of the machine is no regression."""
    decision = verdicts.timed([1.21, 1.22, 1.2, 1.23, 1.21], QUIET, 1.2, 0.2)

    assert decision.verdict is Verdict.PASS
    assert "first batch" in decision.reason


@pytest.mark.parametrize(
    ("first", "second", "reason"),
    [
        ([1.21, 1.22, 1.25, 1.1, 1.21], [1.15, 1.1, 1.21, 1.22, 1.21], "inside the interval"),
        ([1.0, 1.1, 1.19, 1.19, 1.3], [1.3, 1.4, 1.3, 1.3, 1.3], "only the later batches"),
        ([0.5, 1.0, 1.6, 0.6, 1.5], [0.5, 1.0, 1.6, 0.6, 1.5], "scatter"),
    ],
)
def test_what_the_noise_hides_is_inconclusive(first, second, reason):
    """The reason says what hides it; more processes may tell."""
    decision = verdicts.timed(first, second, 1.2, 0.2)

    assert decision.verdict is Verdict.INCONCLUSIVE
    assert reason in decision.reason
    assert verdicts.needs_another_batch(first, second, 1.2, 0.2)


def test_scatter_asks_for_a_second_batch_too():
    """A median within the limit is not enough where the values are all over the place."""
    assert verdicts.needs_another_batch([0.5, 1.0, 1.6, 0.6, 1.5], [], 1.2, 0.2)


def test_counts_are_exact():
    """The last digits of a sum of floats do not make a breach; one more call does."""
    assert verdicts.count(40.0000000001, 40.0) is Verdict.PASS
    assert verdicts.count(40.02, 40.0) is Verdict.FAIL
    assert verdicts.count(0.0, 0.0) is Verdict.PASS
    assert verdicts.count(-1.0, 0.0) is Verdict.PASS


def test_instructions_of_the_same_code_vary():
    """By a quarter of a per cent of everything counted: less above a limit is no proof, more is."""
    assert "120 above the limit" in verdicts.within_variation(120.0, 150_000.0)
    assert verdicts.within_variation(120.0, 15_000.0) == ""


def test_the_machine_is_named_where_its_state_shows():
    """The ratio of two frozen workloads should not change; without a calibrated one nothing is said."""
    assert verdicts.machine_state([1.05, 1.06], 1.0) == ""
    assert verdicts.machine_state([1.2, 1.3], None) == ""
    assert "1.25 times" in verdicts.machine_state([1.2, 1.3], 1.0)


@pytest.mark.parametrize(
    ("found", "lenient", "strict"),
    [
        ("pass information", Exit.SUCCESS, Exit.SUCCESS),
        ("pass fail", Exit.FAILURE, Exit.FAILURE),
        ("fail inconclusive", Exit.FAILURE, Exit.FAILURE),
        ("pass inconclusive", Exit.SUCCESS, Exit.INCONCLUSIVE),
        ("pass not-measured", Exit.SUCCESS, Exit.NOT_MEASURED),
        ("inconclusive not-measured", Exit.SUCCESS, Exit.INCONCLUSIVE),
        ("not-measured", Exit.NOT_MEASURED, Exit.NOT_MEASURED),
        ("", Exit.NOT_MEASURED, Exit.NOT_MEASURED),
    ],
)
def test_exit_codes_keep_the_verdicts_apart(found, lenient, strict):
    """0 held, 1 exceeded, 3 inconclusive, 4 nothing measured; --strict lets only passes through."""
    given = [Verdict(name.replace("-", " ")) for name in found.split()]

    assert exit_code(given, strict=False) is lenient
    assert exit_code(given, strict=True) is strict
