"""The demo: what it sends, what it compares, what it leaves behind."""

import asyncio
import contextlib
import copy
import json
import os
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
from examples.demo.compare import differences
from examples.demo.load import send
from examples.demo.mix import SHARES, Call, calls
from examples.demo.processes import interrupts

ROOT = Path(__file__).parents[2]
# Seconds for what takes ten: others may need the processors as well.
PATIENCE = 300


def span(name="SELECT", place="(root) > GET /items", **attributes):
    """A span as the summary has it."""
    return json.dumps({"scope": {"name": "asyncpg"}, "name": name, "place": place, "attributes": attributes})


SERIES = json.dumps({"scope": {"name": "fastapi"}, "name": "http.server.request.duration", "attributes": {"code": 200}})
SUMMARY = {
    "spans": {span(table="items"): 5, span(table="users"): 1, span("GET /items", "(root)"): 5},
    "metrics": {SERIES: {"count": 5}},
    "callers": "digest",
    "faults": {},
}


def doctored(change):
    """What the comparison says of a summary that was changed."""
    other = copy.deepcopy(SUMMARY)
    change(other)
    return differences(SUMMARY, other)


def test_equal_telemetry_does_not_differ():
    """A summary equals itself."""
    assert differences(SUMMARY, copy.deepcopy(SUMMARY)) == []


def test_a_metric_of_the_packages_own_is_a_difference():
    """A service emits what it emitted before, and nothing more."""
    own = json.dumps({"scope": {"name": "otel_fastpath.exceptions"}, "name": "cpython.exceptions", "attributes": {}})
    [found] = doctored(lambda summary: summary["metrics"].update({own: 1}))
    assert found.endswith("only fastpath sent it")


def test_a_missing_span_is_found():
    """A span that only stock sent is named, with how many are missing."""
    [found] = doctored(lambda other: other["spans"].pop(span("GET /items", "(root)")))
    assert found.startswith("5 x span 'GET /items'")
    assert found.endswith("only stock sent it")


def test_an_additional_span_is_found():
    """A span that only fastpath sent is named."""
    [found] = doctored(lambda other: other["spans"].update({span("INSERT"): 1}))
    assert found.endswith("only fastpath sent it")


def test_a_changed_count_is_found():
    """One span fewer of a kind is a difference."""
    [found] = doctored(lambda other: other["spans"].update({span(table="items"): 4}))
    assert found.startswith("1 x span 'SELECT'")


def test_a_changed_attribute_is_told_as_a_change():
    """Spans of which one attribute changed are told once, with both values."""

    def change(other):
        other["spans"][span(table="itemz")] = other["spans"].pop(span(table="items"))

    [found] = doctored(change)
    assert found.startswith("5 x span 'SELECT'")
    assert found.endswith("attributes.table is 'itemz' and not 'items'")


def test_a_changed_parent_is_found():
    """A span in another place of its trace is a difference."""

    def change(other):
        other["spans"][span(place="(root)", table="items")] = other["spans"].pop(span(table="items"))

    [found] = doctored(change)
    assert "place is '(root)' and not '(root) > GET /items'" in found


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (lambda other: other["metrics"].update({SERIES: {"count": 4}}), "count is 4 and not 5"),
        (lambda other: other["metrics"].update({span(): {"count": 1}}), "only fastpath sent it"),
        (lambda other: other.update(callers="other"), "same callers"),
        (lambda other: other.update(faults={"bad": 2}), "fastpath sent an invalid span, 2 times: bad"),
        (lambda other: other.update(metrics={}), "nothing to compare"),
    ],
)
def test_every_other_change_is_found(change, told):
    """Metrics, callers, impossible spans and empty telemetry each fail the comparison."""
    assert any(told in found for found in doctored(change))


def test_thousands_of_differences_are_cut_short():
    """Where everything differs the first ones are told and the rest counted, in little time."""
    found = doctored(lambda other: other["spans"].update({span(f"span {n}"): 1 for n in range(5000)}))
    assert len(found) < 100
    assert found[-1].endswith("more kinds of spans differ")


def test_a_difference_fails_the_demo(capsys):
    """The exit code is 1 and every difference is printed; without any it is 0."""
    console = Console()
    assert demo.verdict(console, []) == 0
    assert demo.verdict(console, ["it is [not] the same"]) == 1
    assert "it is [not] the same" in capsys.readouterr().out


def test_a_round_repeats_and_has_every_kind():
    """The same seed gives the same requests, another one others, and a hundred have every kind in its share."""
    assert calls(100, 1) == calls(100, 1)
    assert calls(100, 1) != calls(100, 2)
    assert Counter(call.kind for call in calls(100, 3)) == SHARES
    assert any(b"traceparent: 00-" in call.wire for call in calls(100, 1))


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


@pytest.mark.usefixtures("a_database", "releases_of_the_examples")
def test_a_short_demo_runs_to_its_end(start_demo, tmp_path):
    """From nothing to a table, a picture and a JSON whose figures fit the requests that were sent."""
    process = start_demo("--rounds", "2", "--requests", "100")
    output, _ = process.communicate(timeout=PATIENCE)
    assert process.returncode == 0, output
    for told in ("CPU per request", "requests per second", "p99", "spans received", "sent the same telemetry"):
        assert told in output
    found = json.loads((tmp_path / "out" / "result.json").read_text())
    legs = found["legs"]
    assert found["same_telemetry"]
    assert {leg["requests"] for leg in legs.values()} == {300}
    assert legs["bare"]["spans"] == legs["bare"]["metric_points"] == 0
    assert legs["stock"]["spans"] == legs["fastpath"]["spans"] > 300
    # Upstream records the size of another response for the one that is streamed.
    assert legs["stock"]["metric_series"] - 1 == legs["fastpath"]["metric_series"] > 10
    assert 0 < legs["bare"]["cpu_us"] < legs["stock"]["cpu_us"]
    assert "<svg" in (tmp_path / "out" / "result.svg").read_text()
    assert "| CPU per request (us) |" in (tmp_path / "out" / "result.md").read_text()
    assert list((tmp_path / "scratch").iterdir()) == []


@pytest.mark.usefixtures("bundled_postgresql")
@pytest.mark.parametrize(
    ("number", "log"),
    [
        (signal.SIGTERM, "postgresql"),
        pytest.param(signal.SIGINT, "postgresql", marks=pytest.mark.slow),
        pytest.param(signal.SIGINT, "bare", marks=pytest.mark.slow),
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


def test_a_service_that_does_not_start_fails_the_demo(start_demo):
    """Where the database is not to be had the demo says which process failed and why, and ends with 1."""
    process = start_demo(DATABASE_URL="postgresql://nobody@127.0.0.1:1/nothing")
    output, _ = process.communicate(timeout=PATIENCE)
    assert process.returncode == 1
    assert "the demo failed: bare ended" in output
    assert "ConnectionRefusedError" in output


@pytest.mark.usefixtures("a_database")
def test_a_service_that_crashes_fails_the_demo(start_demo, tmp_path):
    """A service that dies under load is named with the signal that ended it."""
    process = start_demo("--rounds", "500")
    wait_for_log(process, tmp_path, "bare")
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
