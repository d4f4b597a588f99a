"""What exporting takes from the application: a busy main thread while spans leave over OTLP/HTTP, stock and fast path.

    python benchmarks/bench_export_gil.py --pairs 5 --rate 10000 --markdown build/bench/gil.md

Two worker processes, one stock and one with the fast path, take turns; each has a process that receives. The main
thread of a worker first runs alone and then while a batch processor of its own exports; what it loses is one figure of
a pair. It does one of two things: counting in pure Python, which gives the interpreter up only when asked to, or system
calls in pairs (os.write and os.read on a pipe), which give it up each time and must get it back. It feeds the processor
itself, with spans made before: what making them costs is another benchmark's subject. Beside it are three figures that
do not need an idle machine: the CPU time of the exporting thread, and on Linux how long the main thread was blocked and
how often the exporting thread waited for each batch (for the interpreter, the network, or by a pause of ours).
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
from typing import Any

from opentelemetry.exporter.otlp.proto.http import Compression
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter

from otel_fastpath import FastpathInstrumentor
from otel_fastpath import core as cores

BATCH = 512
BATCHES = 20
# Nobody else used the machine, if the main thread alone was so steady.
QUIET = 0.05
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
        self.exported = 0
        self._batches = [kept[at : at + BATCH] for at in range(0, len(kept), BATCH)]
        exporter = Counted(f"http://127.0.0.1:{port}/v1/traces", compression=Compression(compression))
        self._processor = BatchSpanProcessor(exporter)._batch_processor
        self._next = 0
        self._due = self._every = 0.0

    def start(self, rate: int) -> None:
        """Begin to feed so many spans a second; 0: none."""
        self.exported = 0
        self._every = BATCH / rate if rate else 1e9
        self._due = time.perf_counter() + self._every

    def tick(self, now: float) -> None:
        """Feed the batch that is due, if any. Where the exporter does not keep up, the oldest spans fall out."""
        if now >= self._due:
            self._due += self._every
            self._processor._queue.extendleft(self._batches[self._next % len(self._batches)])
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
        result = (compute if what == "compute" else call)(feed, seconds)
        result["waits"] = 100 * (1 - (busy() - own) / (time.perf_counter() - begin))
        result["spans"] = feed.exported / seconds
        result["cpu"] = 100 * (feed.cpu() - before) / seconds
        result["waits a batch"] = (feed.waits() - waited) * BATCH / max(feed.exported, BATCH)
        feed.start(0)
        feed.drain()
        print(json.dumps(result), flush=True)


def ask(worker: Any, *request: Any) -> Any:
    """Let a worker do something."""
    worker.stdin.write(json.dumps(request) + "\n")
    worker.stdin.flush()
    return json.loads(worker.stdout.readline() or sys.exit("a worker has stopped: see above"))


def measure(workers: dict[str, Any], what: str, options: argparse.Namespace) -> dict[str, list[dict[str, float]]]:
    """Pairs of both workers in turns: alone, exporting, and alone again.

    A pair counts where the main thread went as fast before as after: else somebody else was using the machine. Where
    that never is, all count.
    """
    all_pairs: dict[str, list[dict[str, float]]] = {core: [] for core in workers}
    for turn in range(4 * options.pairs):
        for core in sorted(workers, reverse=bool(turn % 2)):
            before, result, after = (ask(workers[core], what, options.seconds, rate) for rate in (0, options.rate, 0))
            alone = (before["rounds"] + after["rounds"]) / 2
            result["loss"] = 100 * (1 - result["rounds"] / alone)
            result["p99.9 alone"] = before.get("p99.9", 0.0)
            result["alone"] = alone
            result["quiet"] = float(abs(before["rounds"] - after["rounds"]) < QUIET * alone)
            all_pairs[core].append(result)
        chosen = {core: quiet_ones(rows) for core, rows in all_pairs.items()}
        if all(len(rows) >= options.pairs for rows in chosen.values()):
            break
    return {core: chosen[core] or rows for core, rows in all_pairs.items()}


def quiet_ones(rows: list[dict[str, float]]) -> list[dict[str, float]]:
    """The pairs in which the machine was as fast as it ever was."""
    best = max(row["alone"] for row in rows)
    return [row for row in rows if row["quiet"] and row["alone"] > (1 - QUIET) * best]


def report(what: str, results: dict[str, list[dict[str, float]]]) -> None:
    """Print medians, with the range of what is judged."""
    for core, rows in results.items():
        middle = {name: median(row[name] for row in rows) for name in rows[0]}
        line = f"{what:8} {core:6} {middle['spans']:7,.0f} spans/s in {middle['cpu']:4.1f} % of a CPU"
        line += f", {middle['waits a batch']:4.1f} waits a batch"
        if what == "compute":
            losses = sorted(row["loss"] for row in rows)
            print(
                f"{line}   main loop waits {middle['waits']:4.1f} % of the time,"
                f" does {middle['loss']:4.1f} % less ({losses[0]:.1f} to {losses[-1]:.1f}, {len(rows)} pairs)"
            )
        else:
            places = "  ".join(f"{name} {middle[name]:,.1f}" for name in ("p50", "p99", "p99.9", "p99.99", "max"))
            print(f"{line}   pair of system calls, us: {places}   (p99.9 alone {middle['p99.9 alone']:,.1f})")


def markdown(results: dict[str, dict[str, list[dict[str, float]]]], loads: list[float]) -> str:
    """The medians as a table for a page, and how busy the machine was."""
    lines = [
        [
            "",
            "spans/s",
            "exporting thread",
            "busy main loop does less",
            "p99.9 of system calls",
            "p99.9 alone",
            "p99.99",
        ],
        ["---", *["---:"] * 6],
    ]
    for core, rows in results["compute"].items():
        at = {name: median(row[name] for row in rows) for name in rows[0]}
        calls = results["call"][core]
        line = [core, f"{at['spans']:,.0f}", f"{at['cpu']:.1f} % of a CPU", f"{at['loss']:.1f} %"]
        line += [f"{median(row[name] for row in calls):,.1f} us" for name in ("p99.9", "p99.9 alone", "p99.99")]
        lines.append(line)
    python = ".".join(map(str, sys.version_info[:3]))
    load = f"{min(loads):.1f} to {max(loads):.1f}"
    table = "\n".join(f"| {' | '.join(line)} |" for line in lines)
    return f"{table}\n\nCPython {python}, {os.cpu_count()} CPUs; load average meanwhile {load}.\n"


def main() -> None:
    """Run the benchmark, or one of its processes."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pairs", type=int, default=9, help="quiet ones; up to four times as many are tried")
    parser.add_argument("--seconds", type=float, default=1.03, help="of each of three measurements of a pair")
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
    again = [sys.executable, __file__, "--compression", options.compression]
    processes = []
    workers = {}
    try:
        for core in ("stock", options.core):
            # Each has a receiver of its own: it serves one connection, which stays open.
            receiver = subprocess.Popen([*again, "--serve"], stdout=subprocess.PIPE, text=True)
            processes.append(receiver)
            pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
            port = receiver.stdout.readline().strip()
            workers[core] = subprocess.Popen([*again, "--work", port, core], text=True, **pipes)
            processes.append(workers[core])
        results, loads = {}, [os.getloadavg()[0]]
        for what in ("compute", "call"):
            results[what] = measure(workers, what, options)
            loads.append(os.getloadavg()[0])
            report(what, results[what])
        print(f"load average meanwhile: {min(loads):.1f} to {max(loads):.1f}")
        if options.markdown:
            options.markdown.parent.mkdir(parents=True, exist_ok=True)
            options.markdown.write_text(markdown(results, loads), encoding="utf-8")
    finally:
        for process in processes:
            process.kill()
            process.wait()


if __name__ == "__main__":
    main()
