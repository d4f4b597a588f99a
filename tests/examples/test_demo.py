"""The demo: what it sends, what it compares, what it leaves behind."""

import asyncio
import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import psutil
import pytest
from rich.console import Console

from examples.demo import __main__ as demo
from examples.demo import report
from examples.demo.load import send
from examples.demo.measure import Leg, Plan
from examples.demo.mix import ORDERS, SHOP, Call, calls
from examples.demo.picture import draw
from examples.demo.processes import interrupts
from examples.demo.runs import sentences
from examples.demo.subjects import SUBJECTS

ROOT = Path(__file__).parents[2]
# Seconds for what takes ten: others may need the processors as well.
PATIENCE = 380


def compared(**changed):
    """The result of `otel-fastpath verify` that differs in one field of one metric."""
    difference = {
        "signal": "metric",
        "scope": "fastapi",
        "name": "size",
        "field": "sum",
        "stock": "1 x 5",
        "fastpath": "",
    }
    return {"own": {}, "differences": [difference], **changed}


def test_a_difference_is_a_sentence():
    """With what only one of the two sent."""
    assert sentences(compared()) == ["metric 'size' of fastapi: sum: only stock: 1 x 5, only fastpath: nothing"]


def test_telemetry_of_the_packages_own_is_a_difference():
    """A service emits what it emitted before, and nothing more."""
    own = {"exceptions": {"fastpath": 3, "stock": 0}}

    assert sentences(compared(differences=[], own=own)) == ["exceptions: 3 items of otel-fastpath's own"]


def test_a_difference_fails_the_demo(capsys):
    """The exit code is 1 and every difference is printed; without any it is 0. What is not compared is printed, too."""
    console = Console(width=200)
    assert demo.verdict(console, "shop", {"deliberate": [], "differences": []}) == 0
    found = {"deliberate": ["connect"], "differences": ["it is [not] the same"]}
    assert demo.verdict(console, "shop", found) == 1
    printed = capsys.readouterr().out
    assert "it is [not] the same" in printed
    assert "these differ deliberately (docs/differences.md): connect" in printed


def test_the_costs_of_the_signals_add_up():
    """Each adds to those before it: all of them together are the cost of the telemetry."""
    cpu = {"bare": 100, "stock-traces": 150, "stock-traces-metrics": 170, "stock": 200}
    cpu |= {"fastpath-traces": 110, "fastpath-traces-metrics": 112, "fastpath": 120}
    runs = [
        {
            name: Leg(name, 0, None, 200, [(cost + more) * 1e-6] * 2, [500.0] * 2, [0.002] * 400)
            for name, cost in cpu.items()
        }
        for more in (0, 30, 10)
    ]
    sent = {
        name: {"spans": 900, "metric_series": 9, "log_records": 90, "wire_bytes": 9} for name in ("stock", "fastpath")
    }

    found = report.result(SUBJECTS["orders"], runs, Plan(200, 2), sent) | {"left_out": ["redis"]}

    signals = {
        name: {signal: round(each["median"]) for signal, each in leg["signals_cpu_us"].items()}
        for name, leg in found["legs"].items()
    }
    assert signals == {
        "bare": {},
        "stock": {"traces": 50, "metrics": 20, "logs": 30},
        "fastpath": {"traces": 10, "metrics": 2, "logs": 8},
    }
    assert ["telemetry's share (us)", "-", "100 (100 to 100)", "20 (20 to 20)", "x 0.20"] in report.rows(found)
    assert [
        "CPU per request (us)",
        "110 (100 to 130)",
        "210 (200 to 230)",
        "130 (120 to 150)",
        "x 0.62",
    ] in report.rows(found)
    assert "80% less" in report.gain({"orders": found})
    assert "not installed: redis" in report.summary(found)
    assert "traces 50, metrics 20, logs 30" in draw(found, report.TITLES)


def test_a_figure_that_noise_turns_negative_has_no_ratio():
    """The division would mean nothing."""
    runs = [
        {name: Leg(name, 0, None, 200, [cost * 1e-6], [500.0], [0.002] * 200) for name, cost in cpu.items()}
        for cpu in ({"bare": 100, "stock": 90, "fastpath": 105}, {"bare": 100, "stock": 120, "fastpath": 105})
    ]

    found = report.result(SUBJECTS["shop"], runs, Plan(200, 1), {})

    [row] = [row for row in report.rows(found) if row[0] == "telemetry's share (us)"]
    assert row[-1] == "-"


@pytest.mark.parametrize("mix", [SHOP, ORDERS], ids=["shop", "orders"])
def test_a_round_repeats_and_has_every_kind(mix):
    """The same seed gives the same requests, another one others, and a hundred have every kind in its share."""
    assert calls(100, 1, mix) == calls(100, 1, mix)
    assert calls(100, 1, mix) != calls(100, 2, mix)
    assert Counter(call.kind for call in calls(100, 3, mix)) == mix.shares
    assert any(b"traceparent: 00-" in call.wire for call in calls(100, 1, mix))


def test_the_load_tells_wrong_answers():
    """Every request is sent once, also over connections that are not kept, and an unexpected status is reported."""
    seen = []

    async def serve(reader, writer):
        while line := await reader.readline():
            while await reader.readline() != b"\r\n":
                pass
            seen.append(line)
            last = line.startswith(b"GET /last")
            head = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n" + (b"connection: close\r\n" if last else b"") + b"\r\nok"
            writer.write(head)
            if last:
                break
        writer.close()

    async def drive():
        server = await asyncio.start_server(serve, "127.0.0.1", 0)
        async with server:
            port = server.sockets[0].getsockname()[1]
            wanted = [Call("fine", b"GET / HTTP/1.1\r\n\r\n", 200), Call("closed", b"GET /last HTTP/1.1\r\n\r\n", 200)]
            return await send(port, [*wanted * 5, Call("odd", b"GET / HTTP/1.1\r\n\r\n", 404)], 2)

    load = asyncio.run(drive())
    assert len(seen) == len(load.latencies) == 11
    assert load.wrong == ["odd: status 200 where 404 was due"]


@pytest.fixture
def a_database(request):
    """Skip the test if the demo has no PostgreSQL: there is none to start, and DATABASE_URL names none."""
    if not os.environ.get("DATABASE_URL"):
        request.getfixturevalue("bundled_postgresql")


@pytest.fixture
def start_demo(tmp_path):
    """Starts the demo as its user does; whatever it started is found by its scratch folder."""
    started = []

    def start(*arguments, **environment):
        scratch = tmp_path / "scratch"
        scratch.mkdir()
        process = subprocess.Popen(
            [sys.executable, "-m", "examples.demo", "--out", str(tmp_path / "out"), *arguments],
            cwd=ROOT,
            env={**os.environ, "TMPDIR": str(scratch), "COLUMNS": "120", **environment},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )
        started.append(process)
        return process

    yield start
    for process in started:
        # It ends what it started; killed, it would leave that behind.
        process.terminate()
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.communicate(timeout=PATIENCE)
        process.kill()
        process.wait()
        process.stdout.close()


def wait_for_log(process, tmp_path, name):
    """Wait until a process of the demo logs; a service logs nothing before the first fault that the load asks for."""
    deadline = time.monotonic() + PATIENCE
    while not ((written := tmp_path / "out" / "logs" / f"{name}.log").exists() and written.stat().st_size):
        assert process.poll() is None, process.communicate()[0]
        assert time.monotonic() < deadline
        time.sleep(0.02)


SHORTEST = ("--runs", "2", "--rounds", "1", "--requests", "100")


@pytest.mark.usefixtures("a_database", "releases_of_the_examples")
@pytest.mark.slow
def test_a_short_demo_of_the_shop_runs_to_its_end(start_demo, tmp_path):
    """From nothing to a table, a picture and a JSON whose figures fit the requests that were sent."""
    process = start_demo("--only", "shop", *SHORTEST)
    output, _ = process.communicate(timeout=PATIENCE)
    assert process.returncode == 0, output
    for told in ("CPU per request", "requests per second", "p99", "spans received", "sent the same telemetry"):
        assert told in output
    found = json.loads((tmp_path / "out" / "result.json").read_text())["shop"]
    legs = found["legs"]
    assert found["same_telemetry"]
    assert {leg["requests"] for leg in legs.values()} == {400}
    assert legs["bare"]["spans"] == legs["bare"]["metric_series"] == 0
    assert legs["stock"]["spans"] == legs["fastpath"]["spans"] > 400
    # Stock records the size of another response for the one that is streamed.
    assert legs["stock"]["metric_series"] - 1 == legs["fastpath"]["metric_series"] > 10
    assert 0 < legs["bare"]["cpu_us"]["median"] < legs["stock"]["cpu_us"]["median"]
    assert "| CPU per request (us) |" in (tmp_path / "out" / "shop.md").read_text()
    assert list((tmp_path / "scratch").iterdir()) == []


@pytest.mark.slow
@pytest.mark.usefixtures("a_database", "releases_of_the_examples")
def test_a_short_demo_of_the_orders_runs_to_its_end(start_demo, tmp_path):
    """The service with every library sends the same spans, metrics and log records, each of them measured apart."""
    process = start_demo("--only", "orders", *SHORTEST)
    output, _ = process.communicate(timeout=PATIENCE)
    assert process.returncode == 0, output
    found = json.loads((tmp_path / "out" / "result.json").read_text())["orders"]
    legs = found["legs"]
    assert found["same_telemetry"]
    assert found["left_out"] == ([] if shutil.which("redis-server") or os.environ.get("REDIS_URL") else ["redis"])
    assert legs["stock"]["log_records"] == legs["fastpath"]["log_records"] > 400
    assert legs["fastpath"]["spans"] > 4 * 400
    assert list(legs["stock"]["signals_cpu_us"]) == ["traces", "metrics", "logs"]
    for name in ("traces", "metrics", "logs"):
        assert f"share of {name} (us)" in (tmp_path / "out" / "orders.md").read_text()
        assert f"var(--{name})" in (tmp_path / "out" / "demo-orders.svg").read_text()
    assert "demo-orders.svg" in (tmp_path / "out" / "page.md").read_text()
    assert list((tmp_path / "scratch").iterdir()) == []


@pytest.mark.usefixtures("bundled_postgresql")
@pytest.mark.parametrize(
    ("number", "log"),
    [
        (signal.SIGTERM, "postgresql"),
        pytest.param(signal.SIGINT, "postgresql", marks=pytest.mark.slow),
        pytest.param(signal.SIGINT, "shop-1-bare", marks=pytest.mark.slow),
    ],
)
def test_an_interrupted_demo_leaves_nothing(start_demo, tmp_path, number, log):
    """Interrupted while it starts or under load, the demo ends every process that it started and says so."""
    process = start_demo("--rounds", "500", DATABASE_URL="")
    wait_for_log(process, tmp_path, log)
    left = psutil.Process(process.pid).children(recursive=True)
    assert left
    process.send_signal(number)
    output, _ = process.communicate(timeout=PATIENCE)
    assert process.returncode == 130, output
    assert "interrupted" in output
    _, alive = psutil.wait_procs(left, timeout=60)
    assert [one for one in alive if one.status() != psutil.STATUS_ZOMBIE] == []
    assert list((tmp_path / "scratch").iterdir()) == []


@pytest.mark.slow
def test_a_service_that_does_not_start_fails_the_demo(start_demo):
    """Where the database is not to be had the demo says which process failed and why, and ends with 1."""
    process = start_demo("--only", "shop", DATABASE_URL="postgresql://nobody@127.0.0.1:1/nothing")
    output, _ = process.communicate(timeout=PATIENCE)
    assert process.returncode == 1
    assert "the demo failed: shop-1-bare ended" in output
    assert "ConnectionRefusedError" in output


@pytest.mark.slow
@pytest.mark.usefixtures("a_database")
def test_a_service_that_crashes_fails_the_demo(start_demo, tmp_path):
    """A service that dies under load is named with the signal that ended it."""
    process = start_demo("--rounds", "500")
    wait_for_log(process, tmp_path, "shop-1-bare")
    [service] = [
        child
        for child in psutil.Process(process.pid).children()
        if child.environ().get("OTEL_PYTHON_DISABLED_INSTRUMENTATIONS") == "fastpath"
    ]
    service.kill()
    output, _ = process.communicate(timeout=PATIENCE)
    assert process.returncode == 1
    assert "stock broke off" in output
    assert "ended with -9" in output


def test_a_foreign_openai_server_is_not_loaded_by_accident(start_demo, database_url):
    """An OPENAI_BASE_URL elsewhere is refused unless it is given on the command line as well."""
    process = start_demo(DATABASE_URL=database_url, OPENAI_BASE_URL="http://openai.example/v1")
    output, _ = process.communicate(timeout=PATIENCE)
    assert process.returncode == 1
    assert "--openai-base-url" in output


def test_an_interrupt_of_the_load_is_raised_when_the_loop_is_over():
    """A signal cancels a coroutine that would not end by itself, and only then raises; the next one is not affected."""
    cancelled = []

    async def endless():
        asyncio.get_running_loop().call_later(0.05, signal.raise_signal, signal.SIGINT)
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            cancelled.append(True)
            raise

    with interrupts() as signals:
        with pytest.raises(KeyboardInterrupt):
            signals.run(endless())
        assert cancelled == [True]
        assert signals.run(asyncio.sleep(0, "fine")) == "fine"
