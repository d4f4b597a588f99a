"""Our hook around asyncpg's `fetchrow`: the budgets, with the driver stubbed, and the table, on a real PostgreSQL.

    DATABASE_URL=postgresql://... python benchmarks/bench_asyncpg.py    CPU per query: bare, official, ours, interleaved
    otel-fastpath budget check --file benchmarks/budgets.toml

The stub is a coroutine function in the place of asyncpg's, so that what is counted is the hook.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import random
import statistics
import subprocess
import sys
import time
from types import SimpleNamespace
from typing import Any

QUERY = "SELECT id, v FROM bench_t WHERE id = $1"
MODES = ("bare", "official", "ours", "ours, metrics", "official, not sampled", "ours, not sampled")
ROUNDS, QUERIES = 80, 200


class Given:
    """What the callables of this file work with.

    Attributes:
        connection: One whose `fetchrow` is the hook around the stub.
        stub: The stub alone.
    """

    def __init__(self, stub: Any) -> None:
        from asyncpg.connection import Connection  # noqa: PLC0415  # only where it is measured

        self.stub = stub
        self.connection = Connection.__new__(Connection)
        self.connection._aborted = True
        self.connection._protocol = type("Protocol", (), {"is_connected": lambda _: True})()
        self.connection._addr = ("127.0.0.1", 5433)
        self.connection._params = SimpleNamespace(database="bench", user="bench")
        self.connection._reset_query = "RESET"


def _stubbed() -> Any:
    from asyncpg.connection import Connection  # noqa: PLC0415  # only where it is measured

    async def fetchrow(
        self: Any,
        query: Any,
        *args: Any,
        timeout: Any = None,
        record_class: Any = None,
    ) -> None:
        pass

    Connection.fetchrow = fetchrow
    return fetchrow


def _providers(mode: str) -> dict[str, Any]:
    import bench_span  # noqa: PLC0415  # it imports the SDK
    from opentelemetry.sdk.metrics import MeterProvider  # noqa: PLC0415  # likewise
    from opentelemetry.sdk.metrics.export import InMemoryMetricReader  # noqa: PLC0415  # likewise
    from opentelemetry.sdk.trace import TracerProvider  # noqa: PLC0415  # likewise
    from opentelemetry.sdk.trace.export import BatchSpanProcessor  # noqa: PLC0415  # likewise
    from opentelemetry.sdk.trace.sampling import ALWAYS_OFF, ALWAYS_ON, ParentBased  # noqa: PLC0415  # likewise

    provider = TracerProvider(sampler=ParentBased(ALWAYS_OFF if "not sampled" in mode else ALWAYS_ON))
    batch = BatchSpanProcessor(
        bench_span.Drop(), max_queue_size=1 << 20, max_export_batch_size=1 << 20, schedule_delay_millis=3.6e6
    )
    bench_span.Given._keep_small(batch)
    provider.add_span_processor(batch)
    found: dict[str, Any] = {"tracer_provider": provider}
    if "metrics" in mode:
        found["meter_provider"] = MeterProvider([InMemoryMetricReader()])
    return found


def _instrument(mode: str, core: str | None = None) -> None:
    if mode.startswith("official"):
        from opentelemetry.instrumentation.asyncpg import AsyncPGInstrumentor  # noqa: PLC0415  # only where measured

        AsyncPGInstrumentor().instrument(**_providers(mode))
    elif mode.startswith("ours"):
        from otel_fastpath import FastpathInstrumentor  # noqa: PLC0415  # likewise
        from otel_fastpath import core as cores  # noqa: PLC0415  # likewise

        options = "" if "metrics" in mode else "no-metrics"
        providers = _providers(mode)
        FastpathInstrumentor().instrument(core=core, disabled="exceptions", asyncpg_options=options, **providers)
        if core and cores.implementation()[0] != core:
            raise RuntimeError(f"the {core!r} core is not there: {cores.implementation()[1]}")


def _given(mode: str, core: str | None = None) -> Given:
    stub = _stubbed()
    _instrument(mode, core)
    return Given(stub)


def compiled() -> Given:
    """Ours, traces."""
    return _given("ours", "c")


def pure() -> Given:
    """The same with the pure core."""
    return _given("ours", "py")


def compiled_metrics() -> Given:
    """Ours, traces and metrics."""
    return _given("ours, metrics", "c")


def compiled_dropped() -> Given:
    """Ours, not sampled."""
    return _given("ours, not sampled", "c")


def official() -> Given:
    """The official instrumentation, traces."""
    return _given("official")


def fetchrow_bare(given: Given) -> None:
    """The stub."""
    _finish(given.stub(given.connection, QUERY, 1))


def fetchrow(given: Given) -> None:
    """The hook around it."""
    _finish(given.connection.fetchrow(QUERY, 1))


def _finish(coroutine: Any) -> None:
    with contextlib.suppress(StopIteration):
        coroutine.send(None)


async def _queries(connection: Any, rounds: int) -> list[float]:
    found = []
    for _ in range(rounds):
        # A line from the parent starts each round: one worker runs at a time.
        await asyncio.get_running_loop().run_in_executor(None, sys.stdin.readline)
        started = time.thread_time()
        for _ in range(QUERIES):
            await connection.fetchrow(QUERY, 1)
        found.append((time.thread_time() - started) / QUERIES * 1e6)
        print(found[-1], flush=True)
    return found


async def _work(mode: str) -> None:
    import asyncpg  # noqa: PLC0415  # only where it is measured

    _instrument(mode)
    connection = await asyncpg.connect(os.environ["DATABASE_URL"])
    await connection.execute(
        "CREATE TEMP TABLE bench_t (id int PRIMARY KEY, v text); INSERT INTO bench_t VALUES (1, 'x')"
    )
    await connection.fetchrow(QUERY, 1)
    print("ready", flush=True)
    await _queries(connection, ROUNDS)
    await connection.close()


def main() -> None:
    """Print CPU per query of each mode, and what it adds to bare: medians of paired rounds."""
    workers = {
        mode: subprocess.Popen(
            [sys.executable, __file__, mode], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        for mode in MODES
    }
    found: dict[str, list[float]] = {mode: [] for mode in MODES}
    for worker in workers.values():
        worker.stdout.readline()
    for _ in range(ROUNDS):
        for mode in random.sample(MODES, len(MODES)):
            worker = workers[mode]
            worker.stdin.write("\n")
            worker.stdin.flush()
            found[mode].append(float(worker.stdout.readline()))
    for worker in workers.values():
        worker.wait()
    added = {
        mode: statistics.median(one - bare for one, bare in zip(found[mode], found["bare"], strict=True))
        for mode in MODES
    }
    for mode in MODES:
        stock = added["official, not sampled" if "not sampled" in mode else "official"]
        ratio = f"1/{stock / added[mode]:.1f}" if mode.startswith("ours") else ""
        print(f"{mode:22} {statistics.median(found[mode]):8.1f} us  added {added[mode]:7.2f} us  {ratio}")
    print(f"{ROUNDS} rounds of {QUERIES} queries each, in random order")


if __name__ == "__main__":
    if len(sys.argv) > 1:
        asyncio.run(_work(sys.argv[1]))
    else:
        main()
