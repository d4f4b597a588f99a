"""What the tests of the API's functions share."""

from __future__ import annotations

import pytest
from opentelemetry import baggage, trace
from opentelemetry import context as context_api

from otel_fastpath.trace.context import baggage_functions, context_functions

# The names of the patches -> the module of the function, and what makes the replacement.
PATCHED = {
    "context.attach": (context_api, context_functions.bind_attach),
    "context.detach": (context_api, context_functions.bind_detach),
    "context.get_value": (context_api, context_functions.bind_get_value),
    "context.set_value": (context_api, context_functions.bind_set_value),
    "trace.set_span_in_context": (trace, context_functions.bind_set_span),
    "trace.get_current_span": (trace, context_functions.bind_get_span),
    "baggage.get_all": (baggage, baggage_functions.bind_get_all),
    "baggage.get_baggage": (baggage, baggage_functions.bind_get_baggage),
    "baggage.set_baggage": (baggage, baggage_functions.bind_set_baggage),
}
STOCK = {name: getattr(module, name.partition(".")[2]) for name, (module, _) in PATCHED.items()}


@pytest.fixture
def libraries():
    """No library is wrapped: that takes longer than these tests."""
    return ()


@pytest.fixture
def stock():
    """Stock's functions, by the patch's name."""
    return STOCK


@pytest.fixture
def ours(instrumented, core, no_faults, monkeypatch):
    """This package's in their place; there must be no fault. The pure twins, which no patch uses, are put there."""
    states = {row.name: row.state.value for row in instrumented.status()}
    assert {states[name] for name in PATCHED} == {"applied" if core == "c" else "off"}
    for name, (module, bind) in PATCHED.items() if core == "py" else ():
        monkeypatch.setattr(module, name.partition(".")[2], bind(STOCK[name]))
    yield {name: getattr(module, name.partition(".")[2]) for name, (module, _) in PATCHED.items()}
    assert no_faults.counts() == {}
