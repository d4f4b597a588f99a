"""On request, greenlets begin in the context of the code that spawns them."""

from __future__ import annotations

import contextvars

import gevent
import gevent.pool
import gevent.threadpool
import pytest
from opentelemetry import context
from sabotage import as_ours, broken

from otel_fastpath.wrapping.gevent import carrying, with_context

KEY = context.create_key("mine")
OTHER = contextvars.ContextVar("other", default="gevent's own")


def current(*_args):
    """What a greenlet sees."""
    return context.get_value(KEY), OTHER.get()


SPAWNS = {
    "spawn": lambda: gevent.spawn(current).get(),
    "spawn_later": lambda: gevent.spawn_later(0.01, current, 1).get(),
    "pool.spawn": lambda: gevent.pool.Pool(1).spawn(current, 1).get(),
    "group.spawn": lambda: gevent.pool.Group().spawn(current, 1).get(),
    "pool.apply": lambda: gevent.pool.Pool(1).apply(current),
    "pool.apply_async": lambda: gevent.pool.Pool(1).apply_async(current).get(),
    "pool.map": lambda: gevent.pool.Pool(2).map(current, [1, 2, 3])[2],
    "pool.map_async": lambda: gevent.pool.Pool(2).map_async(current, [1, 2, 3]).get()[2],
    "pool.imap": lambda: list(gevent.pool.Pool(2).imap(current, [1, 2, 3]))[2],
    "pool.imap_unordered": lambda: list(gevent.pool.Pool(2).imap_unordered(current, [1, 2, 3], maxsize=1))[2],
    "threadpool.spawn": lambda: gevent.threadpool.ThreadPool(1).spawn(current).get(),
    "threadpool.map": lambda: gevent.threadpool.ThreadPool(1).map(current, [1, 2])[1],
}


@pytest.fixture
def mine():
    """A context with a value, and another context variable that is set."""
    token, other = context.attach(context.set_value(KEY, 1)), OTHER.set("the application's")
    before = context.get_current()
    yield
    assert context.get_current() is before
    OTHER.reset(other)
    context.detach(token)


@pytest.mark.proves("gevent.*")
@pytest.mark.usefixtures("mine")
@pytest.mark.parametrize("name", SPAWNS)
def test_a_greenlet_has_the_context(instrumentor, core, no_faults, name):
    """Of OpenTelemetry; other context variables are as without us, and so is everything once that is undone."""
    without = SPAWNS[name]()

    instrumentor.instrument(core=core, gevent="on", disabled="exceptions")
    found = SPAWNS[name]()
    instrumentor.uninstrument()

    assert found == (1, without[1])
    assert without[0] is None
    assert SPAWNS[name]() == without
    assert no_faults.counts() == {}


@pytest.mark.usefixtures("mine")
def test_a_raw_greenlet_has_it_too(instrumentor, core):
    """Which returns nothing."""
    found = []
    instrumentor.instrument(core=core, gevent="on", disabled="exceptions")

    gevent.spawn_raw(lambda: found.append(current()))
    gevent.spawn_raw(lambda value: found.append((value, *current())), value=2)
    gevent.sleep(0.01)

    assert found == [(1, "gevent's own"), (2, 1, "gevent's own")]


@pytest.mark.usefixtures("mine")
@pytest.mark.parametrize("settings", [{}, {"telemetry": "full"}, {"gevent": "off", "telemetry": "full"}])
def test_it_is_off_unless_it_is_asked_for(instrumentor, settings):
    """Also with all telemetry: it changes the parents of spans that others start."""
    instrumentor.instrument(disabled="exceptions", **settings)

    assert SPAWNS["spawn"]()[0] is None
    assert SPAWNS["pool.map"]()[0] is None


def test_each_greenlet_has_its_spawners(instrumentor, core):
    """Whatever runs in between; without a context, none is given."""
    instrumentor.instrument(core=core, gevent="on", disabled="exceptions")
    pool = gevent.pool.Pool(3)

    def child(number):
        gevent.sleep(0.001 * (number % 3))
        return context.get_value(KEY)

    def parent(number):
        token = context.attach(context.set_value(KEY, number))
        gevent.sleep(0)
        children = [gevent.spawn(child, number), *[pool.spawn(child, number) for _ in range(3)]]
        context.detach(token)
        late = gevent.spawn(child, number)
        return [each.get() for each in (*children, late)]

    parents = [gevent.spawn(parent, number) for number in range(50)]

    assert [each.get() for each in parents] == [[number] * 4 + [None] for number in range(50)]


@pytest.mark.usefixtures("mine")
def test_a_function_carries_it_by_itself(core):
    """Without the setting; with the function's name and exceptions."""
    assert core

    def work(value, *, factor=2):
        """Does work."""
        if not value:
            raise ValueError("mine")
        return context.get_value(KEY), value * factor

    carried = with_context(work)

    assert gevent.spawn(carried, 2, factor=3).get() == (1, 6)
    assert (carried.__name__, carried.__doc__) == ("work", "Does work.")
    with pytest.raises(ValueError, match="mine"):
        carried(0)


@pytest.mark.usefixtures("mine")
def test_what_gevent_prints_of_a_failure_does_not_show_the_context(instrumentor, core, capfd):
    """The function, as without us."""
    instrumentor.instrument(core=core, gevent="on", disabled="exceptions")

    def failing(_value):
        raise KeyError("mine")

    for pool in (gevent.pool.Pool(1), gevent.threadpool.ThreadPool(1)):
        with pytest.raises(KeyError):
            pool.map(failing, [1])
    shown = capfd.readouterr().err

    assert "failing" in shown
    assert str(KEY) not in shown


@pytest.mark.usefixtures("mine")
@pytest.mark.parametrize("place", ["carry", "bind_arguments"])
def test_a_fault_of_ours_is_counted_only(instrumentor, no_faults, monkeypatch, place):
    """The greenlet runs, with gevent's own context."""
    instrumentor.instrument(gevent="on", disabled="exceptions")
    if place == "carry":
        monkeypatch.setattr(carrying.contextvars, "Context", as_ours(broken))
    else:
        monkeypatch.setattr(carrying, "bind_arguments", as_ours(broken))

    assert SPAWNS["spawn"]()[1] == "gevent's own"
    assert SPAWNS["pool.imap"]()[1] == "gevent's own"
    assert no_faults.counts()


@pytest.mark.usefixtures("mine")
def test_the_outcome_is_gevents(instrumentor, core):
    """Errors of arguments, exceptions, and what is killed."""
    instrumentor.instrument(core=core, gevent="on", disabled="exceptions")

    def failing(_value=None):
        raise KeyError("mine")

    for call in (gevent.spawn_later, gevent.pool.Group().map):
        with pytest.raises(TypeError):
            call()
    with pytest.raises(KeyError):
        gevent.pool.Pool(1).map(failing, [1])
    killed = gevent.spawn(gevent.sleep, 60)
    gevent.sleep(0)
    killed.kill()
    assert isinstance(killed.value, gevent.GreenletExit)
    started = gevent.pool.Pool(1)
    first = started.spawn(gevent.sleep, 0.01)
    assert started.apply_async(current).get() == (1, "gevent's own")
    first.join()


@pytest.mark.usefixtures("mine")
@pytest.mark.parametrize("name", ["map", "imap", "imap_unordered"])
def test_arguments_are_checked_by_gevent(instrumentor, core, name):
    """Its own TypeError if there is no function; the function may be passed by its name."""
    method = getattr(gevent.pool.Pool(1), name)
    with pytest.raises(TypeError) as own:
        method()
    instrumentor.instrument(core=core, gevent="on", disabled="exceptions")
    method = getattr(gevent.pool.Pool(1), name)

    with pytest.raises(TypeError) as raised:
        method()

    assert raised.value.args == own.value.args
    assert list(gevent.pool.Pool(1).map(func=current, iterable=[1])) == [(1, "gevent's own")]
