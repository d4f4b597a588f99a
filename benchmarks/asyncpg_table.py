"""What a query of asyncpg costs on a real PostgreSQL over loopback: bare, with the official instrumentation, with ours.

    make bench-asyncpg ARGS="--markdown build/bench/asyncpg.md"

The server is that of DATABASE_URL, or one that is started for this run. Each process measures one mode: it calls
asyncpg's original method and the instrumented one in turns, and the added cost is the median of the differences.
Memory layouts differ between processes, which changes times by as much as a cheap hook costs. So each mode is measured
in several processes, one after the other, and the table shows their median. Times are CPU time of the thread that runs
the event loop. Spans go to a batch processor whose thread never wakes.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import os
import platform
import random
import statistics
import subprocess
import sys
import tempfile
import time
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import bench_asyncpg as bench
import databases

if TYPE_CHECKING:
    from collections.abc import Iterator

# The examples can start the server.
sys.path.insert(0, str(Path(__file__).parents[1]))


class Row(NamedTuple):
    """A row of the table.

    Attributes:
        title: The telemetry of the query.
        official: The mode of the official instrumentation that ours is compared with; empty if there is none.
        ours: The mode of our instrumentation.
    """

    title: str
    official: str
    ours: str


ROWS = (
    Row("traces", "official", "ours"),
    Row("traces and metrics, the official one's traces", "official", "ours, metrics"),
    Row("not sampled", "official, not sampled", "ours, not sampled"),
    Row("no SDK", "official, no SDK", "ours, no SDK"),
    Row("suppressed", "official, suppressed", "ours, suppressed"),
    Row("only a span, by hand; stock SDK and ours", "official, 1 by hand", "ours, 1 by hand"),
    Row("only five spans, by hand", "official, 5 by hand", "ours, 5 by hand"),
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


class Turn(NamedTuple):
    """CPU microseconds of a query in one turn of a process."""

    bare: float
    looked_at: float


@contextlib.contextmanager
def _server() -> Iterator[str]:
    if os.environ.get("DATABASE_URL"):
        yield os.environ["DATABASE_URL"]
        return
    from examples.demo.database import postgresql  # noqa: PLC0415  # only if it is started
    from examples.demo.processes import Interrupts, running  # noqa: PLC0415  # likewise

    with tempfile.TemporaryDirectory() as logs, running(Path(logs), Interrupts()) as processes:
        yield postgresql(processes)


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


def _start(url: str, rounds: int) -> dict[str, list[Turn]]:
    """The turns of each mode, measured in separate processes that take turns."""
    found: dict[str, list[Turn]] = {mode: [] for mode in MODES}
    with contextlib.ExitStack() as stack:
        workers: dict[str, Any] = {}
        for mode in MODES:
            command = [sys.executable, __file__, "--worker", mode, url]
            workers[mode] = stack.enter_context(
                subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
            )
        for worker in workers.values():
            worker.stdout.readline()
        for _ in range(rounds):
            for mode in random.sample(MODES, len(MODES)):
                workers[mode].stdin.write("\n")
                workers[mode].stdin.flush()
                found[mode].append(Turn(*map(float, workers[mode].stdout.readline().split())))
        for worker in workers.values():
            worker.stdin.close()
    return found


def measure(starts: int, rounds: int) -> list[dict[str, list[Turn]]]:
    """The results of `_start`, one for each start."""
    with _server() as url:
        return [_start(url, rounds) for _ in range(starts)]


def table(found: list[dict[str, list[Turn]]]) -> str:
    """As Markdown."""
    added = {
        mode: [statistics.median(turn.looked_at - turn.bare for turn in start[mode]) for start in found]
        for mode in MODES
    }
    lines = ["| `fetchrow` | official adds | otel-fastpath adds | |", "|---|---:|---:|---:|"]
    for row in ROWS:
        ours = statistics.median(added[row.ours])
        ratio = ""
        if row.official:
            stock = statistics.median(added[row.official])
            ratio = f"1/{stock / ours:.1f}" if ours > 0 else "-"
        lines.append(f"| {row.title} | {_said(added.get(row.official))} | {_said(added[row.ours])} | {ratio} |")
    parts = ", ".join(f"{name} {version(name)}" for name in DISTRIBUTIONS)
    bare = statistics.median(turn.bare for start in found for turns in start.values() for turn in turns)
    turns = len(found[0]["bare"])
    said = (
        f"CPU of the event loop's thread for a query on a real PostgreSQL over loopback, beyond the {bare:.0f} us that "
        f"it takes bare: medians of {len(found)} processes (least to most), each the median of the differences to bare "
        f"in {turns} turns of {QUERIES} queries. Python {platform.python_version()}, {parts}."
    )
    return "\n".join((*lines, "", said))


def _said(added: list[float] | None) -> str:
    if added is None:
        return ""
    return f"{statistics.median(added):.1f} us ({min(added):.1f} to {max(added):.1f})"


def main() -> int:
    """Print the table, and write it to a file if requested."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--markdown", type=Path, metavar="FILE", help="also write the table to this file")
    parser.add_argument("--starts", type=int, default=STARTS, help="processes of each mode, run one after another")
    parser.add_argument("--rounds", type=int, default=ROUNDS, help=f"turns of each, of {QUERIES} queries")
    parser.add_argument("--worker", nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.worker:
        asyncio.run(_work(*options.worker))
        return 0
    made = table(measure(options.starts, options.rounds))
    print(made)
    if options.markdown:
        options.markdown.parent.mkdir(parents=True, exist_ok=True)
        options.markdown.write_text(made + "\n", "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
