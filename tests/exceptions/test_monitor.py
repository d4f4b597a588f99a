"""The counters take a tool id politely, count in every thread, and give everything back."""

from __future__ import annotations

import contextlib
import logging
import sys
import threading

import pytest

from otel_fastpath.exceptions import monitor
from otel_fastpath.exceptions.monitor import TOOL_IDS, TOOL_NAME

MONITORING = sys.monitoring
RAISE = sys.monitoring.events.RAISE


def raised(counters):
    """Type -> how many."""
    return {count.type: count.raised for count in counters.snapshot()}


def fail(kind=ValueError):
    """Raise and handle one."""
    try:
        raise kind  # noqa: TRY301  # the subject
    except kind:
        pass


@pytest.fixture
def taken():
    """Take tool ids, as others do."""
    ids = []

    def take(*tool_ids):
        for tool_id in tool_ids:
            MONITORING.use_tool_id(tool_id, f"other {tool_id}")
            ids.append(tool_id)

    yield take
    for tool_id in ids:
        monitor.clear(tool_id)
        MONITORING.free_tool_id(tool_id)


@pytest.mark.parametrize("number", range(len(TOOL_IDS)))
def test_the_first_free_id_is_taken(start, taken, number):
    """Ids are tried from the one that nobody uses to the one that somebody has the best claim to."""
    taken(*TOOL_IDS[:number])

    assert start()
    assert MONITORING.get_tool(TOOL_IDS[number]) == TOOL_NAME


def test_nothing_is_taken_by_force(counters, start, taken, logged):
    """Where no id is free, the service runs uncounted, and one line says who has them."""
    taken(*TOOL_IDS)

    assert not start()
    (line,) = logged()
    assert "other 5" in line
    assert "other 1" in line
    fail()
    assert counters.snapshot() == ()
    (row,) = counters.status()
    assert row.state.value == "skipped"
    assert "other 3" in row.reason


def test_what_was_not_asked_for_is_no_warning(start, taken, caplog):
    """Only who set OTEL_FASTPATH_EXCEPTIONS is warned that it cannot be done."""
    caplog.set_level(logging.INFO, "otel_fastpath")
    taken(*TOOL_IDS)

    start()
    start(asked=True)
    assert [record.levelname for record in caplog.records] == ["INFO", "WARNING"]


def test_stop_gives_everything_back(counters, start):
    """After a stop the id is free, with neither events nor callbacks left on it."""
    start(mode="handled")
    counters.stop()

    assert MONITORING.get_tool(TOOL_IDS[0]) is None
    MONITORING.use_tool_id(TOOL_IDS[0], "next")
    try:
        assert MONITORING.get_events(TOOL_IDS[0]) == 0
        for name in ("RAISE", "RERAISE", "EXCEPTION_HANDLED"):
            assert MONITORING.register_callback(TOOL_IDS[0], getattr(MONITORING.events, name), None) is None
    finally:
        MONITORING.free_tool_id(TOOL_IDS[0])
    fail()
    assert raised(counters) == {}


def test_an_earlier_owner_is_called_no_more(counters, start):
    """Some releases of Python keep the callbacks and events of who gave an id back: they end with ours."""
    calls = []
    MONITORING.use_tool_id(TOOL_IDS[0], "earlier")
    MONITORING.register_callback(TOOL_IDS[0], RAISE, lambda *_: calls.append("raise"))
    MONITORING.register_callback(TOOL_IDS[0], MONITORING.events.PY_START, lambda *_: calls.append("start"))
    MONITORING.set_events(TOOL_IDS[0], RAISE | MONITORING.events.PY_START)
    MONITORING.free_tool_id(TOOL_IDS[0])

    start()
    calls.clear()
    fail()
    assert calls == []
    assert raised(counters) == {"ValueError": 1}


def test_somebody_elses_id_is_left_alone(counters, start):
    """If our id was freed and taken by another, stopping does not take it from them."""
    start()
    monitor.clear(TOOL_IDS[0])
    MONITORING.free_tool_id(TOOL_IDS[0])
    MONITORING.use_tool_id(TOOL_IDS[0], "another")
    try:
        counters.stop()
        assert MONITORING.get_tool(TOOL_IDS[0]) == "another"
    finally:
        MONITORING.free_tool_id(TOOL_IDS[0])


def test_counting_goes_on_after_a_restart(counters, start):
    """What was counted stays over a stop, and is added to; what is raised in between is not."""
    start()
    fail()
    counters.stop()
    fail()
    assert raised(counters) == {"ValueError": 1}
    counters.start(counters.Settings())
    fail()
    assert raised(counters) == {"ValueError": 2}


def test_starting_twice_is_starting_anew(counters, start):
    """The second start takes the place of the first, and no second id."""
    start()
    start(mode="handled")
    fail()
    assert raised(counters) == {"ValueError": 1}
    assert sum(MONITORING.get_tool(tool_id) == TOOL_NAME for tool_id in range(6)) == 1


def test_off_takes_nothing(counters, start):
    """Switched off, no id is taken."""
    assert not start(mode="off")
    assert all(MONITORING.get_tool(tool_id) != TOOL_NAME for tool_id in range(6))
    assert [row.state.value for row in counters.status()] == ["off"]


def test_threads_that_began_earlier_are_counted(counters, start):
    """A thread in a loop of its own, which no call leaves, is counted from the start on."""
    begin, end = threading.Event(), threading.Event()

    def work():
        begin.wait()
        for _ in range(100):
            with contextlib.suppress(ValueError):
                int("x")
        end.set()

    thread = threading.Thread(target=work)
    thread.start()
    start()
    begin.set()
    thread.join()
    assert raised(counters)["ValueError"] == 100


def test_no_exception_of_many_threads_is_lost(counters, start):
    """Eight threads at once: the total is exact."""
    start(mode="handled", code=True)

    def work():
        for _ in range(5000):
            fail(LookupError)

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    (count,) = [count for count in counters.snapshot() if count.type == "LookupError"]
    assert (count.raised, count.handled, count.sites[0].raised) == (40_000, 40_000, 40_000)


def test_python_callback_is_for_who_asks(counters, start, logged):
    """Without the compiled callback nothing is counted, unless it was said that Python may do."""
    assert not start(core="py")
    assert "OTEL_FASTPATH_CORE=py" in logged()[0]
    assert start(core="py", python=True, mode="handled")
    assert "Handled exceptions are not counted" in logged()[1]
    fail()
    assert raised(counters) == {"ValueError": 1}
    assert counters.snapshot()[0].handled is None


def test_a_missing_extension_is_one_line(counters, monkeypatch, logged):
    """A package that was built without a compiler says so, and what can be done."""
    monkeypatch.setitem(sys.modules, "otel_fastpath.exceptions.callbacks_c", None)

    assert not counters.start(counters.Settings())
    (line,) = logged()
    assert "the compiled callback is not built; OTEL_FASTPATH_EXCEPTIONS=python" in line


def _freed(tool_id):
    """Another tool takes an id away, as one that was written for it alone does."""
    MONITORING.free_tool_id(tool_id)


def test_counting_goes_on_where_another_tool_frees_our_id(counters, start):
    """With another id, or the same one; nothing is counted twice, and the status says what happened."""
    assert start()
    fail()
    before = raised(counters)["ValueError"]
    _freed(TOOL_IDS[0])

    (row,) = counters.status()

    assert row.state.value == "applied"
    assert row.reason == f"another tool freed the tool id 5 of sys.monitoring; {TOOL_IDS[0]} is used since"
    assert MONITORING.get_tool(TOOL_IDS[0]) == TOOL_NAME
    fail()
    assert raised(counters)["ValueError"] == before + 1
    assert counters.status() == [row]


def test_a_tool_that_takes_our_id_keeps_it(counters, start, taken):
    """With its events and callbacks; ours go on with the next id."""
    assert start()
    _freed(TOOL_IDS[0])
    taken(TOOL_IDS[0])
    seen = []
    MONITORING.register_callback(TOOL_IDS[0], RAISE, lambda *_: seen.append(1))
    MONITORING.set_events(TOOL_IDS[0], RAISE)

    (row,) = counters.status()

    assert row.reason == f"another tool freed the tool id 5 of sys.monitoring; {TOOL_IDS[1]} is used since"
    before = raised(counters).get("ValueError", 0)
    seen.clear()
    fail()
    assert raised(counters)["ValueError"] == before + 1
    assert seen == [1]


def test_a_tool_that_takes_our_id_and_no_callbacks_has_none_of_ours(counters, start, taken):
    """Before 3.14, freeing an id leaves its callbacks."""
    assert start()
    _freed(TOOL_IDS[0])
    taken(TOOL_IDS[0])
    counters.status()
    before = raised(counters).get("ValueError", 0)

    fail()

    assert raised(counters)["ValueError"] == before + 1


def test_the_status_says_that_no_other_id_is_free(counters, start, taken):
    """Exceptions are not counted then."""
    assert start()
    _freed(TOOL_IDS[0])
    taken(*TOOL_IDS)

    (row,) = counters.status()

    assert row.state.value == "skipped"
    assert row.reason.startswith("another tool freed the tool id 5 of sys.monitoring; all are taken: 5 by other 5, ")
