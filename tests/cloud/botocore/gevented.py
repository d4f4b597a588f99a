"""Greenlets that call AWS at the same time; prints the pairs of a call's table and its parent's name, and the faults.

Run by test_calls.py, with the modules of the standard library patched; the argument is the core.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

import gevent
from opentelemetry import context

from otel_fastpath import FastpathInstrumentor
from otel_fastpath.patching import faults

sys.path.insert(0, str(Path(__file__).parents[3]))

from tests.cloud.botocore.conftest import Answers, Telemetry


def main():
    """Call, from 20 greenlets."""
    instrumentor = FastpathInstrumentor()
    instrumentor.instrument(core=sys.argv[1])
    telemetry, answers = Telemetry(), Answers()
    client = answers.client("dynamodb")
    # Each waits for the others in the midst of its call.
    client.meta.events.register("before-send.*", lambda **_more: time.sleep(0.001))
    tracer = telemetry.tracers.get_tracer("application")

    def work(number):
        for _ in range(5):
            with tracer.start_as_current_span(f"around {number}"):
                client.get_item(TableName=f"around {number}", Key={})

    with telemetry.instrumented():
        gevent.joinall([gevent.spawn(work, number) for number in range(20)], raise_error=True)
    spans = telemetry.seen()
    calls = [span for span in spans if span[0] == "DynamoDB.GetItem"]
    pairs = [(dict(span[3])["aws.dynamodb.table_names"][0], spans[span[-1]][0]) for span in calls]
    states = {row.name: row.state.value for row in instrumentor.status()}
    # On one line, after what the package says.
    sys.stdout.write(json.dumps([pairs, not context.get_current(), states["botocore.calls"], faults.counts()]) + "\n")


main()
