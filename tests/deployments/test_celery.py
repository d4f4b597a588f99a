"""docs/celery.md: each task's span arrives, also of the last batch, from each kind of pool."""

from __future__ import annotations

import subprocess
import sys

import pytest

from .conftest import BIN, block_of, wait_until

pytestmark = [pytest.mark.source, pytest.mark.skipif(sys.platform == "win32", reason="Celery forks its workers")]
APPLICATION = """
import os
from celery import Celery

app = Celery("shop", broker=os.environ["BROKER"], backend=os.environ["BROKER"])


@app.task
def add(one, other):
    return one + other
"""
SENDS = """
import shop
print([sent.get(timeout=60) for sent in [shop.add.delay(number, 1) for number in range(20)]])
"""
FORKED = ("--pool", "prefork")
RECYCLED = (*FORKED, "--max-tasks-per-child", "3")


@pytest.fixture
def work(deploy, tmp_path, redis_server):
    """Runs twenty tasks on a worker; what arrived of it, once it is stopped."""

    def run(text, *words):
        (tmp_path / "shop.py").write_text(APPLICATION + text)
        (tmp_path / "send.py").write_text(SENDS)
        celery = ("celery", "--app", "shop", "worker", "--concurrency", "2", "--loglevel", "info")
        at_first = () if words[0].startswith("-") else words[:1]
        worker = deploy(
            *at_first,
            *celery,
            "--without-mingle",
            *words[len(at_first) :],
            BROKER=f"redis://127.0.0.1:{redis_server.port}",
        )
        wait_until(lambda: " ready." in worker.log(), worker.child)
        subprocess.run([BIN / "python", "send.py"], cwd=tmp_path, env=worker.environment, check=True, timeout=100)
        return worker.stop()

    return run


@pytest.mark.parametrize("pool", [FORKED, pytest.param(RECYCLED, marks=pytest.mark.slow)], ids=["fork", "recycled"])
def test_in_each_process_of_a_pool(work, pool):
    """As the page sets it up."""
    assert work(block_of("celery.md", "worker_process_init"), *pool) == {"run/shop.add": 20}


@pytest.mark.slow
@pytest.mark.parametrize("pool", [FORKED, RECYCLED], ids=["fork", "recycled"])
def test_by_command(work, pool):
    """With `opentelemetry-instrument`, and what exports the rest."""
    _, _, last = block_of("celery.md", "worker_process_init").partition("@worker_process_shutdown")
    imports = "from celery.signals import worker_process_shutdown\nfrom opentelemetry import trace\n"

    assert work(f"{imports}\n@worker_process_shutdown{last}", "opentelemetry-instrument", *pool) == {"run/shop.add": 20}


@pytest.mark.slow
@pytest.mark.parametrize("pool", ["threads", "solo", "gevent"])
def test_in_a_pool_without_processes(work, pool):
    """In the module of the application."""
    text = block_of("celery.md", "worker_process_init").replace("@worker_process_init.connect(weak=False)\n", "")
    is_worker = "import sys\nif 'celery' in sys.argv[0]:\n    set_up_telemetry()\n"

    assert work(f"{text}\n{is_worker}", "--pool", pool) == {"run/shop.add": 20}
