"""The texts of limits: what they mean, and that nothing else is taken for one."""

from __future__ import annotations

import pytest

from otel_fastpath.tools.budget.limits import METRICS, Limit, describe_syntax, parse


@pytest.mark.parametrize(
    ("metric", "text", "value", "unit", "relative", "gates"),
    [
        ("regression", "5%", 0.05, "base", True, True),
        ("regression", " 2.5 % ", 0.025, "base", True, True),
        ("overhead", "0.35 ref", 0.35, "ref", False, True),
        ("overhead", "<= 2 ref", 2.0, "ref", False, True),
        ("overhead", "+20%", 0.2, "ref", True, True),
        ("overhead", "12% of bare", 0.12, "bare", False, True),
        ("overhead", "6 us", 6.0, "us", False, False),
        ("bytecodes", "+2%", 0.02, "", True, True),
        ("bytecodes", "+ 0 %", 0.0, "", True, True),
        ("calls", "<= 40", 40.0, "", False, True),
        ("allocations", "<=1.5", 1.5, "", False, True),
        ("instructions", "<= 13_000", 13000.0, "", False, True),
        ("instructions", "<= 120 % of stock", 1.2, "stock", False, True),
    ],
)
def test_a_limit_means_what_it_says(metric, text, value, unit, relative, gates):
    """Every form of a limit is read as documented."""
    limit = parse(metric, text)

    assert limit == Limit(metric, " ".join(text.split()), pytest.approx(value), unit, relative, gates)


def test_a_share_of_the_cpu_is_an_overhead():
    """A quarter of the whole call is a third of the call without the hook; the report shows the text."""
    assert parse("max_cpu", "25 %") == Limit("overhead", "25 % of the CPU", pytest.approx(1 / 3), "bare")


@pytest.mark.parametrize(
    ("metric", "text"),
    [
        ("max_cpu", "3"),
        ("max_cpu", "0%"),
        ("max_cpu", "100%"),
        ("max_cpu", "+3%"),
        ("regression", "1%"),  # less than the gate can tell
        ("regression", "+5%"),
        ("regression", "<= 5"),
        ("regression", 5),
        ("overhead", "+10%"),  # less headroom than can be held
        ("overhead", "0.35"),
        ("overhead", "0.35 refs"),
        ("overhead", "12%"),
        ("overhead", "6 ms"),
        ("bytecodes", "2%"),
        ("bytecodes", "120% of stock"),
        ("overhead", "<= 120% of stock"),
        ("bytecodes", "420"),
        ("calls", "<= forty"),
        ("calls", "<= 1.2.3"),
        ("calls", "<= -1"),
        ("instructions", ""),
        ("instructions", None),
        ("seconds", "<= 1"),
    ],
)
def test_what_is_no_limit_is_refused(metric, text):
    """Nothing is guessed."""
    assert parse(metric, text) is None


@pytest.mark.parametrize("metric", METRICS)
def test_the_examples_in_messages_are_right(metric):
    """What a message says was expected is accepted once its numbers are filled in."""
    for text in describe_syntax(metric).split('"')[1::2]:
        assert parse(metric, text.replace("<number>", "25")) is not None
