"""Whether stock's functions are its own: whatever other code has put in their place is noticed."""

from __future__ import annotations

import functools
from types import MethodType
from unittest import mock

import pytest
import wrapt
from opentelemetry.instrumentation import dbapi, redis
from opentelemetry.util.genai.invocation import EmbeddingInvocation
from opentelemetry.util.genai.types import Error

from otel_fastpath.compiled.facts import Facts, is_true
from otel_fastpath.patching.stock import Reached

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
