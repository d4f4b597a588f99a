"""Facts that are looked at only where that is free: other code's replacements are noticed by the compiled core."""

from __future__ import annotations

import sys
from types import ModuleType

import pytest

from otel_fastpath.compiled import facts, facts_c
from otel_fastpath.patching.stock import watched

# CPython reports changes of classes since then.
WATCHES = sys.version_info >= (3, 12)
CORES = [pytest.param(facts, False, id="py"), pytest.param(facts_c, WATCHES, id="c")]


@pytest.fixture
def owner(monkeypatch):
    """A class with a property, in a module of its own, as stock's are."""
    module = ModuleType("watched_module")
    exec(  # noqa: S102  # its functions are the module's
        "class Value:\n    @property\n    def name(self): return 1\n    def method(self): return 2\n", vars(module)
    )
    monkeypatch.setitem(sys.modules, "watched_module", module)
    module.Value.__module__ = "watched_module"
    return module.Value


def test_only_what_there_is(owner):
    """Releases do not all have the same."""
    assert [each[:2] for each in watched(owner, "name", "method", "other")] == [(owner, "name"), (owner, "method")]


@pytest.mark.parametrize(("module", "notices"), CORES)
def test_a_replacement_later(owner, module, notices):
    """It is noticed where CPython tells of it; where a set-up looks, by each core."""
    made = module.Facts(watched(owner, "name"))
    assert facts.is_true(made)

    owner.name = property(lambda _self: 3)

    assert not facts.is_true(made)
    if module is facts:
        assert made.hold() is not notices


@pytest.mark.parametrize("module", [facts, facts_c], ids=["py", "c"])
def test_a_replacement_before(owner, module):
    """It is noticed by each core: the value that is expected is none that there is."""
    owner.name = property(lambda _self: 3)

    made = module.Facts(watched(owner, "name"))

    assert not facts.is_true(made)
    if module is facts:
        assert not made.hold()


def test_a_set_up_that_held_is_asked_again(owner):
    """In the pure core, too, facts that are renewed are looked at once."""
    made = facts.Facts(watched(owner, "name"))
    assert made.hold()
    fact = watched(owner, "name")
    owner.name = property(lambda _self: 3)

    made.renew(fact)

    assert not made.hold()
