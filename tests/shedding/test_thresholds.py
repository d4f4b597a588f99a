"""Thresholds and randomness, as in "TraceState: Probability Sampling"."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from opentelemetry.trace import TraceState

from otel_fastpath.shedding import thresholds

theirs_of = pytest.importorskip("opentelemetry.sdk.trace._sampling_experimental._trace_state")

# From the specification's table: one in so many, and the threshold with four digits.
TABLE = [(1, "0"), (2, "8"), (3, "aaab"), (4, "c"), (5, "cccd"), (8, "e"), (10, "e666"), (16, "f"), (100, "fd70a")]


@pytest.mark.parametrize(("one_in", "text"), TABLE)
def test_thresholds_are_those_of_the_specification(one_in, text):
    """With four digits of precision, more where the threshold begins with `f`."""
    assert thresholds.entry_with("", thresholds.threshold_of(1 / one_in)) == f"th:{text}"


@given(st.floats(0.0001, 1.0))
def test_a_threshold_stands_for_its_probability(probability):
    """Within the four digits that are written, also after it was written and read."""
    threshold = thresholds.threshold_of(probability)
    assert thresholds.probability_of(threshold) == pytest.approx(probability, rel=1e-3)
    assert thresholds.threshold_in(thresholds.entry_with("", threshold)) == threshold


@given(st.integers(0, 2**56 - 1), st.sampled_from(["", "rv:6e6d1a75832a2f", "p:8;rv:6e6d1a75832a2f", "p:8;th:c"]))
def test_entries_are_read_as_the_sdk_reads_them(threshold, entry):
    """The SDK's own codec, which is private, reads what is written, and the other values are kept."""
    written = thresholds.entry_with(entry, threshold)
    theirs = theirs_of.OtelTraceState.parse(TraceState([("ot", written)]))
    assert theirs.threshold == threshold == thresholds.threshold_in(written)
    assert ("p:8" in entry) == ("p:8" in theirs.rest)
    if "rv" in entry:
        assert theirs.random_value == 0x6E6D1A75832A2F == thresholds.randomness(1, written)


@pytest.mark.parametrize("entry", ["", "rv:zz6d1a75832a2f", "rv:6e6d", "th:", "th:xyz", "th:000000000000000", "th:F"])
def test_invalid_values_count_as_absent(entry):
    """The randomness is then that of the trace id, its last 56 bits."""
    assert thresholds.randomness((5 << 56) + 7, entry) == 7
    assert thresholds.threshold_in(entry) is None


def test_an_entry_that_would_be_too_long_is_left():
    """At most 256 characters, says the specification."""
    entry = "k:" + "x" * 252
    assert thresholds.entry_with(entry, 1 << 55) == entry
