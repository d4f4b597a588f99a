"""Any value in any field of any item: it costs what cannot be sent of this item, and nothing else."""

from __future__ import annotations

import logging
from typing import Any

import pytest
from fields import FIELDS, VALUES
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from makeitems import CONTEXT, GOOD, batch, event, exemplar, point
from opentelemetry.sdk.metrics.export import AggregationTemporality
from opentelemetry.trace import Link, SpanKind
from opentelemetry.trace.status import Status
from test_bad_items import alone, module, sent, together, whole

from otel_fastpath.otlp.altering import counts
from otel_fastpath.patching import faults
from otel_fastpath.patching.pausing import Pace

MODULE = {signal: f"encode_{'spans' if signal == 'traces' else signal}" for signal in FIELDS}
# One of them is right in each field.
USUAL = (
    *(1, "text", (1, 2), {"k": "v"}),
    *(SpanKind.SERVER, Status(), event(), Link(CONTEXT), exemplar(), point(), AggregationTemporality.DELTA),
)
_ONE_OF = {"value": ("as_int", "as_double"), "ids": ("span_id", "trace_id")}


@pytest.fixture(autouse=True)
def quiet(monkeypatch):
    """Without the log of what stock leaves out: pytest cannot report texts that are not Unicode."""
    for name in ("opentelemetry.exporter.otlp.proto.common._internal", "otel_fastpath"):
        logger = logging.getLogger(name)
        monkeypatch.setattr(logger, "propagate", False)
        monkeypatch.setattr(logger, "handlers", [logging.NullHandler()])
    # Nor with the pauses for other threads, which are long on a busy machine.
    monkeypatch.setattr(Pace, "turn", lambda _: None)


def parts(each: Any) -> dict[str, Any]:
    """The messages of an item that arrived, each a copy, and their schema URLs."""

    def copy(message):
        return type(message).FromString(message.SerializeToString())

    return {
        "item": copy(each.item),
        "scope": copy(each.scope.scope),
        "resource": copy(each.resource.resource),
        "scope_schema_url": each.scope.schema_url,
        "resource_schema_url": each.resource.schema_url,
    }


def without(each: Any, path: str) -> dict[str, Any] | None:
    """The messages of an item without what is at this path."""
    if path == "*":
        return None
    made = parts(each)
    first, *names = path.split(".")
    if not names:
        del made[first]
        return made
    owners = [made[first]]
    for name in names[:-1]:
        owners = [
            inner
            for value in (getattr(owner, name) for owner in owners)
            for inner in (value if hasattr(value, "__len__") else [value])
        ]
    for owner in owners:
        for name in _ONE_OF.get(names[-1], names[-1:]):
            owner.ClearField(name)
    return made


def check(signal, field, value, *, protocol="http"):
    """What the module's docstring says, for one value in one field."""
    encode = getattr(module(protocol, signal), MODULE[signal])
    good = GOOD[signal]
    before, after = (whole(*sent(alone(signal, good(name)))) for name in ("before", "after"))
    item = field.make(value())
    by_stock = alone(signal, item)
    known = faults.counts()

    counts._counts.clear()
    [*arrived] = sent(encode(batch(signal, [item])))
    found = counts.counts()

    names = {field.counted, *(name for name, _ in field.around)}
    if by_stock is None:
        assert found, "what is altered is counted"
        assert {name.partition(" ")[2] for name in found} <= names | {field.counted.partition(".")[0]}
        usual = sent(next(filter(None, (alone(signal, field.make(each)) for each in USUAL))))
        paths = [field.path, *(path for _, path in field.around)]
        ours = [without(*arrived, path) if arrived else None for path in paths]
        theirs = [without(*usual, path) for path in paths]
        assert any(one == other for one, other in zip(ours, theirs, strict=True)), "only this field is altered"
    else:
        assert encode(batch(signal, [item])).SerializeToString() == by_stock.SerializeToString()
        assert not {name for name in found if not name.endswith("attributes")}
    for _ in range(2):
        around = [*map(whole, sent(encode(batch(signal, [good("before"), item, good("after")]))))]
        assert [each for each in around if each in (before, after)] == [before, after]
        assert sorted(map(repr, around)) == sorted(map(repr, [before, *map(whole, arrived), after]))
    by_stock = together(signal, [good("before"), item, good("after")])
    assert by_stock is None or encode(batch(signal, [good("before"), item, good("after")])) == by_stock
    assert encode(batch(signal, [good("before")])) == alone(signal, good("before"))
    assert faults.counts() == known


@pytest.mark.parametrize("signal", list(FIELDS))
@settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_any_value(instrumented, signal, data):
    """The rest of the item is as stock's, the other items arrive, and the next export is as stock's."""
    assert instrumented.is_instrumented_by_opentelemetry
    number = data.draw(st.integers(0, len(FIELDS[signal]) - 1))
    kind = data.draw(st.sampled_from(sorted(VALUES)))
    check(signal, FIELDS[signal][number], VALUES[kind], protocol=data.draw(st.sampled_from(["http", "grpc"])))
