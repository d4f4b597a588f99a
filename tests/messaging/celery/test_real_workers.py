"""Real workers: Celery's own, in this process with the memory broker, and in others with redis."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from celery import signals
from celery.contrib.testing.worker import start_worker

from .conftest import Tasks, Telemetry

FOLDER = Path(__file__).parent
EXPECTED = {
    "add": "3",
    "fail": "no such item",
    "again": "again",
    "group": "[2, 4]",
    "chord": "6",
    "by name": "7",
}


def add(one, other):
    """A task."""
    return one + other


@pytest.fixture
def own_logging():
    """A worker leaves the root logger as it is."""

    def configure(**_given):
        pass

    signals.setup_logging.connect(configure)
    yield
    signals.setup_logging.disconnect(configure)


@pytest.mark.usefixtures("ours", "own_logging")
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("pool", ["solo", "threads"])
def test_from_producer_to_worker(pool):
    """One trace, with the memory broker."""
    tasks, telemetry = Tasks(), Telemetry()
    tasks.app.conf.update(result_backend="cache+memory://", broker_url="memory://")
    task = tasks.app.task(name="shop.add", shared=False)(add)
    tasks.app.finalize()
    with telemetry.instrumented():
        with start_worker(tasks.app, pool=pool, concurrency=1, perform_ping_check=False, shutdown_timeout=30):
            tracer = telemetry.tracers.get_tracer("shop")
            with tracer.start_as_current_span("request"):
                results = [task.delay(1, number) for number in range(3)]
            assert [each.get(timeout=30) for each in results] == [1, 2, 3]
        spans, _, points = telemetry.seen()
    by_name = sorted((span[0], spans[span[-1]][0] if span[-1] is not None else None) for span in spans)
    assert by_name == [
        *[("apply_async/shop.add", "request")] * 3,
        ("request", None),
        *[("run/shop.add", "apply_async/shop.add")] * 3,
    ]
    assert len(points) == 1
    tasks.close()


def run(server, folder, core, pool):
    """What tasks returned, and the spans of all processes."""
    spans = folder / f"{core}-{pool}"
    spans.mkdir()
    url = f"redis://127.0.0.1:{server.port}/0"
    environment = {
        **os.environ,
        "BROKER": url,
        "QUEUE": f"{core}-{pool}",
        "SPANS": str(spans),
        "CORE": core,
        "PYTHONPATH": os.pathsep.join([str(FOLDER), str(FOLDER.parents[2])]),
        "PYTHONWARNINGS": "ignore",
        **({"LIMITS": "1"} if pool == "prefork" else {}),
    }
    words = [sys.executable, "-m", "celery", "-A", "shop_app:app", "worker", "-P", pool, "-c", "2", "-l", "warning"]
    with (folder / f"{core}-{pool}.log").open("w", encoding="utf-8") as log:
        worker = subprocess.Popen(
            [*words, "--without-gossip", "--without-mingle"],
            env={**environment, "POOL": pool},
            stdout=log,
            stderr=subprocess.STDOUT,
            cwd=folder,
        )
        try:
            sent = subprocess.run(
                [sys.executable, str(FOLDER / "shop_app.py")],
                env=environment,
                capture_output=True,
                text=True,
                timeout=180,
                check=False,
                cwd=folder,
            )
        finally:
            worker.send_signal(signal.SIGTERM)
            worker.wait(60)
    assert sent.returncode == 0, sent.stderr + (folder / f"{core}-{pool}.log").read_text("utf-8")
    found = [json.loads(line) for file in spans.glob("*.jsonl") for line in file.read_text("utf-8").splitlines()]
    return json.loads(sent.stdout.splitlines()[-1]), found


def described(spans):
    """The spans without ids, each with its parent's name."""
    by_id = {span["id"]: span for span in spans}
    assert len({span["trace"] for span in spans}) == 1
    return sorted(
        (
            span["name"],
            by_id[span["parent"]]["name"] if span["parent"] else "",
            span["status"],
            str(span["description"]),
            span["keys"],
            str(span["state"]),
            span["events"],
        )
        for span in spans
    )


@pytest.mark.slow
@pytest.mark.parametrize("pool", ["prefork", "threads", "gevent"])
def test_real_workers(redis_server, tmp_path, core, pool):
    """With redis and late acknowledgements: results, retries, chords, time limits, and stock's telemetry."""
    if pool == "gevent":
        pytest.importorskip("gevent")
    results, spans = run(redis_server, tmp_path, core, pool)
    limited = {"late": "limited"} if pool == "prefork" else {}
    assert results == {**EXPECTED, **limited}
    expected, stock = run(redis_server, tmp_path, "stock", pool)
    assert results == expected
    assert described(spans) == described(stock)
