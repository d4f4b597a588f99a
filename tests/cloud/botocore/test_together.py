"""Calls of AWS in threads, processes, greenlets and coroutines."""

# ruff: noqa: ARG001  # the fixture `ours` puts the hooks in their places

from __future__ import annotations

import asyncio
import importlib.util
import inspect
import json
import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from botocore.exceptions import ClientError
from opentelemetry import context, trace
from opentelemetry.instrumentation.botocore import AiobotocoreInstrumentor

from .conftest import HEADER, HOOKS, ITEM, Telemetry, get_item, state


def test_threads_do_not_mix(ours, answers):
    """Each thread's spans have its own parents."""
    telemetry = Telemetry()
    client = answers.client("dynamodb")
    tracer = telemetry.tracers.get_tracer("application")

    def work(number):
        for _ in range(20):
            with tracer.start_as_current_span(f"around {number}"):
                get_item(client, f"table {number}")

    with telemetry.instrumented():
        threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
        for each in threads:
            each.start()
        for each in threads:
            each.join()
    spans = telemetry.seen()
    for span in spans:
        if span[0] == "DynamoDB.GetItem":
            (table,) = dict(span[3])["aws.dynamodb.table_names"]
            assert spans[span[-1]][0] == table.replace("table", "around")


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_forked_child(ours, answers):
    """A child has spans of its own."""
    telemetry = Telemetry()
    client = answers.client("dynamodb")
    with telemetry.instrumented():
        get_item(client)
        child = os.fork()
        if not child:
            get_item(client)
            os._exit(0 if len(telemetry.spans.get_finished_spans()) == 2 else 1)
        assert os.waitpid(child, 0)[1] == 0
    assert len(telemetry.seen()) == 1


@pytest.mark.skipif(not importlib.util.find_spec("gevent"), reason="gevent is not installed")
def test_greenlets_do_not_mix(core):
    """Each greenlet's spans have its own parents; in a process of its own, because gevent patches the whole of it."""
    command = [sys.executable, "-m", "gevent.monkey", Path(__file__).with_name("gevented.py"), core]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0, done.stderr[-2000:]
    pairs, is_empty, applied, found = json.loads(done.stdout.splitlines()[-1])
    assert len(pairs) == 100
    assert all(table == parent for table, parent in pairs)
    assert (is_empty, applied, found) == (True, "applied", {})


@pytest.mark.parametrize("kind", ["fails", "succeeds", "cancelled", "abandoned"])
def test_aiobotocore(ours, answers, kind):
    """The span has the outcome, and the context is as it was."""
    telemetry = Telemetry()

    async def wait(**_more):
        await asyncio.sleep(60)

    async def main():
        client = await answers.aio_client("dynamodb")
        if kind in {"cancelled", "abandoned"}:
            client.meta.events.register("before-call.*", wait)
        if kind == "abandoned":
            coroutine = get_item(client)
            coroutine.send(None)
            coroutine.close()
        elif kind == "cancelled":
            task = asyncio.ensure_future(get_item(client))
            await asyncio.sleep(0.01)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
        elif kind == "fails":
            with answers.failing(400, __type="ResourceNotFoundException"), pytest.raises(ClientError):
                await get_item(client)
        else:
            assert (await get_item(client))["Item"] == ITEM["Item"]
        assert context.get_current() == {}
        await client.close()

    with telemetry.instrumented(AiobotocoreInstrumentor):
        asyncio.run(main())
    (span,) = telemetry.seen()
    assert span[2][0] is (trace.StatusCode.ERROR if kind == "fails" else trace.StatusCode.UNSET)
    if kind in {"fails", "succeeds"}:
        assert HEADER in answers.sent[0]
    assert state(ours, "aiobotocore.calls") == ("applied", "")


def test_the_coroutine_is_one(ours, answers):
    """What aiobotocore's method returns is awaited once, and is stock's function to who asks."""
    function = HOOKS["AiobotocoreInstrumentor", "_patched_api_call"]
    assert inspect.iscoroutinefunction(function)
    assert not inspect.iscoroutinefunction(HOOKS["BotocoreInstrumentor", "_patched_api_call"])
