"""Tracers and meters that a provider is asked for again."""

from __future__ import annotations

import copy
import gc
import logging
import os
import sys
import threading
import weakref

import pytest
from opentelemetry import metrics, trace
from opentelemetry.metrics import NoOpMeter
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.util.instrumentation import InstrumentationScope

from otel_fastpath.compiled import hot
from otel_fastpath.trace.by_name import PLAN

pytestmark = pytest.mark.usefixtures("no_faults")
# The texts of a version and a schema URL that are asked for with a name.
ASKED = (("again",), ("again", "1.0"), ("again", None, "https://schema"), ("other", "1.0", "https://schema"))


@pytest.fixture(params=["tracer", "meter"])
def kind(request):
    """What is asked for."""
    return request.param


@pytest.fixture
def provider(kind, instrumented):  # noqa: ARG001  # before there is a provider
    """A provider of it."""
    return {"tracer": TracerProvider, "meter": MeterProvider}[kind](shutdown_on_exit=False)


@pytest.fixture
def get(kind):
    """Ask a provider, by position or by name."""
    return lambda provider, *asked, **named: getattr(provider, f"get_{kind}")(*asked, **named)


def _made(provider, kind):
    return getattr(provider, f"_{kind}s")


@pytest.mark.proves("tracer.get_tracer", "metrics.get_meter")
def test_it_is_the_one_that_stock_has_made(provider, kind, get):
    """One for each name, version and schema URL; those of the provider's own dict."""
    first = [get(provider, *asked) for asked in ASKED]

    for _ in range(3):
        assert [get(provider, *asked) for asked in ASKED] == first
    assert len({id(each) for each in first}) == len(ASKED) == len(_made(provider, kind))
    assert get(provider, "again", schema_url="https://schema") is first[2]


def test_functions_of_the_api_find_it(provider, kind):
    """They ask the provider that they are given."""
    module = {"tracer": trace, "meter": metrics}[kind]
    ask = getattr(module, f"get_{kind}")
    found = [ask("again", **{f"{kind}_provider": provider}) for _ in range(3)]

    assert found[0] is found[1] is found[2]


def test_with_attributes_stock_is_asked(provider, get):
    """They are part of the scope."""
    plain = get(provider, "again")
    one = get(provider, "again", None, None, {"a": 1})

    assert get(provider, "again", attributes={"a": 1}) is one is not plain
    assert get(provider, "again") is plain


def test_an_empty_name_is_reported_each_time(provider, get, caplog):
    """By stock."""
    with caplog.at_level(logging.WARNING, "opentelemetry"):
        for _ in range(3):
            get(provider, "")

    assert len(caplog.records) == 3


@pytest.mark.parametrize("name", [["a"], {"a": 1}])
def test_a_name_without_a_hash(provider, get, name):
    """Each call raises, as stock does."""
    get(provider, "again")
    for _ in range(2):
        with pytest.raises(TypeError, match="unhashable"):
            get(provider, name)


class Name(str):
    """A text that is the same as any other, to those who ask it."""

    __slots__ = ()

    def __eq__(self, other):
        """Always."""
        return True

    def __hash__(self):
        """As a known name."""
        return hash("again")


def test_a_name_of_another_class_is_not_remembered(provider, get):
    """It may compare equal to a text."""
    found = get(provider, Name("first"))

    assert found is get(provider, Name("first"))
    assert Name("first") not in list(map(type, vars(provider).get(PLAN, ())))
    assert all(type(asked[0]) is str for asked in getattr(vars(provider).get(PLAN), "known", ()))


def test_a_provider_that_is_off(provider, kind, get):
    """It returns what measures and records nothing, also for a known name."""
    get(provider, "again")
    provider._disabled = True

    assert type(get(provider, "again")).__name__ == f"NoOp{kind.capitalize()}"


def test_a_meter_provider_that_is_shut_down(instrumented):  # noqa: ARG001  # see `provider`
    """Its meters measure nothing."""
    provider = MeterProvider(shutdown_on_exit=False)
    provider.get_meter("again")
    provider.shutdown()

    assert type(provider.get_meter("again")) is NoOpMeter


@pytest.mark.parametrize("is_emptied", [False, True], ids=["another dict", "emptied"])
def test_a_provider_that_starts_anew(provider, kind, get, is_emptied):
    """As tests of applications do."""
    first = get(provider, "again")
    if is_emptied:
        getattr(provider, f"_{kind}s").clear()
    else:
        setattr(provider, f"_{kind}s", {})

    second = get(provider, "again")
    assert second is not first
    assert get(provider, "again") is second


def test_a_copy_of_a_provider(provider, get):
    """It has the same dict."""
    first = get(provider, "again")

    assert get(copy.copy(provider), "again") is first


def test_another_provider_makes_its_own(provider, get):
    """Nothing is shared between providers."""
    other = type(provider)(shutdown_on_exit=False)

    assert get(provider, "again") is not get(other, "again")
    assert get(provider, "again") is not get(other, "again")


def test_nothing_stays(provider, kind, get, instrumented):
    """Of a provider that is gone; and nothing of ours on one, after uninstrumenting."""
    gone = weakref.ref(get(type(provider)(shutdown_on_exit=False), "again"))
    gc.collect()
    found = get(provider, "again")
    assert PLAN in vars(provider)
    instrumented.uninstrument()

    assert gone() is None
    assert PLAN not in vars(provider)
    assert get(provider, "again") is found
    assert _made(provider, kind)


def test_many_threads_get_one(provider, get):
    """Of each name."""
    found = [set() for _ in range(50)]

    def ask():
        for number, each in enumerate(found):
            each.add(get(provider, f"of.threads.{number}"))

    threads = [threading.Thread(target=ask) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert [len(each) for each in found] == [1] * 50


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")
def test_a_forked_child_gets_the_same(provider, get):
    """And makes others of its own."""
    found = get(provider, "again")
    child = os.fork()
    if child == 0:
        os._exit(0 if get(provider, "again") is found and get(provider, "new") is get(provider, "new") else 1)

    assert os.waitpid(child, 0)[1] == 0


def test_a_fault_of_ours_costs_nothing(provider, get, monkeypatch, no_faults):
    """The provider's own answer is returned."""
    with monkeypatch.context() as broken:
        broken.setattr(hot.trace_by_name, "PLANS", None)
        assert get(provider, "again") is get(provider, "again")

    assert sum(no_faults.counts().values()) > 0


@pytest.mark.skipif(sys.version_info < (3, 12), reason="CPython reports no changes of classes")
@pytest.mark.parametrize("name", ["__eq__", "__hash__"])
def test_what_they_are_found_by_is_replaced(provider, kind, get, core, monkeypatch, name):
    """Stock's provider looks for them in its dict then, and makes another one."""
    if core == "py":
        pytest.skip("the pure core does not look at it each time")
    first = get(provider, "again")
    with monkeypatch.context() as patched:
        patched.setattr(
            InstrumentationScope, name, {"__eq__": lambda *_: False, "__hash__": lambda scope: hash(id(scope))}[name]
        )
        assert get(provider, "again") is not first
    assert get(provider, "other") is get(provider, "other")
    assert len(_made(provider, kind)) == 3
