"""The table of `bench_openai.py`: what each instrumentation adds to a call, in instructions and in CPU time."""

from __future__ import annotations

import argparse
import ctypes
import gc
import json
import os
import random
import subprocess
import sys
import tempfile
from pathlib import Path
from statistics import median
from time import thread_time_ns
from typing import TYPE_CHECKING, Any

import bench_openai as bench

from otel_fastpath.tools.budget import declare
from otel_fastpath.tools.budget.counting import native
from otel_fastpath.tools.budget.environment import facts
from otel_fastpath.tools.budget.outputs import add_outputs, write
from otel_fastpath.tools.common.render import progress
from otel_fastpath.tools.common.render.check_report import facts as fact_lines
from otel_fastpath.tools.common.render.document import MUTE, Cell, Document, Table, figure

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

ROOT = Path(__file__).resolve().parents[1]
COLUMNS = ("stock", "openllmetry", "openinference", "fastpath")
BESIDE = ("openllmetry_fastpath", "openinference_fastpath")
ALL = ("bare", *COLUMNS, *BESIDE)
# For each row: the bare and instrumented callables, the number of calls in them, and the suffix of its set-ups.
ROWS: dict[str, tuple[str, str, int, str]] = {
    "chat call": ("nothing", "chat", 1, ""),
    "chat call, content captured": ("nothing", "chat", 1, "_content"),
    "chat call, not sampled, no metrics": ("nothing", "chat", 1, "_dropped"),
    "one streamed chunk": ("chat_stream_empty", "chat_stream", bench.CHUNKS, ""),
    "responses call": ("nothing", "responses", 1, ""),
    "one streamed responses event": ("responses_stream_empty", "responses_stream", bench.CHUNKS, ""),
    f"embeddings call, {bench.FLOATS} floats": ("nothing", "embeddings", 1, ""),
}
TIMED = {"chat call": "chat", "stream of 34 chunks": "chat_stream"}
BLOCK = 10
# The number of counted calls: with fewer, occasional work of the client would be in one set-up and not in another.
COUNTED = 40


def setups(row: str, columns: Sequence[str]) -> dict[str, str]:
    """Column -> set-up; content is captured by two of them in any case, and is measured in the first row."""
    variant = ROWS[row][3]
    return {name: full for name in columns if hasattr(bench, full := "bare" if name == "bare" else f"{name}{variant}")}


def main() -> int:
    """Measure, print, and write the requested files."""
    parser = argparse.ArgumentParser(description=bench.__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="", help="only rows whose name contains this")
    parser.add_argument("--columns", default=",".join(ALL), help="set-ups, comma-separated (default: all)")
    parser.add_argument("--cycles", type=int, default=60, help="blocks of each set-up (default %(default)s)")
    parser.add_argument("--no-instructions", action="store_true", help="CPU times only")
    parser.add_argument("--no-times", action="store_true", help="instructions only")
    parser.add_argument("--leg", nargs=2, help=argparse.SUPPRESS)
    parser.add_argument("--counted", nargs="+", help=argparse.SUPPRESS)
    add_outputs(parser)
    options = parser.parse_args()
    if options.leg:
        return _leg(*options.leg)
    if options.counted:
        return _under_valgrind(*options.counted)
    rows = [row for row in ROWS if options.only in row]
    columns = tuple(name for name in ALL if name in {"bare", *options.columns.split(",")})
    counted = {} if options.no_instructions else _counted(rows, columns)
    timed = {} if options.no_times else _timed([row for row in TIMED if options.only in row], columns, options.cycles)
    document = Document(
        title="What telemetry adds to a call of OpenAI's client",
        summary=Cell("bare is the whole call; every other column is what is added to it"),
        tables=tuple(
            _table(unit, found) for unit, found in (("1,000 instructions", counted), ("CPU, us", timed)) if found
        ),
        facts=fact_lines(facts((*declare.DEFAULT_DISTRIBUTIONS, *DISTRIBUTIONS))),
        notes=(),
    )
    write(options, document, {"instructions": counted, "microseconds": timed})
    return 0 if counted or timed else 4


DISTRIBUTIONS = (
    "openai",
    "opentelemetry-instrumentation-genai-openai",
    "opentelemetry-instrumentation-openai",
    "openinference-instrumentation-openai",
)


def _counted(rows: Sequence[str], columns: Sequence[str]) -> dict[str, dict[str, float]]:
    """Thousands of instructions of a call or chunk without those of the bare one, by row and column."""
    wanted: dict[str, list[str]] = {}
    for row in rows:
        for setup in setups(row, columns).values():
            wanted.setdefault(setup, []).append(row)
    show = progress.bar(sys.stderr)
    found: dict[str, dict[str, float]] = {}
    with tempfile.TemporaryDirectory() as name:
        library = native.build(native.INSTRUCTIONS, Path(name))
        for number, (setup, its_rows) in enumerate(wanted.items()):
            show(number, len(wanted), setup)
            found[setup] = _count(setup, its_rows, library)
    show(1, 1, "")
    return {row: _added({name: found[setup][row] for name, setup in setups(row, columns).items()}) for row in rows}


def _count(setup: str, rows: Sequence[str], library: Path) -> dict[str, float]:
    """Thousands of instructions by row; all rows of a set-up are counted in one process."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        command = [sys.executable, __file__, "--counted", str(library), setup, *rows]
        subprocess.run(
            native.under_valgrind(command, folder),
            env={**os.environ, "PYTHONHASHSEED": "0"},
            preexec_fn=native.fix_addresses,
            check=True,
        )
        counted = native.read_instructions(folder)
    per_call = native.CALLS / COUNTED / 1000
    return {row: counted[row][0] * per_call / ROWS[row][2] for row in rows}


def _under_valgrind(library: str, setup: str, *rows: str) -> int:
    """Write a profile of each row's callables."""
    given = getattr(bench, setup)()
    shim = ctypes.CDLL(library)
    shim.end.argtypes = [ctypes.c_char_p]
    for row in rows:
        for label, name in zip(("bare", "instrumented"), ROWS[row][:2], strict=True):
            run = getattr(bench, name)
            for _ in range(COUNTED):
                run(given)
            gc.collect()
            gc.disable()
            shim.begin()
            for _ in range(COUNTED):
                run(given)
            shim.end(f"{label} {row}".encode())
            gc.enable()
    os._exit(0)


def _added(whole: Mapping[str, float]) -> dict[str, float]:
    return {name: value if name == "bare" else value - whole["bare"] for name, value in whole.items()}


def _timed(rows: Sequence[str], columns: Sequence[str], cycles: int) -> dict[str, dict[str, float]]:
    """Microseconds of CPU by row and column, from processes that take turns with one server."""
    server = subprocess.Popen(
        [sys.executable, "-m", "loopback"],
        cwd=ROOT / "tests" / "genai" / "openai_http",
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        url = f"http://127.0.0.1:{int(server.stdout.readline())}/v1"  # type: ignore[union-attr]
        return {row: _in_turns(TIMED[row], columns, url, cycles) for row in rows}
    finally:
        server.terminate()
        server.wait()


def _in_turns(call: str, columns: Sequence[str], url: str, cycles: int) -> dict[str, float]:
    command = [sys.executable, __file__, "--leg", call]
    environment = {**os.environ, "BENCH_OPENAI_URL": url}
    legs = {
        name: subprocess.Popen(
            [*command, name], env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        for name in columns
    }
    found: dict[str, list[float]] = {name: [] for name in columns}
    order = random.Random(0)  # noqa: S311  # an order, no secret
    try:
        for _ in range(cycles):
            for name in order.sample(list(legs), len(legs)):
                leg: Any = legs[name]
                leg.stdin.write("go\n")
                leg.stdin.flush()
                found[name].append(json.loads(leg.stdout.readline()))
    finally:
        for leg in legs.values():
            leg.communicate()
    # Take the difference within each cycle, so that both times include the same machine state.
    return {
        name: median(each) if name == "bare" else median(a - b for a, b in zip(each, found["bare"], strict=True))
        for name, each in found.items()
    }


def _leg(call: str, setup: str) -> int:
    """Run as one of the processes: measure the CPU time of a call for each line of standard input."""
    given = getattr(bench, setup)()
    run = getattr(bench, call)
    for _ in range(BLOCK):
        run(given)
    for _ in sys.stdin:
        start = thread_time_ns()
        for _ in range(BLOCK):
            run(given)
        print(json.dumps((thread_time_ns() - start) / BLOCK / 1000), flush=True)
    os._exit(0)


def _table(unit: str, found: Mapping[str, Mapping[str, float]]) -> Table:
    titles = (
        "bare",
        "stock",
        "OpenLLMetry",
        "OpenInference",
        "otel-fastpath",
        "OpenLLMetry beside it",
        "OpenInference beside it",
    )
    lines = []
    for row, values in found.items():
        cells = [Cell(figure(round(values[name], 3))) if name in values else Cell("-", MUTE) for name in ALL]
        ratio = values.get("fastpath", 0.0) / values["stock"] if values.get("stock") else None
        lines.append((Cell(row), *cells, Cell(f"{ratio:.1%}" if ratio is not None else "-", MUTE)))
    columns = (unit, *(f">{title if title == 'bare' else f'+ {title}'}" for title in titles), ">otel-fastpath/stock")
    return Table(columns, tuple(lines))


if __name__ == "__main__":
    sys.exit(main())
