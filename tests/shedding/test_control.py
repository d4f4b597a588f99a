"""The control law: when more is shed, when less, and in which order."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from otel_fastpath.shedding import control
from otel_fastpath.shedding.control import CALM, LOWEST, SheddingState, step

LIMIT = 0.1


def run(state, share, seconds, limit=LIMIT):
    """The state after so many seconds, each a second of a process that uses a whole processor."""
    for _ in range(seconds):
        state = step(state, limit, share, 1.0, 1.0)
    return state


def test_nothing_is_shed_below_the_limit():
    """Neither a level nor a probability changes."""
    state = run(SheddingState(), 0.09, 600)
    assert (state.level, state.probability) == (control.EVERYTHING, 1.0)
    assert state.share == pytest.approx(0.09)


def test_levels_come_in_order():
    """Internal spans, then traces down to the lowest probability, then events, then logs; then it is the floor."""
    state, seen = SheddingState(), []
    for _ in range(300):
        state = run(state, 0.105, 1)
        if not seen or state.level != seen[-1][0]:
            seen.append((state.level, state.probability))
    assert [level for level, _ in seen] == [0, 1, 2, 3, 4]
    assert [probability for level, probability in seen if level < control.FEWER_TRACES] == [1.0, 1.0]
    assert [probability for level, probability in seen if level > control.FEWER_TRACES] == [LOWEST, LOWEST]
    assert state.is_at_floor
    assert not run(state, 0.05, 5).is_at_floor


def test_far_above_the_limit_it_does_not_wait():
    """After two seconds, and traces at once."""
    assert run(SheddingState(), 0.5, 1).level == control.EVERYTHING
    state = run(SheddingState(), 0.5, 2)
    assert state.level == control.FEWER_TRACES
    assert state.probability < LIMIT / 0.5


def test_it_comes_back_by_itself():
    """Below three quarters of the limit: the probability rises, then levels are taken back one by one."""
    state, levels = SheddingState(control.FEWER_LOGS, LOWEST), []
    for _ in range(400):
        state = run(state, 0.01, 1)
        levels.append(state.level)
    assert sorted(set(levels), reverse=True) == [4, 3, 2, 1, 0]
    assert levels == sorted(levels, reverse=True)
    assert state.probability == 1.0


def test_between_low_and_limit_nothing_changes():
    """There is room between shedding more and shedding less."""
    state = SheddingState(control.FEWER_TRACES, 0.3)
    for share in (0.076, 0.085, 0.1):
        after = run(state, share, 600)
        assert (after.level, after.probability) == (2, 0.3)


def test_a_level_that_is_needed_again_waits_longer_each_time():
    """A cost that only one level holds: it is taken back less and less often."""
    state, changes = SheddingState(), []
    for second in range(3600):
        before = state.level
        state = run(state, 0.105 if before == control.EVERYTHING else 0.07, 1)
        if state.level != before:
            changes.append(second)
    first, last = (sum(low <= each < low + 600 for each in changes) for low in (0, 3000))
    assert max(sum(low <= each < low + 60 for each in changes) for low in range(0, 3600, 10)) <= 5
    assert last < first / 2


def test_an_idle_process_sheds_nothing():
    """Its share means little: half of a hundredth of a processor is telemetry's."""
    state = SheddingState()
    for _ in range(60):
        state = step(state, LIMIT, 0.0025, 0.005, 1.0)
    assert state.level == control.EVERYTHING


@given(st.lists(st.floats(0, 1), max_size=100), st.floats(0.001, 0.9))
def test_the_state_is_always_valid(shares, limit):
    """Whatever telemetry costs; and each step is a function of its arguments only."""
    state = SheddingState()
    for share in shares:
        before, again = replace(state), step(state, limit, share, 1.0, 1.0)
        assert state == before
        assert again == step(state, limit, share, 1.0, 1.0)
        state = again
        assert control.EVERYTHING <= state.level <= control.FEWER_LOGS
        assert LOWEST <= state.probability <= 1
        assert CALM <= state.calm <= control.MOST_CALM
        assert state.probability == 1 or state.level >= control.FEWER_TRACES


def test_a_forked_child_sheds_as_its_parent_and_measures_anew():
    """What it has measured so far was another process's."""
    state = control.renewed(run(SheddingState(), 0.5, 20))
    assert state.level >= control.FEWER_TRACES
    assert state.probability < 1
    assert (state.telemetry, state.seconds, state.share) == (0, 0, None)
