"""The check at the end of `make example NAME=guard`: it finds orphans, and counts by thresholds."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[2]))

pytest.importorskip("uvloop", reason="the examples' requirements are not installed")
pytest.importorskip("opentelemetry.proto", reason="likewise")

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from examples.guard import live


def exported(*spans):
    """An export of these spans: (trace, span, parent, trace state)."""
    request = ExportTraceServiceRequest()
    scope = request.resource_spans.add().scope_spans.add()
    for trace, span, parent, state in spans:
        scope.spans.add(trace_id=trace, span_id=span, parent_span_id=parent, trace_state=state, kind=live.SERVER)
    return request.SerializeToString()


def test_adjusted_counts_and_orphans():
    """One in four stands for four; the orphan is not a root."""
    received = live.Received(
        [
            exported((b"1", b"a", b"", "ot=th:c,other=x"), (b"1", b"b", b"a", "")),
            exported((b"2", b"a", b"", ""), (b"3", b"c", b"missing", "")),
        ]
    )
    found = live.check(received, 5)

    assert (found["spans"], found["orphans"], found["kept"], found["adjusted count"]) == (4, 1, 2, 5)
    # The root of the second trace was kept for certain; the other one's variance is (1 - 1/4) / (1/4)².
    assert found["standard error"] == 3
