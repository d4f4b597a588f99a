"""What exporting takes from the application: a busy main thread while spans leave over OTLP/HTTP, stock and fast path.

    python benchmarks/bench_export_gil.py --pairs 30 --rate 10000 --markdown build/bench/gil.md

Two worker processes, one stock and one with the fast path, take turns; each has a process that receives. The main
thread of a worker runs alone, then while a batch processor of its own exports, then alone again: what it loses is one
pair's figure. It does one of two things: counting in pure Python, which gives the interpreter up only when asked to, or
system calls in pairs (os.write and os.read on a pipe), which give it up each time and must get it back. It feeds the
processor itself, with spans made before: what making them costs is another benchmark's subject. What falls out of the
processor's queue is counted.

A pair in which other processes, or on Linux other machines on the same host, took processors is not counted: it is
known by what all processors did, not by what came of the pair. Beside the loss are figures that need no idle machine:
what the main thread loses for each second of CPU that its process has used, the CPU time of the exporting thread, and
on Linux how long the main thread was blocked and how often the exporting thread waited for each batch (for the
interpreter, the network, or by a pause of ours).
"""

from __future__ import annotations

import argparse
import json
import os
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path
from statistics import median
from typing import Any, TypeAlias

from opentelemetry.exporter.otlp.proto.http import Compression
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter

from otel_fastpath import FastpathInstrumentor
from otel_fastpath import compiled as cores
from otel_fastpath.tools.budget.estimate import over_processes

BATCH = 512
BATCHES = 20
# A pair is disturbed if others used so much of one processor, or the main thread alone was not so steady.
QUIET = 0.05
SURE = 0.95
ATTRIBUTES = {
    "http.request.method": "GET",
    "url.path": "/items/1",
    "http.response.status_code": 200,
    "server.address": "localhost",
    "server.port": 8000,
    "cached": True,
    "ratio": 0.5,
}


def serve() -> None:
    """Be the receiver: answer each request on one connection after another, and look at nothing."""
    listener = socket.create_server(("127.0.0.1", 0))
    print(listener.getsockname()[1], flush=True)
    answer = b"HTTP/1.1 200 OK\r\ncontent-type: application/x-protobuf\r\ncontent-length: 0\r\n\r\n"
    while True:
        connection, _ = listener.accept()
        with connection, connection.makefile("rb") as lines:
            size = 0
            while line := lines.readline():
                if line.lower().startswith(b"content-length:"):
                    size = int(line.partition(b":")[2])
                elif line == b"\r\n":
                    lines.read(size)
                    connection.sendall(answer)


def busy() -> float:
    """Seconds that this thread has run or could have run if there were processors enough."""
    try:
        numbers = Path(f"/proc/self/task/{threading.get_native_id()}/schedstat").read_text("ascii")
        running, queued, _ = map(int, numbers.split())
    except OSError:
        return time.thread_time()
    return (running + queued) / 1e9


def used(*pids: int) -> float:
    """Seconds of CPU that these processes have used; without any: that all have, and other machines on the host.

    Only Linux tells.
    """
    if not Path("/proc/stat").exists():
        return 0.0
    tick = os.sysconf("SC_CLK_TCK")
    if pids:
        each = (Path(f"/proc/{pid}/stat").read_text("ascii").rpartition(")")[2].split()[11:13] for pid in pids)
        return sum(int(ticks) for both in each for ticks in both) / tick
    user, nice, system, _, _, interrupts, soft, stolen, *_ = Path("/proc/stat").read_text("ascii").split()[1:11]
    return sum(map(int, (user, nice, system, interrupts, soft, stolen))) / tick


class Feed:
    """Hands the batch processor a batch of finished spans whenever one is due."""

    def __init__(self, port: int, compression: str) -> None:
        class Keep(SpanExporter):
            def export(self, spans: Any) -> Any:
                kept.extend(spans)

        class Counted(OTLPSpanExporter):
            def export(self, spans: Any) -> Any:
                result = super().export(spans)
                feed.exported += len(spans) * (result.name == "SUCCESS")
                return result

        feed, kept = self, []
        provider = TracerProvider(shutdown_on_exit=False)
        provider.add_span_processor(BatchSpanProcessor(Keep(), max_queue_size=BATCH * BATCHES))
        tracer = provider.get_tracer("benchmark")
        for _ in range(BATCH * BATCHES):
            tracer.start_span("GET /items/{id}", attributes=ATTRIBUTES).end()
        provider.shutdown()
        self.exported = self.dropped = 0
        self._batches = [kept[at : at + BATCH] for at in range(0, len(kept), BATCH)]
        exporter = Counted(f"http://127.0.0.1:{port}/v1/traces", compression=Compression(compression))
        self._processor = BatchSpanProcessor(exporter)._batch_processor
        self._next = 0
        self._due = self._every = 0.0

    def start(self, rate: int) -> None:
        """Begin to feed so many spans a second; 0: none. The first batch is due half a batch's time from now."""
        self.exported = self.dropped = 0
        self._every = BATCH / rate if rate else 1e9
        self._due = time.perf_counter() + self._every / 2

    def tick(self, now: float) -> None:
        """Feed the batch that is due, if any. Where the exporter does not keep up, the oldest spans fall out."""
        if now >= self._due:
            self._due += self._every
            queue = self._processor._queue
            self.dropped += max(len(queue) + BATCH - queue.maxlen, 0)
            queue.extendleft(self._batches[self._next % len(self._batches)])
            self._processor._worker_awaken.set()
            self._next += 1

    def cpu(self) -> float:
        """Seconds of CPU that the processor's thread has used: it holds the interpreter for no longer."""
        return time.clock_gettime(time.pthread_getcpuclockid(self._processor._worker_thread.ident))

    def waits(self) -> int:
        """How often the processor's thread gave up its processor to wait for something."""
        try:
            status = Path(f"/proc/self/task/{self._processor._worker_thread.native_id}/status").read_text("ascii")
        except OSError:
            return 0
        return int(status.rpartition("\nvoluntary_ctxt_switches:")[2].split()[0])

    def drain(self) -> None:
        """Let the exporter finish."""
        self._processor.force_flush(10_000)


def compute(feed: Feed, seconds: float) -> dict[str, float]:
    """Count in pure Python; rounds a second."""
    rounds = 0
    start = now = time.perf_counter()
    while now < start + seconds:
        for _ in range(1000):
            pass
        rounds += 1
        now = time.perf_counter()
        feed.tick(now)
    return {"rounds": rounds / (now - start)}


def call(feed: Feed, seconds: float) -> dict[str, float]:
    """Write to a pipe and read from it; rounds a second, and how long they take in microseconds."""
    reader, writer = os.pipe()
    took = []
    start = now = time.perf_counter()
    while now < start + seconds:
        begin = time.perf_counter()
        os.write(writer, b"x")
        os.read(reader, 1)
        now = time.perf_counter()
        took.append(now - begin)
        feed.tick(now)
    os.close(reader)
    os.close(writer)
    took.sort()
    at = {"p50": 0.5, "p99": 0.99, "p99.9": 0.999, "p99.99": 0.9999}
    places = {name: took[int(len(took) * share)] * 1e6 for name, share in at.items()}
    return {"rounds": len(took) / (now - start), **places, "max": took[-1] * 1e6}


def work(port: int, core: str, compression: str) -> None:
    """Be a worker: for each line (what, seconds, rate) on standard input, do it and print what came of it."""
    if core != "stock":
        instrumentor = FastpathInstrumentor()
        instrumentor.instrument(core=core)
        # What is measured under our name is ours.
        for row in instrumentor.status():
            if row.name == "otlp.http_spans" and row.state.value != "applied":
                sys.exit(f"{row.name} is not applied: {row.reason}")
    feed = Feed(port, compression)
    for line in sys.stdin:
        what, seconds, rate = json.loads(line)
        feed.start(rate)
        before, waited, own, begin = feed.cpu(), feed.waits(), busy(), time.perf_counter()
        process = time.process_time()
        result = (compute if what == "compute" else call)(feed, seconds)
        passed = time.perf_counter() - begin
        result["rounds per CPU second"] = result["rounds"] * passed / (time.process_time() - process)
        result["waits"] = 100 * (1 - (busy() - own) / passed)
        result["spans"] = feed.exported / seconds
        result["dropped"] = feed.dropped / seconds
        result["cpu"] = 100 * (feed.cpu() - before) / seconds
        result["waits a batch"] = (feed.waits() - waited) * BATCH / max(feed.exported, BATCH)
        feed.start(0)
        feed.drain()
        print(json.dumps(result), flush=True)


Rows: TypeAlias = "list[dict[str, float]]"


class Worker:
    """One process that works and one that receives; the latter serves a single connection, which stays open."""

    def __init__(self, core: str, options: argparse.Namespace) -> None:
        again = [sys.executable, __file__, "--compression", options.compression]
        pipe = subprocess.PIPE
        self._receiver = subprocess.Popen([*again, "--serve"], stdout=pipe, text=True)
        port = self._receiver.stdout.readline().strip()
        self._worker = subprocess.Popen([*again, "--work", port, core], text=True, stdin=pipe, stdout=pipe)
        self.pids = (self._receiver.pid, self._worker.pid, os.getpid())

    def ask(self, *request: Any) -> Any:
        """Let it do something."""
        self._worker.stdin.write(json.dumps(request) + "\n")
        self._worker.stdin.flush()
        return json.loads(self._worker.stdout.readline() or sys.exit("a worker has stopped: see above"))

    def stop(self) -> None:
        """End both."""
        for process in (self._worker, self._receiver):
            process.kill()
            process.wait()


def measure(workers: dict[str, Worker], what: str, options: argparse.Namespace) -> dict[str, Rows]:
    """Pairs of both workers in turns, until enough of each were left alone by others or four times as many are made.

    Returns:
        Those pairs; all of them where never one was left alone.
    """
    seconds = options.batches * BATCH / options.rate
    all_pairs: dict[str, Rows] = {core: [] for core in workers}
    for turn in range(4 * options.pairs):
        for core in sorted(workers, reverse=bool(turn % 2)):
            all_pairs[core].append(pair(workers[core], what, seconds, options.rate))
        quiet = {core: [row for row in rows if row["quiet"]] for core, rows in all_pairs.items()}
        if all(len(rows) >= options.pairs for rows in quiet.values()):
            break
    return {core: quiet[core] or rows for core, rows in all_pairs.items()}


def pair(worker: Worker, what: str, seconds: float, rate: int) -> dict[str, float]:
    """The main thread alone, exporting, and alone again."""
    everybody, we, begin = used(), used(*worker.pids), time.perf_counter()
    before, result, after = (
        worker.ask(what, *request) for request in ((seconds / 2, 0), (seconds, rate), (seconds / 2, 0))
    )
    others = (used() - everybody - used(*worker.pids) + we) / (time.perf_counter() - begin)
    for loss, rounds in (("loss", "rounds"), ("loss per CPU second", "rounds per CPU second")):
        result[loss] = 100 * (1 - 2 * result[rounds] / (before[rounds] + after[rounds]))
    result["p99.9 alone"] = (before.get("p99.9", 0.0) + after.get("p99.9", 0.0)) / 2
    unsteady = abs(before["rounds"] - after["rounds"]) / before["rounds"]
    result["quiet"] = float(max(others, unsteady) < QUIET)
    result["others"] = 100 * others
    return result


def share(rows: Rows, name: str) -> str:
    """The median with the interval that it surely lies in."""
    found = over_processes([row[name] for row in rows], SURE)
    return f"{found.value:.1f} % ({found.low:.1f} to {found.high:.1f})"


def noted(rows: Rows) -> str:
    """How many pairs there are, and whether others used the machine meanwhile."""
    others = median(row["others"] for row in rows)
    return f"{len(rows)} pairs, {'not ' if rows[0]['quiet'] else ''}disturbed: others used {others:.0f} % of a CPU"


def report(what: str, results: dict[str, Rows]) -> None:
    """Print medians, with the interval of what is judged."""
    for core, rows in results.items():
        at = {name: median(row[name] for row in rows) for name in rows[0]}
        print(
            f"{what:8} {core:6} {at['spans']:7,.0f} spans/s out, {at['dropped']:,.0f} dropped,"
            f" in {at['cpu']:4.1f} % of a CPU, {at['waits a batch']:4.1f} waits a batch   ({noted(rows)})"
        )
        if what == "compute":
            print(
                f"    main loop does {share(rows, 'loss')} less, for each CPU second of its process"
                f" {share(rows, 'loss per CPU second')}; it is blocked {at['waits']:.1f} % of the time"
            )
        else:
            places = "  ".join(f"{name} {at[name]:,.1f}" for name in ("p50", "p99", "p99.9", "p99.99", "max"))
            print(f"    pair of system calls, us: {places}   (p99.9 alone {at['p99.9 alone']:,.1f})")


def markdown(results: dict[str, dict[str, Rows]], options: argparse.Namespace, loads: list[float]) -> str:
    """The medians as a table for a page, and how busy the machine was."""
    lines = [
        [
            f"{options.rate:,} spans/s",
            "got out, a second",
            "dropped, a second",
            "exporting thread",
            "busy main loop does less",
            "less for each CPU second",
            "p99.9 of system calls",
            "p99.9 alone",
            "p99.99",
        ],
        ["---", *["---:"] * 8],
    ]
    names = {"c": "compiled", "py": "pure"}
    for core, rows in results["compute"].items():
        at = {name: median(row[name] for row in rows) for name in rows[0]}
        line = [names.get(core, core), f"{at['spans']:,.0f}", f"{at['dropped']:,.0f}", f"{at['cpu']:.1f} % of a CPU"]
        line += [share(rows, "loss"), share(rows, "loss per CPU second")]
        calls = results["call"][core]
        line += [f"{median(row[name] for row in calls):,.1f} us" for name in ("p99.9", "p99.9 alone", "p99.99")]
        lines.append(line)
    python = ".".join(map(str, sys.version_info[:3]))
    table = "\n".join(f"| {' | '.join(line)} |" for line in lines)
    pairs = "; ".join(f"{names.get(core, core)} {noted(rows)}" for core, rows in results["compute"].items())
    load = f"load average meanwhile {min(loads):.1f} to {max(loads):.1f}"
    where = f"CPython {python}, {os.cpu_count()} CPUs; {load}"
    return f"{table}\n\nMedians, losses with {SURE:.0%} intervals; {pairs}. {where}.\n"


def main() -> None:
    """Run the benchmark, or one of its processes."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pairs", type=int, default=30, help="not disturbed; up to four times as many are made")
    parser.add_argument("--batches", type=int, default=10, help="of 512 spans that are due in a pair")
    parser.add_argument("--rate", type=int, default=10_000, help="spans a second")
    parser.add_argument("--core", default="c", choices=("c", "py"))
    parser.add_argument("--compression", default="none", choices=("none", "gzip", "deflate"))
    parser.add_argument("--markdown", type=Path, metavar="FILE", help="write the medians as a table, too")
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--work", nargs=2, metavar=("PORT", "CORE"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve:
        serve()
    elif options.work:
        work(int(options.work[0]), options.work[1], options.compression)
    else:
        run(options)


def run(options: argparse.Namespace) -> None:
    """Start the processes, measure, report, stop them."""
    try:
        cores.choose(options.core)
    except ImportError as error:
        sys.exit(f"the {options.core} core cannot be imported ({error}): nothing is measured")
    workers: dict[str, Worker] = {}
    try:
        for core in ("stock", options.core):
            workers[core] = Worker(core, options)
        results, loads = {}, [os.getloadavg()[0]]
        for what in ("compute", "call"):
            results[what] = measure(workers, what, options)
            loads.append(os.getloadavg()[0])
            report(what, results[what])
        print(f"load average meanwhile: {min(loads):.1f} to {max(loads):.1f}")
        if options.markdown:
            options.markdown.parent.mkdir(parents=True, exist_ok=True)
            options.markdown.write_text(markdown(results, options, loads), encoding="utf-8")
    finally:
        for worker in workers.values():
            worker.stop()


if __name__ == "__main__":
    main()
