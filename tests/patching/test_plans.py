"""Plans that are kept on somebody's object: kept, refused, forgotten, not copied, with both cores and many threads."""

from __future__ import annotations

import copy
import gc
import importlib
import pickle
import sys
import threading
import weakref
from concurrent.futures import ThreadPoolExecutor

import pytest

NAME = "_otel_fastpath_test"


class Thing:
    """Somebody's object."""


class Slotted:
    """One that has no `__dict__` and cannot have weak references."""

    __slots__ = ()


class Delegating:
    """What passes for another object: its attributes, its equality and its hash are the other's."""

    def __init__(self, inner):
        self._inner = inner

    def __getattr__(self, name):
        """What it has not is the other's."""
        return getattr(self._inner, name)

    def __eq__(self, other):
        """As the other."""
        return self._inner == other

    def __hash__(self):
        """Likewise."""
        return hash(self._inner)


class Interrupted:
    """An object in whose `__dict__` something is about to be set when another thread comes in between."""

    def __init__(self, between):
        object.__setattr__(self, "fields", {})
        object.__setattr__(self, "between", [between])

    __slots__ = ("__weakref__", "between", "fields")

    @property
    def __dict__(self):
        """Its fields, after what comes in between."""
        if self.between:
            self.between.pop()()
        return self.fields


@pytest.fixture
def plans(core):
    """The module, of each core."""
    return importlib.import_module(f"otel_fastpath.patching.plans{'_c' if core == 'c' else ''}")


@pytest.fixture
def store(plans):
    """A store."""
    return plans.PlanStore(NAME)


def read(thing):
    """What a hot module does: the plan of the object, if there is one and it is the object's own."""
    plan = getattr(thing, NAME, None)
    return plan if plan is not None and plan.owner == id(thing) else None


def test_a_plan_is_kept_on_its_object(plans, store):
    """And found there, until it is dropped."""
    thing, other = Thing(), Thing()

    plan = store.keep(plans.PlannedValues(1, 2), thing)

    assert read(thing) is store.kept(thing) is plan
    assert plan.values == (1, 2)
    assert store.kept(other) is None
    assert store.owners(refused=False) == [thing]
    store.drop(thing)
    assert vars(thing) == {}
    assert store.kept(thing) is None


def test_a_plan_without_an_owner_is_nobodys(plans, store):
    """A hot module drops it so; another takes its place."""
    thing = Thing()
    store.keep(plans.Plan(), thing).owner = 0

    assert read(thing) is None
    later = store.keep(plans.Plan(), thing)
    assert read(thing) is later
    assert store.forget() == [(thing, later)]


def test_an_object_is_refused_once_and_for_all(store):
    """Until all plans are forgotten; not another one at the same address."""
    thing = Thing()
    store.refuse(thing)

    assert store.is_refused(thing)
    assert store.kept(thing) is store.beside(thing) is None
    assert (store.owners(refused=True), store.owners(refused=False)) == ([thing], [])
    del thing
    gc.collect()
    assert store.owners(refused=True) == []
    assert not any(store.is_refused(each) for each in [Thing() for _ in range(100)])
    again = Thing()
    store.refuse(again)
    store.forget()
    assert not store.is_refused(again)


def test_all_plans_are_forgotten(plans, store):
    """Those on their objects, which are returned, and those beside them."""
    things = [Thing() for _ in range(3)]
    kept = [(each, store.keep(plans.Plan(), each)) for each in things]
    proxy = Delegating(things[0])
    store.keep_beside(plans.Plan(), proxy)

    assert store.forget() == kept
    assert [vars(each) for each in things] == [{}] * 3
    assert store.beside(proxy) is None
    assert store.forget() == []


@pytest.mark.parametrize(
    "copied",
    [copy.copy, copy.deepcopy, lambda thing: pickle.loads(pickle.dumps(thing))],  # noqa: S301  # its own
    ids=["copy", "deepcopy", "pickle"],
)
def test_a_copy_has_no_plan(plans, store, copied):
    """It gets one of its own; the first object keeps its."""
    thing = Thing()
    thing.field = [1]
    plan = store.keep(plans.PlannedValues(threading.Lock()), thing)

    other = copied(thing)

    assert other.field == [1]
    assert read(other) is store.kept(other) is None
    own = store.keep(plans.Plan(), other)
    assert (read(thing), read(other)) == (plan, own)
    assert len(store.forget()) == 2


def test_an_object_that_is_gone_leaves_nothing(plans, store):
    """The store keeps neither the object nor its plan."""
    things = [Thing() for _ in range(20)]
    weak = type("Weak", (plans.Plan,), {})
    kept = [weakref.ref(plan) for plan in [store.keep(weak(), each) for each in things]]
    proxies = [Delegating(each) for each in things]
    for each in proxies:
        store.keep_beside(plans.Plan(), each)

    del things, proxies, each
    gc.collect()

    assert [each() for each in kept] == [None] * 20
    assert store.owners(refused=False) == []


def test_an_object_that_can_keep_none(plans, store):
    """Its plan serves one call; it is looked at again where it cannot even be refused."""
    slotted = Slotted()
    plan = plans.Plan()

    assert store.keep(plan, slotted) is plan
    assert store.kept(slotted) is None
    store.refuse(slotted)
    assert not store.is_refused(slotted)
    with pytest.raises(TypeError):
        store.keep_beside(plan, slotted)
    assert store.forget() == []


def test_an_object_that_delegates_has_a_plan_beside_it(plans, store):
    """It is equal to the other, and finds its plan, which is not its own."""
    thing = Thing()
    proxy = Delegating(thing)
    plan = store.keep(plans.Plan(), thing)

    assert getattr(proxy, NAME) is plan
    assert read(proxy) is None
    own = store.keep_beside(plans.Plan(), proxy)
    assert store.beside(proxy) is own
    assert store.beside(thing) is store.kept(proxy) is None
    assert store.kept(thing) is plan
    assert own.owner == id(proxy)


def test_no_more_objects_than_allowed(plans):
    """Beyond that, an object may keep its plan when it is seen again, in the place of another."""
    store = plans.PlanStore(NAME, 32)
    things = [Thing() for _ in range(40)]

    def use(each):
        if read(each) is None and store.try_make_room(each):
            store.keep(plans.Plan(), each)
        return read(each) is not None

    assert [use(each) for each in things] == [True] * 32 + [False] * 8
    # Objects whose addresses share a place among the sights are noted in turn: one of them may need more than two.
    for each in things[32:]:
        assert any(use(each) for _ in range(4))
    assert sum(read(each) is not None for each in things) == 32
    assert len(store.forget()) == 32


def test_all_is_forgotten_while_a_plan_is_being_kept(plans, store):
    """Another thread does that between two steps: the plan does not stay."""
    thing = Interrupted(store.forget)
    plan = plans.Plan()

    assert store.keep(plan, thing) is plan

    assert thing.fields == {}
    assert store.forget() == []


def test_two_threads_keep_a_plan_for_one_object(plans, store):
    """Between two steps of one, the other: what stays is forgotten with all else."""
    thing = Interrupted(lambda: store.keep(plans.Plan(), thing))

    store.keep(plans.Plan(), thing)
    store.forget()

    assert thing.fields == {}


def test_many_threads(plans, store):
    """Plans are kept, read, refused, dropped and forgotten at the same time: what is found is the object's own."""
    things = [Thing() for _ in range(8)]
    stop = threading.Event()

    def keep():
        while not stop.is_set():
            for each in things:
                if read(each) is None:
                    store.keep(plans.Plan(), each)
                plan = store.kept(each)
                assert plan is None or plan.owner == id(each)
                store.keep(plans.Plan(), Thing())

    def forget():
        while not stop.is_set():
            for thing, plan in store.forget():
                assert plan.owner == id(thing)
            store.drop(things[0])
            store.owners(refused=False)

    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        with ThreadPoolExecutor(4) as pool:
            running = [pool.submit(each) for each in (keep, forget, keep, forget)]
            stop.wait(1)
            stop.set()
            for each in running:
                each.result(30)
    finally:
        sys.setswitchinterval(before)
    store.forget()

    assert [vars(each) for each in things] == [{}] * 8
