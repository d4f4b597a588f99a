"""Closures of stock's that were made before this package was set up, or after it, are handed over."""

import gc
import weakref

import pytest

from otel_fastpath.wrapping.closures import Closures

MODULE = """
    def factory(name):
        def closure():
            return "stock's " + name

        return closure


    {made}
"""


@pytest.fixture
def scans(monkeypatch):
    """How often all objects of the process were looked through."""
    calls, scan = [], gc.get_referrers
    monkeypatch.setattr(gc, "get_referrers", lambda *objects: calls.append(objects) or scan(*objects))
    return calls


@pytest.fixture
def imported(modules):
    """Imports a module with a factory, and with what it makes itself."""

    def load(made=""):
        modules("has_closures", MODULE.format(made=made))
        import has_closures

        return has_closures

    return load


def take_over(module):
    """Hand over what the module's factory makes; returns the closures' owner, and the next factory."""
    closures = Closures("closure")
    return closures, closures.take_over(module.factory, lambda _copy, name: lambda: f"our {name}")


def test_without_closures_no_object_is_looked_at(imported, scans):
    """A process has hundreds of thousands; the next closure is handed over when it is made."""
    _, factory = take_over(imported())

    assert scans == []
    assert factory("next")() == "our next"
    assert scans == []


def test_closures_of_the_module_itself_are_found_there(imported, scans):
    """Stock's instrumentation of aiohttp's server makes one when it is imported."""
    module = imported("middleware = again = factory('kept')")
    take_over(module)

    assert scans == []
    assert module.middleware() == "our kept"


@pytest.mark.parametrize("made", ["", "middleware = factory('kept')"], ids=["none of its own", "one of its own"])
def test_closures_that_applications_have_are_found(imported, scans, made):
    """Wherever an application keeps them; each does its own work again when it is given back."""
    module = imported(made)
    applications = [[module.factory("first")], {"hooks": module.factory("second")}]
    closures, _ = take_over(module)

    assert len(scans) == 1
    assert [applications[0][0](), applications[1]["hooks"]()] == ["our first", "our second"]
    closures.diversions.undo()
    assert [applications[0][0](), applications[1]["hooks"]()] == ["stock's first", "stock's second"]


def test_closures_are_found_after_they_were_given_back(imported):
    """What was diverted once counts as made."""
    module = imported()
    function = module.factory("first")
    closures, _ = take_over(module)
    closures.diversions.undo()
    take_over(module)

    assert function() == "our first"


def test_a_closure_that_its_variable_refers_to_is_not_kept(imported):
    """As an application's, or a channel's, that has it as its method."""

    class Name(str):
        """What the closure has a variable for."""

        __slots__ = ("__weakref__", "function")

    _, factory = take_over(imported())
    name = Name("first")
    name.function = factory(name)
    assert name.function() == "our first"
    watched = weakref.ref(name)
    del name
    gc.collect()
    assert watched() is None
