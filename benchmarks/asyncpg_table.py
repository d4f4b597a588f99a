"""What a query of asyncpg costs on a real PostgreSQL over loopback: bare, with the stock instrumentation, with ours.

    make bench NAME=asyncpg ARGS="--markdown build/bench/asyncpg.md"

The server is that of DATABASE_URL, or one that is started for this run. Each process calls the driver's own method and
the instrumented one in turns; `turns` describes the rest. Times are CPU time of the thread that runs the event loop.
Spans go to a batch processor whose thread never wakes.
"""

from __future__ import annotations

import asyncio
import contextlib
import platform
import random
import sys
import time
from importlib.metadata import version
from typing import Any, NamedTuple

import bench_asyncpg as bench
import databases
import turns


class Row(NamedTuple):
    """A row of the table.

    Attributes:
        title: The telemetry of the query.
        stock: The mode of the stock instrumentation that ours is compared with; empty if there is none.
        ours: The mode of our instrumentation.
    """

    title: str
    stock: str
    ours: str


ROWS = (
    Row("traces", "stock", "ours"),
    Row("traces and metrics, stock's traces", "stock", "ours, metrics"),
    Row("not sampled", "stock, not sampled", "ours, not sampled"),
    Row("no SDK", "stock, no SDK", "ours, no SDK"),
    Row("suppressed", "stock, suppressed", "ours, suppressed"),
    Row("only a span, by hand; stock SDK and otel-fastpath", "stock, 1 by hand", "ours, 1 by hand"),
    Row("only five spans, by hand", "stock, 5 by hand", "ours, 5 by hand"),
    Row("nothing: bare against bare", "", "bare"),
)
MODES = tuple(dict.fromkeys(mode for row in ROWS for mode in row[1:] if mode))
STARTS, ROUNDS, QUERIES, WARM_UP = 6, 15, 200, 20
ATTRIBUTES = {
    "db.system.name": "postgresql",
    "db.namespace": "postgres",
    "db.query.text": bench.QUERY,
    "db.query.summary": "SELECT bench_t",
    "server.address": "127.0.0.1",
}
DISTRIBUTIONS = ("asyncpg", "opentelemetry-sdk", "opentelemetry-instrumentation-asyncpg")


def _by_hand(mode: str, original: Any) -> Any:
    """The method with the mode's number of spans around it, and nothing else: the least work that a hook has to do."""
    from opentelemetry.trace import SpanKind  # noqa: PLC0415  # only where it is used

    tracer = databases.providers(mode)["tracer_provider"].get_tracer("bench")
    numbers = range(int(mode.split()[1]))

    async def fetchrow(*args: Any) -> Any:
        spans = [tracer.start_span("SELECT bench_t", None, SpanKind.CLIENT, ATTRIBUTES) for _ in numbers]
        result = await original(*args)
        for span in spans:
            span.end()
        return result

    return fetchrow


async def _work(mode: str, url: str) -> None:
    """Run as one of the processes: do a turn for each line of standard input."""
    import asyncpg  # noqa: PLC0415  # instrumented below
    from opentelemetry.instrumentation.utils import suppress_instrumentation  # noqa: PLC0415  # only where it is used

    # No other hook of either instrumentation runs within it, because its statement is in the connection's cache.
    asyncpg.Connection.bare = asyncpg.Connection.fetchrow
    bench.instrument(mode)
    if mode.endswith("by hand"):
        asyncpg.Connection.fetchrow = _by_hand(mode, asyncpg.Connection.bare)
    connection = await asyncpg.connect(url)
    await connection.execute(
        "CREATE TEMP TABLE bench_t (id int PRIMARY KEY, v text); INSERT INTO bench_t VALUES (1, 'x')"
    )

    async def bare(count: int) -> None:
        for _ in range(count):
            await connection.bare(bench.QUERY, 1)

    async def looked_at(count: int) -> None:
        for _ in range(count):
            await connection.fetchrow(bench.QUERY, 1)

    loop = asyncio.get_running_loop()
    with suppress_instrumentation() if "suppressed" in mode else contextlib.nullcontext():
        print("ready", flush=True)
        while await loop.run_in_executor(None, sys.stdin.readline):
            spent = {}
            for queries in random.sample((bare, looked_at), 2):
                await queries(WARM_UP)
                started = time.thread_time()
                await queries(QUERIES)
                spent[queries] = (time.thread_time() - started) / QUERIES * 1e6
            print(spent[bare], spent[looked_at], flush=True)
    await connection.close()


def table(found: list[turns.Start]) -> str:
    """As Markdown."""
    lines = ["| `fetchrow` | stock adds | otel-fastpath adds | |", "|---|---:|---:|---:|"]
    for row in ROWS:
        ours = turns.added(found, row.ours)
        stock = turns.added(found, row.stock) if row.stock else None
        shown = ("", "") if stock is None else (turns.said(stock), turns.ratio(stock, ours))
        lines.append(f"| {row.title} | {shown[0]} | {turns.said(ours)} | {shown[1]} |")
    parts = ", ".join(f"{name} {version(name)}" for name in DISTRIBUTIONS)
    said = (
        f"CPU of the event loop's thread for a query on a real PostgreSQL over loopback, beyond the "
        f"{turns.first(found, MODES):.0f} us that "
        f"it takes bare: medians of {len(found)} processes (least to most), each the median of the differences to bare "
        f"in {len(found[0]['bare'])} turns of {QUERIES} queries. Python {platform.python_version()}, {parts}."
    )
    return "\n".join((*lines, "", said))


def main() -> int:
    """Print the table, and write it to a file if requested."""
    options = turns.arguments(__doc__, STARTS, ROUNDS, QUERIES)
    if options.worker:
        asyncio.run(_work(*options.worker))
        return 0
    turns.show(table(turns.measure(__file__, MODES, options.starts, options.rounds)), options.markdown)
    return 0


if __name__ == "__main__":
    sys.exit(main())
