"""The groups of a batch: by resources and scopes that are the same, or equal, as they are first seen."""

from __future__ import annotations

import importlib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from makeitems import Scope, span
from opentelemetry.exporter.otlp.proto.http import trace_exporter
from opentelemetry.sdk.resources import Resource

STOCK = importlib.import_module("opentelemetry.exporter.otlp.proto.common.trace_encoder").encode_spans
# Of equal values, some twice. In JSON, from which a resource is hashed, True and 1 differ; as values they are equal.
RESOURCES = [Resource({"service.name": name}) for name in ("a", "b", "a", "c")]
RESOURCES += [
    Resource({"n": 1}),
    Resource({"n": True}),
    Resource({"service.name": "a"}, "https://schema"),
    RESOURCES[0],
]
SCOPES = [Scope("x"), Scope("y"), Scope("x"), Scope("x", "1"), Scope("x", attributes={"k": 1})]


@pytest.mark.proves("otlp.http_spans")
def test_random_batches_are_grouped_as_by_stock(instrumentor, core, no_faults):
    """Whether a resource is seen once, again, or an equal one, with one scope or several."""
    instrumentor.instrument(core=core)
    picks = st.tuples(st.sampled_from(range(len(RESOURCES))), st.sampled_from(range(len(SCOPES))))

    @settings(max_examples=150, deadline=None, database=None)
    @given(st.lists(picks, max_size=8))
    def compare(picked):
        spans = [
            span(f"span {number}", resource=RESOURCES[of], instrumentation_scope=SCOPES[scope])
            for number, (of, scope) in enumerate(picked)
        ]
        assert trace_exporter.encode_spans(spans).SerializeToString() == STOCK(spans).SerializeToString()

    compare()
    assert trace_exporter.encode_spans is not STOCK
    assert no_faults.counts() == {}


@pytest.mark.proves("otlp.http_spans")
@pytest.mark.parametrize("order", [(0, 1, 0), (1, 0, 1), (1, 1), (0, 0, 1, 1)])
def test_a_resource_without_a_hash_is_a_group_of_its_own(order, instrumented):  # noqa: ARG001  # it is applied
    """Stock encodes no batch with it; none is lost, and the others are grouped as before."""
    broken = Resource({"service.name": "broken"})
    broken._attributes._dict["bad"] = {("no", "json"): 1}
    kinds = [Resource({"service.name": "a"}), broken]
    request = trace_exporter.encode_spans([span(resource=kinds[each]) for each in order])

    found = [len(each.scope_spans[0].spans) for each in request.resource_spans]
    assert found == [order.count(each) for each in dict.fromkeys(order)]
