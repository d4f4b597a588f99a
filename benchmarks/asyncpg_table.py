"""What a query of asyncpg costs on a real PostgreSQL over loopback: bare, with the official instrumentation, with ours.

    make bench-asyncpg ARGS="--markdown build/bench/asyncpg.md"

The server is DATABASE_URL's, or one of our own for as long as this runs. Each way of looking at a query has a process;
they take turns, and what one adds is the median of its differences to the bare process's turns: CPU of the thread that
runs the event loop. Spans go to a batch processor whose thread never wakes.
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

if TYPE_CHECKING:
    from collections.abc import Iterator

# The examples bring the server.
sys.path.insert(0, str(Path(__file__).parents[1]))


class Row(NamedTuple):
    """A row of the table.

    Attributes:
        title: What is wanted of the query.
        official: The mode of the official instrumentation that ours is compared with; empty: none.
        ours: Our mode.
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
)
MODES = ("bare", *dict.fromkeys(mode for row in ROWS for mode in row[1:]))
ROUNDS, QUERIES, WARM_UP = 80, 200, 20
DISTRIBUTIONS = ("asyncpg", "opentelemetry-sdk", "opentelemetry-instrumentation-asyncpg")


@contextlib.contextmanager
def _server() -> Iterator[str]:
    if os.environ.get("DATABASE_URL"):
        yield os.environ["DATABASE_URL"]
        return
    from examples.demo.database import postgresql  # noqa: PLC0415  # only where it is started
    from examples.demo.processes import Interrupts, running  # noqa: PLC0415  # likewise

    with tempfile.TemporaryDirectory() as logs, running(Path(logs), Interrupts()) as processes:
        yield postgresql(processes)


async def _work(mode: str, url: str) -> None:
    """One of the processes: for each line that comes in, the CPU microseconds of a query."""
    import asyncpg  # noqa: PLC0415  # instrumented first, where that is how it is used
    from opentelemetry.instrumentation.utils import suppress_instrumentation  # noqa: PLC0415  # likewise

    bench.instrument(mode)
    connection = await asyncpg.connect(url)
    await connection.execute(
        "CREATE TEMP TABLE bench_t (id int PRIMARY KEY, v text); INSERT INTO bench_t VALUES (1, 'x')"
    )
    loop = asyncio.get_running_loop()
    with suppress_instrumentation() if "suppressed" in mode else contextlib.nullcontext():
        print("ready", flush=True)
        while await loop.run_in_executor(None, sys.stdin.readline):
            for _ in range(WARM_UP):
                await connection.fetchrow(bench.QUERY, 1)
            started = time.thread_time()
            for _ in range(QUERIES):
                await connection.fetchrow(bench.QUERY, 1)
            print((time.thread_time() - started) / QUERIES * 1e6, flush=True)
    await connection.close()


def measure(rounds: int) -> dict[str, list[float]]:
    """Mode -> CPU microseconds per query of each round."""
    found: dict[str, list[float]] = {mode: [] for mode in MODES}
    with _server() as url, contextlib.ExitStack() as stack:
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
                found[mode].append(float(workers[mode].stdout.readline()))
        for worker in workers.values():
            worker.stdin.close()
    return found


def table(found: dict[str, list[float]]) -> str:
    """As Markdown."""
    added = {
        mode: statistics.median(one - bare for one, bare in zip(each, found["bare"], strict=True))
        for mode, each in found.items()
    }
    lines = ["| `fetchrow` | official adds | otel-fastpath adds | |", "|---|---:|---:|---:|"]
    for row in ROWS:
        stock, ours = added[row.official], added[row.ours]
        ratio = f"1/{stock / ours:.1f}" if ours > 0 else "-"
        lines.append(f"| {row.title} | {stock:.1f} us | {ours:.1f} us | {ratio} |")
    parts = ", ".join(f"{name} {version(name)}" for name in DISTRIBUTIONS)
    bare = statistics.median(found["bare"])
    said = (
        f"CPU of the event loop's thread for a query on a real PostgreSQL over loopback, beyond the {bare:.0f} us that "
        f"it takes bare: medians of the differences to bare in {len(found['bare'])} rounds of {QUERIES} queries, in "
        f"turns. Python {platform.python_version()}, {parts}."
    )
    return "\n".join((*lines, "", said))


def main() -> int:
    """Print the table, and write it where that is wanted."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--markdown", type=Path, metavar="FILE", help="write the table there, too")
    parser.add_argument("--rounds", type=int, default=ROUNDS, help=f"each of {QUERIES} queries in each mode")
    parser.add_argument("--worker", nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.worker:
        asyncio.run(_work(*options.worker))
        return 0
    made = table(measure(options.rounds))
    print(made)
    if options.markdown:
        options.markdown.parent.mkdir(parents=True, exist_ok=True)
        options.markdown.write_text(made + "\n", "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
