"""The guard of a process: its thread, its settings, what it tells, and that it leaves nothing behind."""

import asyncio
import logging
import os
import subprocess
import sys
import threading
import time

import pytest
from newer_releases import sheds_spans
from opentelemetry import trace
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader

from otel_fastpath.shedding import clocks, control, keeper

THREAD = "otel-fastpath-guard"


def row(instrumentor):
    """The guard's line of the status."""
    (found,) = (each for each in instrumentor.status() if each.name == "guard")
    return found


def threads():
    """The guard's threads."""
    return [each for each in threading.enumerate() if each.name == THREAD]


def test_without_a_limit_nothing_is_there(instrumentor, core):
    """No thread, no layer, and the status says why."""
    instrumentor.instrument(core=core)
    assert row(instrumentor).state.value == "off"
    assert row(instrumentor).reason == "max_cpu is not set"
    assert threads() == []
    assert keeper.keeper() is None


def test_a_limit_starts_it_and_uninstrument_stops_it(instrumentor, environ, core, traced):
    """By the variable or the argument; the original functions come back."""
    from opentelemetry.sdk.trace import Tracer

    before = Tracer.start_as_current_span
    environ.setenv("OTEL_FASTPATH_MAX_CPU", "3%")
    given = traced()
    instrumentor.instrument(core=core, tracer_provider=given.provider)
    assert row(instrumentor).state.value == "applied"
    assert row(instrumentor).reason.startswith("limit 3 %; telemetry not measured yet; nothing is shed")
    (thread,) = threads()
    assert thread.daemon
    given.requests(200)
    assert keeper.keeper().prices()["tracer.start_as_current_span"][0] == 400
    assert keeper.keeper().prices()["tracer.start_as_current_span"][1] > 100
    assert len(given.spans()) == 600
    instrumentor.uninstrument()
    thread.join(10)
    assert threads() == []
    assert Tracer.start_as_current_span is before
    assert keeper.keeper() is None


def test_it_can_be_disabled_by_name(instrumentor, core):
    """As each patch and wrapper."""
    instrumentor.instrument(core=core, max_cpu="3%", disabled="guard")
    assert (row(instrumentor).state.value, row(instrumentor).reason) == ("off", "disabled by setting (guard)")
    assert threads() == []


def test_where_threads_have_no_clock_it_is_skipped(instrumentor, monkeypatch):
    """With the reason, and nothing else is affected."""
    monkeypatch.setattr(clocks.sys, "platform", "darwin")
    instrumentor.instrument(max_cpu="3%")
    assert row(instrumentor).state.value == "skipped"
    assert row(instrumentor).reason == "the CPU time of a thread can be read on Linux only"


def test_each_change_of_level_is_logged_once(traced, driven, caplog):
    """With the number; and the floor, once."""
    caplog.set_level(logging.INFO, logger="otel_fastpath.guard")
    guard = driven(traced().provider)
    guard.spend(0.105, 300)
    guard.spend(0.05, 5)
    guard.spend(0.105, 100)
    lines = [(record.levelname, record.getMessage()) for record in caplog.records]
    changes = [text for level, text in lines if level == "INFO"]
    assert changes[0] == "Telemetry takes 10.5 % of the CPU, the limit is 10 %: internal spans are shed."
    assert len(changes) == 4
    (warning,) = (text for level, text in lines if level == "WARNING")
    assert warning == (
        "Telemetry takes 10.5 % of the CPU and cannot take less, but the limit is 10 %: hooks 10.5 % is what is left."
    )
    assert "nothing more can be shed" in guard.describe()


@sheds_spans
def test_it_reports_metrics(traced, driven):
    """The share by part, what was shed by kind and reason, the level and the probability."""
    from otel_fastpath.shedding import observables

    reader = InMemoryMetricReader()
    given = traced()
    guard = driven(given.provider)
    observables.report(guard.observe, MeterProvider([reader]))
    try:
        guard.spend(0.25, 2)
        given.requests(300)
        (resource,) = reader.get_metrics_data().resource_metrics
    finally:
        observables.stop()
    found = {each.name: each.data.data_points for scope in resource.scope_metrics for each in scope.metrics}
    shares = {
        point.attributes["otel_fastpath.telemetry.part"]: point.value for point in found["otel_fastpath.telemetry.cpu"]
    }
    assert shares["hooks"] == pytest.approx(0.25)
    shed = {point.attributes["otel_fastpath.shed.kind"]: point.value for point in found["otel_fastpath.shed"]}
    assert shed["trace"] == guard._shed.counts()["trace"] > 0
    assert {point.attributes["otel_fastpath.shed.reason"] for point in found["otel_fastpath.shed"]} == {"max_cpu"}
    assert [point.value for point in found["otel_fastpath.guard.level"]] == [2]
    assert 0 < found["otel_fastpath.guard.probability"][0].value < 1


def test_a_fault_of_the_guard_ends_it(traced, driven, no_faults):
    """Nothing is shed any more, and the host sees nothing."""
    given = traced()
    guard = driven(given.provider)
    guard.spend(0.9, 5)

    def read():
        raise RuntimeError("the clock is broken")

    guard._clocks.read = read
    guard._stopped.wait = lambda _seconds: guard._stopped.is_set()
    guard._run(guard._stopped)
    assert no_faults.counts() == {"the guard": 1}
    assert guard.state.level == control.EVERYTHING
    given.requests(10)
    assert len(given.spans()) == 30


def test_threads_are_measured_exactly():
    """The CPU of an exporter's thread, and not the time that it sleeps."""
    from otel_fastpath.shedding.timed_hooks import TimedHooks

    stop, burning = threading.Event(), threading.Event()

    def work():
        burning.wait(10)
        while not stop.is_set():
            sum(range(1000))

    thread = threading.Thread(target=work, name="OtelBatchSpanRecordProcessor", daemon=True)
    thread.start()
    measured = clocks.Clocks(TimedHooks())
    stop.wait(0.1)
    assert measured.read().parts["spans"] < 0.01
    burning.set()
    stop.wait(0.3)
    stop.set()
    cost = measured.read()
    thread.join()
    assert 0.02 < cost.parts["spans"] <= cost.process + 0.01
    assert cost.telemetry == pytest.approx(cost.parts["spans"])
    assert measured.read().parts["spans"] == 0


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")
def test_a_forked_child_guards_itself():
    """With a thread of its own, which measures anew, and what its parent shed."""
    program = """
import os, sys, threading, time, warnings
warnings.simplefilter("ignore")
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry import trace
trace.set_tracer_provider(TracerProvider())
from otel_fastpath import FastpathInstrumentor
FastpathInstrumentor().instrument(max_cpu="3%")
from otel_fastpath.shedding import control, keeper
parent = keeper.keeper()
parent._follow(control.SheddingState(control.FEWER_TRACES, 0.5, telemetry=1.0))
pid = os.fork()
if pid == 0:
    names = [each.name for each in threading.enumerate()]
    state = keeper.keeper().state
    good = names.count("otel-fastpath-guard") == 1 and (state.level, state.probability, state.telemetry) == (2, 0.5, 0)
    time.sleep(2.2)
    good = good and keeper.keeper()._parts != {}
    os._exit(0 if good else 1)
sys.exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
"""
    assert subprocess.run([sys.executable, "-c", program], timeout=60, check=False).returncode == 0


SCOPE = {
    "type": "http",
    "asgi": {"version": "3.0"},
    "http_version": "1.1",
    "method": "GET",
    "scheme": "http",
    "path": "/items/3",
    "raw_path": b"/items/3",
    "query_string": b"",
    "root_path": "",
    "headers": [(b"host", b"localhost")],
    "client": ("127.0.0.1", 5),
    "server": ("127.0.0.1", 8000),
}


async def _served(app, number):
    """The messages that an application sends to so many requests."""
    sent = []

    async def receive():
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message):
        sent.append(message)

    for _ in range(number):
        await app({**SCOPE, "state": {}}, receive, send)
    return sent


@pytest.mark.parametrize("stock", [False, True], ids=["own", "stock"])
def test_servers_are_timed_and_serve_as_before(instrumentor, core, traced, *, stock):
    """FastAPI's own telemetry and the stock instrumentation: the same answers and spans, timed or not."""
    fastapi = pytest.importorskip("fastapi")
    pytest.importorskip("fastapi.telemetry", reason="this FastAPI has no telemetry of its own")
    given = traced()
    app = fastapi.FastAPI(telemetry={"tracer_provider": given.provider, "tracing": not stock, "metrics": False})

    @app.get("/items/{number}")
    async def read(number: int) -> dict[str, int]:
        trace.get_current_span().set_attribute("seen", "yes")
        return {"number": number}

    instrumentor.instrument(core=core, max_cpu="90%", tracer_provider=given.provider)
    if stock:
        contrib = pytest.importorskip("opentelemetry.instrumentation.fastapi")
        contrib.FastAPIInstrumentor.instrument_app(app, tracer_provider=given.provider)
    keeper.keeper()._hooks.lay()
    sent = asyncio.run(_served(app, 300))

    assert [message.get("status") for message in sent] == [200, None] * 300
    spans = given.spans()
    assert len(spans) == len({span.context.span_id for span in spans})
    servers = [span for span in spans if span.kind is trace.SpanKind.SERVER]
    assert len(servers) == 300
    assert len(spans) % 300 == 0
    assert sum("seen" in (span.attributes or {}) for span in spans) == 300
    calls, price = keeper.keeper().prices()["asgi.request" if stock else "fastapi_own.request"]
    assert calls == 300
    assert 1_000 < price < 3_000_000


def test_queries_are_timed_without_the_database(instrumentor, core, traced):
    """Each query runs once, timed or not; what it raises is raised; the time of the database is not telemetry's."""
    sqlalchemy = pytest.importorskip("sqlalchemy")
    given = traced()
    instrumentor.instrument(core=core, max_cpu="90%", tracer_provider=given.provider, sqlalchemy="on", telemetry="full")
    guard = keeper.keeper()
    guard._hooks.lay()
    assert "sqlalchemy.execute" in guard.prices()
    engine = sqlalchemy.create_engine("sqlite://", poolclass=sqlalchemy.pool.StaticPool)
    runs = []

    @sqlalchemy.event.listens_for(engine, "connect")
    def connected(connection, _record):
        def slow(number):
            runs.append(number)
            time.sleep(0.005)
            return number

        connection.create_function("slow", 1, slow)

    with engine.connect() as connection:
        for number in range(300):
            assert connection.execute(sqlalchemy.text("SELECT slow(:number)"), {"number": number}).scalar() == number
        for _ in range(150):
            with pytest.raises(sqlalchemy.exc.OperationalError):
                connection.execute(sqlalchemy.text("SELECT nothing"))
    engine.dispose()
    assert runs == list(range(300))
    assert (
        len([span for span in given.spans() if (span.attributes or {}).get("db.query.text", "").startswith("SELECT")])
        == 450
    )
    calls, price = guard.prices()["sqlalchemy.execute"]
    assert calls == 450
    # The database takes 3.3 ms on average.
    assert 1_000 < price < 3_000_000


def test_asyncpgs_queries_are_timed(instrumentor, core, traced, database_url):
    """Coroutines are driven step by step; the wait for the database is not telemetry's."""
    asyncpg = pytest.importorskip("asyncpg")
    given = traced()
    instrumentor.instrument(core=core, max_cpu="90%", tracer_provider=given.provider, asyncpg="on", telemetry="full")
    guard = keeper.keeper()
    guard._hooks.lay()

    async def main():
        connection = await asyncpg.connect(database_url)
        found = [await connection.fetchval("SELECT $1::int, pg_sleep(0.005)", number) for number in range(200)]
        with pytest.raises(asyncpg.PostgresSyntaxError):
            await connection.fetchval("SELECT (")
        await connection.close()
        return found

    assert asyncio.run(main()) == list(range(200))
    calls, price = guard.prices()["asyncpg.fetchval"]
    assert calls == 201
    assert 1_000 < price < 4_000_000
    assert len([span for span in given.spans() if span.name.startswith("SELECT")]) >= 200
