"""Under `monkey.patch_all()`, in a process of its own: the driver's reactor of gevent, greenlets, timeouts."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

pytest.importorskip("gevent")

PROGRAM = """
from gevent import monkey
monkey.patch_all()
import gevent, json, sys, warnings
warnings.simplefilter("ignore")
from gevent.pool import Pool
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from otel_fastpath import FastpathInstrumentor
from otel_fastpath.patching import faults

exporter, provider = InMemorySpanExporter(), TracerProvider()
provider.add_span_processor(BatchSpanProcessor(exporter))
trace.set_tracer_provider(provider)
FastpathInstrumentor().instrument(cassandra="on", gevent=sys.argv[3], core=sys.argv[2], disabled="exceptions")
from cassandra.cluster import Cluster
from cassandra.concurrent import execute_concurrent_with_args

tracer = trace.get_tracer("app")
with Cluster(["127.0.0.1"], port=int(sys.argv[1]), protocol_version=4) as cluster:
    session = cluster.connect("shop", wait_for_all_pools=True)
    reactor = cluster.connection_class.__name__
    statement = session.prepare("INSERT INTO users (id) VALUES (?)")

    def create(number):
        with tracer.start_as_current_span(f"user {number}"):
            session.execute(statement, [str(number)])

    with tracer.start_as_current_span("root"):
        Pool(20).map(create, range(300))
        gevent.joinall([gevent.spawn(create, number) for number in range(300, 320)])
        execute_concurrent_with_args(session, "DELETE FROM users WHERE id = %s", [(1,)] * 100, concurrency=10)
        killed = gevent.spawn(session.execute, "SELECT killed")
        gevent.sleep(0.02)
        killed.kill()
        try:
            with gevent.Timeout(0.02):
                session.execute("SELECT late")
        except gevent.Timeout:
            pass
    gevent.sleep(0.5)
provider.force_flush()
spans = exporter.get_finished_spans()
by_id = {span.context.span_id: span for span in spans}
print(json.dumps({
    "reactor": reactor,
    "faults": faults.counts(),
    "spans": [[
        span.name, span.status.status_code.name, span.attributes.get("error.type"),
        by_id[span.parent.span_id].name if span.parent else None,
    ] for span in spans],
}))
"""


@pytest.mark.parametrize("setting", ["on", "off"])
def test_each_request_is_in_its_trace(server, core, setting, tmp_path):
    """With the setting, of the code that spawned its greenlet; what is killed or timed out is an error."""
    server.answer("SELECT killed", delay=300)
    server.answer("SELECT late", delay=300)
    file = tmp_path / "program.py"
    file.write_text(PROGRAM, encoding="utf-8")

    result = subprocess.run(
        [sys.executable, file, str(server.ports[0]), core, setting],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )

    assert result.returncode == 0, result.stderr
    found = json.loads(result.stdout)
    assert found["faults"] == {}
    assert found["reactor"] in {"GeventConnection", "AsyncioConnection", "LibevConnection"}
    spans = found["spans"]
    users = [parent for name, _, _, parent in spans if name.startswith("user ")]
    assert users == ["root" if setting == "on" else None] * 320
    requests = [(status, parent.partition(" ")[0]) for name, status, _, parent in spans if name == "INSERT users"]
    assert requests == [("UNSET", "user")] * 320
    assert [parent for name, _, _, parent in spans if name == "DELETE users"] == ["root"] * 100
    errors = {error for name, status, error, _ in spans if status == "ERROR"}
    assert errors == {"greenlet.GreenletExit", "gevent.timeout.Timeout"}
    assert len(spans) == len({tuple(map(str, span)) for span in spans if span[0].startswith("user ")}) + 320 + 100 + 5
