"""Loggers that a provider is asked for again."""

from __future__ import annotations

import copy
import os
import threading
import tracemalloc

import pytest
from newer_releases import disabled_loggers
from opentelemetry import _logs as api
from opentelemetry._logs import NoOpLogger
from opentelemetry.sdk import _logs
from opentelemetry.sdk._logs import LoggerProvider

from otel_fastpath.compiled import hot

pytestmark = pytest.mark.usefixtures("no_faults")
ASKED = (("again",), ("again", "1.0"), ("again", None, "https://schema"), ("other", "1.0", "https://schema"), ("", ""))


@pytest.fixture
def provider(instrumented):  # noqa: ARG001  # before there is a provider
    """A provider."""
    return LoggerProvider(shutdown_on_exit=False)


@pytest.mark.proves("logs.get_logger")
def test_it_is_the_one_that_stock_has_made(provider):
    """One for each name, version and schema URL; those of the provider's own dict, and of its set."""
    first = [provider.get_logger(*asked) for asked in ASKED]

    for _ in range(3):
        assert [provider.get_logger(*asked) for asked in ASKED] == first
    assert provider._logger_cache == dict(zip([(*asked, None, None)[:3] for asked in ASKED], first, strict=True))
    assert provider.get_logger("again", schema_url="https://schema") is first[2]
    assert api.get_logger("again", "1.0", provider) is first[1]
    if hasattr(provider, "_active_loggers"):
        assert set(provider._active_loggers) == set(first)


def test_with_attributes_each_is_another(provider):
    """As with stock."""
    plain = provider.get_logger("again")
    one, other = (provider.get_logger("again", attributes={"a": 1}) for _ in range(2))

    assert len({id(each) for each in (plain, one, other)}) == 3
    assert provider.get_logger("again") is plain


@pytest.mark.parametrize("name", [["a"], {"a": 1}])
def test_a_name_without_a_hash(provider, name):
    """Each call raises, as stock does."""
    for _ in range(2):
        with pytest.raises(TypeError, match="unhashable"):
            provider.get_logger(name)


def test_a_name_of_another_class_is_left_to_stock(provider):
    """It may compare equal to a text."""

    class Name(str):
        __slots__ = ()

        def __eq__(self, other):
            return True

        __hash__ = str.__hash__

    provider.get_logger("again")
    found = provider.get_logger(Name("again"))
    assert found is provider.get_logger(Name("again"))


def test_a_provider_that_is_off(provider):
    """Its loggers do nothing, also those of a known name."""
    provider.get_logger("again")
    provider._disabled = True

    assert type(provider.get_logger("again")) is NoOpLogger


def test_a_method_of_a_subclass_or_of_other_code_is_called(provider, monkeypatch):
    """Whatever the dict has."""
    made = provider.get_logger("again")

    class Own(LoggerProvider):
        def _get_logger_cached(self, name, version=None, schema_url=None):
            return name, version, schema_url

        def get_logger(self, *asked, **named):
            return super().get_logger(*asked, **named) if asked[0] != "mine" else "mine"

    with monkeypatch.context() as undone:
        undone.setattr(LoggerProvider, "_get_logger_cached", lambda *_: other)
        other = provider._get_logger_no_cache("other")
        assert provider.get_logger("again") is other
    assert provider.get_logger("again") is made
    provider._get_logger_cached = lambda *_: other
    assert provider.get_logger("again") is other
    own = Own.__new__(Own)
    vars(own).update(vars(LoggerProvider(shutdown_on_exit=False)), _active_loggers=set())
    assert own.get_logger("mine") == "mine"
    assert own.get_logger("again") == ("again", None, None)


@disabled_loggers
def test_a_configurator_that_is_set_later(provider):
    """It configures the loggers that are known."""
    logger = provider.get_logger("again")
    assert provider.get_logger("again") is logger
    provider._set_logger_configurator(logger_configurator=_logs._internal._disable_logger_configurator)

    assert not provider.get_logger("again")._is_enabled()


def test_another_dict_and_another_provider(provider):
    """Nothing is kept elsewhere."""
    first = provider.get_logger("again")
    assert copy.copy(provider).get_logger("again") is first
    assert LoggerProvider(shutdown_on_exit=False).get_logger("again") is not first
    provider._logger_cache = {}
    assert provider.get_logger("again") is not first


def test_many_threads_get_one(provider):
    """Of each name."""
    found = [set() for _ in range(50)]

    def ask():
        for number, each in enumerate(found):
            each.add(provider.get_logger(f"of.threads.{number}"))

    threads = [threading.Thread(target=ask) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert [len(each) for each in found] == [1] * 50


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")
def test_a_forked_child_gets_the_same(provider):
    """And makes others of its own."""
    found = provider.get_logger("again")
    child = os.fork()
    if child == 0:
        is_right = provider.get_logger("again") is found and provider.get_logger("new") is provider.get_logger("new")
        os._exit(0 if is_right else 1)

    assert os.waitpid(child, 0)[1] == 0


def test_a_fault_of_ours_costs_nothing(provider, monkeypatch, no_faults):
    """Stock's own answer is returned."""
    found = provider.get_logger("again")
    module = hot.logs_known_loggers
    if module.__name__.endswith("_c"):
        pytest.skip("what is broken here is a global of plain Python")
    monkeypatch.setattr(module, "get_item", None)

    assert provider.get_logger("again") is found
    assert no_faults.counts() == {"LoggerProvider.get_logger": 1}


@pytest.mark.slow
def test_100_000_names_take_no_more_memory_than_with_stock(instrumentor, core):
    """Each of them asked for twice, and used once."""

    def used():
        provider = LoggerProvider(shutdown_on_exit=False)
        tracemalloc.start()
        for number in range(100_000):
            provider.get_logger(f"in.turn.{number}").emit(body="x")
            provider.get_logger(f"in.turn.{number}")
        size, _ = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        return size

    expected = used()
    instrumentor.instrument(core=core)
    assert used() <= 1.05 * expected
