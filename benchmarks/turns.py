"""What tables of real drivers have in common: a server, processes that take turns, and medians of what they add.

Each process measures one mode. Memory layouts differ between processes, which changes times by as much as a cheap hook
costs. So each mode is measured in several processes, one after the other, and a table shows their median.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import random
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    # Of each mode, the figures of its process's turns: CPU microseconds of a query.
    Start = Mapping[str, Sequence[Sequence[float]]]

# The examples can start the server.
sys.path.insert(0, str(Path(__file__).parents[1]))


@contextlib.contextmanager
def server() -> Iterator[str]:
    """The URL of a PostgreSQL: that of DATABASE_URL, or one that is started for this run."""
    if os.environ.get("DATABASE_URL"):
        yield os.environ["DATABASE_URL"]
        return
    from examples.demo.database import postgresql  # noqa: PLC0415  # only if it is started
    from examples.demo.processes import Interrupts, running  # noqa: PLC0415  # likewise

    with tempfile.TemporaryDirectory() as logs, running(Path(logs), Interrupts()) as processes:
        yield postgresql(processes)


def _start(script: str, modes: Sequence[str], url: str, rounds: int) -> Start:
    """The turns of each mode, measured in separate processes that take turns."""
    found: dict[str, list[list[float]]] = {mode: [] for mode in modes}
    with contextlib.ExitStack() as stack:
        workers: dict[str, Any] = {}
        for mode in modes:
            command = [sys.executable, script, "--worker", mode, url]
            workers[mode] = stack.enter_context(
                subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
            )
        for worker in workers.values():
            worker.stdout.readline()
        for _ in range(rounds):
            for mode in random.sample(modes, len(modes)):
                workers[mode].stdin.write("\n")
                workers[mode].stdin.flush()
                found[mode].append([float(figure) for figure in workers[mode].stdout.readline().split()])
        for worker in workers.values():
            worker.stdin.close()
    return found


def measure(script: str, modes: Sequence[str], starts: int, rounds: int) -> list[Start]:
    """Start processes of each mode, one after the other.

    Args:
        script: The program. With `--worker MODE URL` it prints a line when it is ready, and does a turn for each line
            of its standard input, after which it prints what a query took, in microseconds.
        modes: The modes.
        starts: How many processes of each mode there are.
        rounds: How many turns each has.
    """
    with server() as url:
        return [_start(script, modes, url, rounds) for _ in range(starts)]


def added(found: Sequence[Start], mode: str) -> list[float]:
    """What a mode adds, where each turn measured a bare query and an instrumented one: the median of each process."""
    return [statistics.median(instrumented - bare for bare, instrumented in start[mode]) for start in found]


def added_to(bare: str, found: Sequence[Start], mode: str) -> list[float]:
    """What a mode adds, where another one measured bare queries: the median of the rounds of each start."""
    return [
        statistics.median(after - before for (before,), (after,) in zip(start[bare], start[mode], strict=True))
        for start in found
    ]


def first(found: Sequence[Start], modes: Sequence[str]) -> float:
    """The median of what these modes measured first in each turn, in microseconds."""
    return statistics.median(turn[0] for start in found for mode in modes for turn in start[mode])


def said(values: Sequence[float]) -> str:
    """A median, and the least and the most."""
    return f"{statistics.median(values):.1f} us ({min(values):.1f} to {max(values):.1f})"


def ratio(stock: Sequence[float], ours: Sequence[float]) -> str:
    """What part of the stock instrumentation's cost ours is; "-" where one of them is lost in the noise."""
    theirs, median = statistics.median(stock), statistics.median(ours)
    return f"1/{theirs / median:.1f}" if theirs > 0 and median > 0 else "-"


def arguments(description: str | None, starts: int, rounds: int, queries: int) -> argparse.Namespace:
    """The command line of such a program."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--markdown", type=Path, metavar="FILE", help="also write the table to this file")
    parser.add_argument("--starts", type=int, default=starts, help="processes of each mode, run one after another")
    parser.add_argument("--rounds", type=int, default=rounds, help=f"turns of each, of {queries} queries")
    parser.add_argument("--worker", nargs=2, help=argparse.SUPPRESS)
    return parser.parse_args()


def show(table: str, file: Path | None) -> None:
    """Print a table, and write it to a file if there is one."""
    print(table)
    if file is not None:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(table + "\n", "utf-8")
