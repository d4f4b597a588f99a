"""Sends three signals to the real Collector, stock and with us, and demands that the same arrives.

python tests/collector/run.py [--seconds 60] [--rate 10000] [--protocol grpc] [--side compiled] [--out build/collector]

gunicorn's workers send over HTTP or gRPC, with gzip; in the middle the Collector is killed and started again. In the
first scenario the queues are long enough and everything arrives; in the second one they run over. Exit status 1 where
something else arrives than with stock, or the Collector refuses something. All traffic stays on loopback.
"""
# ruff: noqa: T201  # a program that prints

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
sys.path[:0] = [str(ROOT), str(HERE)]

import builder  # noqa: E402
from receiver import Arrived, Receiver  # noqa: E402
from work import SPANS  # noqa: E402
from world import WORKERS, Collector, Load, reports, start_service, wait  # noqa: E402

from examples.demo.processes import Interrupts, Processes, running  # noqa: E402
from examples.founding_case.environment import SetupError, provide  # noqa: E402

SIDES = {"stock": "", "compiled": "c", "pure": "py"}
PROTOCOLS = {"http/protobuf": "http", "grpc": "grpc"}
COLUMNS = ("sent", "arrived", "refused", "dropped", "failed", "retried", "repeated", "per second", "CPU (s)")
_DROPPED = "otel.sdk.processor.span.processed queue_full"
# The default of OTEL_BSP_MAX_EXPORT_BATCH_SIZE.
_BATCH = 512
_EXPORTED = "otel.sdk.exporter.span.exported "


@dataclass
class Result:
    """One run.

    Attributes:
        sent: How many spans ended.
        dropped: How many the queue dropped, as the SDK counts.
        failed: How many were given up after retries, likewise.
        retried: How many messages say that an export is tried again; the SDK logs each place once in 20 seconds.
        per_second: How many spans the workers made in a second.
        cpu: What the workers took while they worked, in seconds.
    """

    arrived: Arrived
    refused: Counter[str]
    sent: int
    dropped: int
    failed: int
    retried: int
    per_second: float
    cpu: float

    def cells(self) -> list[str]:
        """In the order of the columns."""
        numbers = (self.sent, self.arrived.span_count, sum(self.refused.values()), self.dropped, self.failed)
        counts = (*numbers, self.retried, self.arrived.repeated)
        return [*(f"{each:,}" for each in counts), f"{self.per_second:,.0f}", f"{self.cpu:.1f}"]


def run(processes: Processes, programs: Path, collector: Path, load: Load, side: str, protocol: str) -> Result:
    """One side sends its load."""
    receiver = Receiver()
    name = f"{load.name}-{side}-{PROTOCOLS[protocol]}".replace(" ", "-")
    try:
        server = Collector(processes, collector, receiver.port)
        server.start()
        with tempfile.TemporaryDirectory() as folder:
            settings = {"core": SIDES[side], "reports": folder, **load.settings(SPANS)}
            endpoint = f"http://127.0.0.1:{server.ports[PROTOCOLS[protocol]]}"
            service = start_service(processes, programs, name, protocol, endpoint, load.queue, settings)
            wait(load.seconds / 2, service)
            server.kill()
            wait(load.outage, service)
            server.start()
            found = reports(Path(folder), service, 5 * load.seconds + 120)
            service.stop()
        result = _result(found, receiver.arrived, server.refused())
        server.stop()
    finally:
        receiver.close()
    if side != "stock" and not all(each["patches"] for each in found):
        raise RuntimeError("nothing is patched in the service")
    return result


def _result(found: list[dict[str, Any]], arrived: Arrived, refused: Counter[str]) -> Result:
    counts: Counter[str] = Counter()
    for each in found:
        counts.update(each["counts"])
    return Result(
        arrived,
        refused,
        sent=sum(each["spans"] for each in found),
        dropped=counts[_DROPPED],
        failed=sum(count for name, count in counts.items() if name.startswith(_EXPORTED)),
        retried=sum(each["heard"].get("Transient error", 0) for each in found),
        per_second=sum(each["spans"] / each["seconds"] for each in found),
        cpu=sum(each["cpu"] for each in found),
    )


def faults(result: Result, load: Load) -> list[str]:
    """What is not as it must be in one run, whoever sends: a sentence each."""
    found = [f"the Collector's {what}: {count}" for what, count in result.refused.items() if count]
    found += [f"{count} x {what}" for what, count in result.arrived.faults.items() if count]
    least, most = result.sent - result.dropped - result.failed, result.sent - result.dropped
    if load.loses:
        # The SDK looks whether the queue is full, counts a drop, and then appends. If the export takes a batch in
        # between, nothing is dropped: at most once for each batch.
        most += result.arrived.span_count // _BATCH + WORKERS
    if not least <= result.arrived.span_count <= most:
        found.append(f"{result.arrived.span_count:,} spans arrived, and {least:,} to {most:,} are accounted for")
    if result.failed and not load.loses:
        found.append(f"{result.failed:,} spans were given up")
    if not result.retried:
        found.append("nothing was sent again")
    if bool(result.dropped) != load.loses:
        found.append(f"{result.dropped:,} spans were dropped")
    return found


def differences(stock: Result, ours: Result, load: Load) -> list[str]:
    """What arrived and is not as with stock."""
    found = []
    if ours.sent != stock.sent:
        found.append(f"{ours.sent:,} spans were sent, and {stock.sent:,} with stock")
    if load.loses:
        if unknown := ours.arrived.spans.keys() - stock.arrived.spans.keys():
            found.append(f"{len(unknown)} kinds of spans arrived that stock does not send: {min(unknown)!r}")
        return found
    for what in ("spans", "logs", "metrics"):
        here, there = getattr(ours.arrived, what), getattr(stock.arrived, what)
        if here != there:
            keys = sorted(key for key in here.keys() | there.keys() if here.get(key) != there.get(key))
            found.append(f"{len(keys)} kinds of {what} are not as with stock: {keys[0]!r}")
    if ours.arrived.parents() != stock.arrived.parents():
        found.append("the spans do not have the same parents")
    return found


def loads(options: argparse.Namespace) -> list[Load]:
    """Both scenarios."""
    return [
        Load("everything arrives", options.seconds, options.rate, outage=2, queue=1 << 17),
        Load("queues run over", options.seconds / 3, options.rate, outage=4, loses=True),
    ]


def table(rows: list[tuple[str, str, str, list[str]]]) -> str:
    """As Markdown."""
    lines = [("", "protocol", "", *COLUMNS), ("---", "---", "---", *["---:"] * len(COLUMNS))]
    lines += [(load, protocol, side, *cells) for load, protocol, side, cells in rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def main() -> int:
    """Run, compare, print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--rate", type=float, default=10_000, help="spans per second of all workers")
    parser.add_argument("--protocol", choices=PROTOCOLS, action="append")
    parser.add_argument("--side", choices=[name for name in SIDES if name != "stock"], action="append")
    parser.add_argument("--out", type=Path, default=ROOT / "build" / "collector")
    options = parser.parse_args()
    programs, collector = provide("collector"), builder.provide()
    sides, rows, wrong = ["stock", *(options.side or ["compiled", "pure"])], [], 0
    with running(options.out / "logs", Interrupts()) as processes:
        for load in loads(options):
            for protocol in options.protocol or PROTOCOLS:
                results: dict[str, Result] = {}
                for side in sides:
                    results[side] = result = run(processes, programs, collector, load, side, protocol)
                    rows.append((load.name, PROTOCOLS[protocol], side, result.cells()))
                    print(*rows[-1][:3], *(f"{name} {cell}" for name, cell in zip(COLUMNS, rows[-1][3], strict=True)))
                    found = faults(result, load) + differences(results["stock"], result, load)
                    wrong += len(found)
                    print(*(f"    {each}\n" for each in found), sep="", end="", flush=True)
    text = (
        f"{table(rows)}\n{WORKERS} gunicorn workers, {options.rate:,.0f} spans per second for {options.seconds:,.0f} s"
        f" (a third of it where queues run over), gzip; OpenTelemetry Collector {builder.version()},"
        f" Python {sys.version.split()[0]}, {os.cpu_count()} processors. Differences: {wrong}.\n"
    )
    (options.out / "result.md").write_text(text, encoding="utf-8")
    print(text)
    return int(bool(wrong))


if __name__ == "__main__":
    try:
        sys.exit(main())
    except (builder.BuildError, SetupError) as error:
        print(f"collector: {error}", file=sys.stderr)
        sys.exit(os.EX_UNAVAILABLE)
