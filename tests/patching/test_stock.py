"""Whether stock's functions are its own: whatever other code has put in their place is noticed."""

from __future__ import annotations

import functools
import sys
import textwrap
from types import MethodType, ModuleType
from unittest import mock

import pytest
import wrapt
from opentelemetry.instrumentation import dbapi, redis
from opentelemetry.util.genai.invocation import EmbeddingInvocation
from opentelemetry.util.genai.types import Error

from otel_fastpath.compiled.facts import Facts, is_true
from otel_fastpath.patching import stock
from otel_fastpath.patching.stock import Reached
from otel_fastpath.patching.swapping import swap

FIRST = (
    "opentelemetry.instrumentation.dbapi:CursorTracer.traced_execution",
    "opentelemetry.instrumentation.redis:_traced_execute_factory",
    "opentelemetry.instrumentation.genai.openai.patch:embeddings_create",
)
PLACES = (
    (dbapi.CursorTracer, "_populate_span"),
    (redis, "_build_span_name"),
    (EmbeddingInvocation, "fail"),
    (EmbeddingInvocation, "response_model_name"),
    (Error, "from_exception"),
)


def _wrapper(wrapped, _instance, args, kwargs):
    return wrapped(*args, **kwargs)


def _function(*_args, **_kwargs):
    return None


REPLACEMENTS = {
    "function": lambda _found: _function,
    "wraps": lambda found: functools.wraps(found)(lambda *_args: None),
    "wrapt": lambda found: wrapt.FunctionWrapper(found, _wrapper),
    "partial": lambda _found: functools.partial(_function),
    "mock": lambda _found: mock.Mock(),
    "method": lambda found: MethodType(_wrapper, found),
    "property": lambda _found: property(_function),
}


def test_facts_of_stock_hold():
    """While nothing is replaced, a class method's included, which is bound anew each time that it is read."""
    found, error = Reached(FIRST).look()

    assert error is None
    assert any(isinstance(value, MethodType) for _, _, value in found)
    assert is_true(Facts(found))
    assert Facts(found).hold()


@pytest.mark.parametrize(
    ("place", "replacement"),
    [
        pytest.param((owner, name), kind, id=f"{name}-{kind}")
        for owner, name in PLACES
        for kind in REPLACEMENTS
        # A module has no properties.
        if kind != "property" or isinstance(owner, type)
    ],
)
def test_a_replacement_is_noticed(place, replacement):
    """Before or after the functions were looked at, of whatever kind it is; and that it is gone again."""
    owner, name = place
    stock = Reached(FIRST)
    facts = Facts(stock.look()[0])
    with mock.patch.object(owner, name, REPLACEMENTS[replacement](getattr(owner, name))):
        assert not facts.hold()
        assert not is_true(facts)
        assert name in stock.why_not()
        assert not stock.holds_again(facts)

    assert stock.why_not() == ""
    assert stock.holds_again(facts)
    assert facts.hold()


def _module():
    """A module of stock's, with a function, and classes that have each kind of attribute."""
    made = ModuleType("subject")
    exec(  # noqa: S102  # a module's functions have its globals
        textwrap.dedent(
            """
            import functools

            def function(): return None

            class Base:
                def method(self): return 1
                @property
                def value(self): return 2
                @classmethod
                def of_class(cls): return 3
                @staticmethod
                def static(): return 4

            class Kind(Base):
                pass
            """
        ),
        vars(made),
    )
    for each in (made.Base, made.Kind):
        each.__module__ = made.__name__
    return made


@pytest.fixture
def subject(monkeypatch):
    """That module, while it is imported."""
    made = _module()
    monkeypatch.setitem(sys.modules, made.__name__, made)
    return made


ATTRIBUTES = ("method", "value", "of_class", "static")


def test_what_nobody_replaced(subject):
    """Of a module, of a class, and of one that inherits it."""
    owners = [(subject, "function"), *((kind, name) for kind in (subject.Base, subject.Kind) for name in ATTRIBUTES)]

    assert all(stock.is_unreplaced(owner, name) for owner, name in owners)
    assert is_true(Facts(stock.unreplaced(owner, name) for owner, name in owners))
    assert stock.definer(subject.Kind, "method") is subject.Base
    assert stock.definer(subject, "function") is subject
    assert stock.definer(subject, "missing") is stock.definer(subject.Kind, "missing") is None
    assert not stock.is_unreplaced(subject, "missing")
    assert stock.as_defined(subject.Base, "value") is vars(subject.Base)["value"]
    assert stock.as_defined(subject.Kind, "value") is not vars(subject.Base)["value"]
    assert stock.inherits(subject.Kind, subject.Base, ATTRIBUTES)


@pytest.mark.parametrize("replacement", REPLACEMENTS.values(), ids=REPLACEMENTS)
@pytest.mark.parametrize("name", ["function", *ATTRIBUTES])
def test_a_replacement_is_none_of_stocks(subject, name, replacement):
    """Whoever looks later, or has looked before."""
    owner = subject if name == "function" else subject.Base
    before = Facts([stock.unreplaced(owner, name)])
    setattr(owner, name, replacement(getattr(owner, name)))

    assert not stock.is_unreplaced(owner, name)
    assert not is_true(before)
    assert not is_true(Facts([stock.unreplaced(owner, name)]))
    assert stock.as_defined(owner, name) is not getattr(owner, name)


def test_a_replacement_of_this_package_is_seen_through(subject):
    """What stands below it counts; a function that is called directly must be stock's very own."""
    original = subject.Base.method
    ours = swap.Swap(subject.Base, "method")
    ours.put(functools.wraps(original)(lambda self: [original(self)]))

    assert stock.is_unreplaced(subject.Base, "method")
    assert is_true(Facts([stock.unreplaced(subject.Kind, "method")]))
    assert stock.as_defined(subject.Base, "method") is not vars(subject.Base)["method"]
    ours.take_off()
    assert stock.as_defined(subject.Base, "method") is original


def test_a_class_that_overrides_something_does_not_inherit_it(subject):
    """One method is enough."""
    own = type("Own", (subject.Base,), {"method": _function})

    assert stock.inherits(own, subject.Base, ("value", "static"))
    assert not stock.inherits(own, subject.Base, ATTRIBUTES)
    assert not stock.inherits(subject.Base, subject.Kind, ATTRIBUTES)


def test_an_object_that_is_exactly_stocks(subject):
    """Of the very class, with its methods; none is set on the object, and none replaced, before or later."""
    methods = stock.own_methods({subject.Kind: ("method",)})
    known = subject.Kind()

    assert stock.has_own(known, methods)
    assert not stock.has_own(subject.Base(), methods)
    assert not stock.has_own(type("Own", (subject.Kind,), {})(), methods)
    known.method = _function
    assert not stock.has_own(known, methods)
    subject.Base.method = _function
    assert not stock.has_own(subject.Kind(), methods)
    assert not stock.has_own(subject.Kind(), stock.own_methods({subject.Kind: ("method",)}))
