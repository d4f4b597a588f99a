"""Create 1,000 users in Cassandra under gevent, without telemetry, with OpenTelemetry's and with ours; print a table.

    python -m examples.gevent_cassandra
    python -m examples.gevent_cassandra --users 100 --pool 20 --latencies 1 5

The server is Simulacron (needs Java and, the first time, Maven), behind a network with the latency.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from examples.gevent_cassandra.latency import Network
from examples.gevent_cassandra.simulacron import MissingError, Simulacron

ROOT = Path(__file__).parents[2]
MODES = {"bare": "without", "stock": "OpenTelemetry", "fastpath": "otel-fastpath"}
WAYS = {"one_by_one": "one by one", "in_a_pool": "in a pool"}


def measured(mode: str, ports: dict[int, int], arguments: argparse.Namespace) -> list[dict[str, Any]]:
    """What the service printed in this mode, given the port for each latency."""
    words = [mode, arguments.users, arguments.pool, *(f"{latency}:{port}" for latency, port in ports.items())]
    # Patched by gevent before anything else is imported.
    command = [sys.executable, "-m", "gevent.monkey", str(Path(__file__).with_name("service.py")), *map(str, words)]
    print(f"measuring: {MODES[mode]}", file=sys.stderr, flush=True)
    result = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True)
    return [json.loads(line) for line in result.stdout.splitlines()]


def table(rows: list[dict[str, Any]], users: int) -> str:
    """The table: a line for each latency and way, the modes beside each other, the lowest times of all rounds."""
    found: dict[tuple[Any, ...], dict[str, Any]] = {}
    for row in rows:
        best = found.setdefault((row["latency"], row["way"], row["mode"]), row)
        best |= {name: min(best[name], row[name]) for name in ("seconds", "cpu")}
    names = "".join(f"{name:>14}" for name in MODES.values())
    with_spans = "".join(f"{name:>16}" for name in list(MODES.values())[1:])
    lines = [
        f"{users} users                {'seconds':>36}   {'CPU, microseconds a user':>36}   spans in traces",
        f"{'latency':>8}  {'way':12}{names}{names}{with_spans}",
    ]
    for latency, way in dict.fromkeys((row["latency"], row["way"]) for row in rows):
        each = [found[latency, way, mode] for mode in MODES]
        seconds = "".join(f"{row['seconds']:14.2f}" for row in each)
        cpu = "".join(f"{row['cpu'] / users * 1e6:14.0f}" for row in each)
        spans = "".join(f"{row['spans']:>8} in {row['traces']:<4}" for row in each[1:])
        lines.append(f"{latency:5} ms  {WAYS[way]:12}{seconds}{cpu}{spans}".rstrip())
    return "\n".join(lines)


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--users", type=int, default=1000)
    parser.add_argument("--pool", type=int, default=100)
    parser.add_argument("--latencies", type=int, nargs="+", default=[1, 5, 10, 100], help="in milliseconds")
    parser.add_argument("--rounds", type=int, default=1, help="of all modes; the table has the lowest times")
    parser.add_argument("--markdown", type=Path, help="a file to write the table to, as a block of text")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        try:
            simulacron = Simulacron(Path(folder))
        except MissingError as error:
            print(error, file=sys.stderr)
            return 1
        network = Network()
        try:
            server = simulacron.cluster()
            ports = {latency: network.port(server.ports[0], latency) for latency in arguments.latencies}
            rows = [row for _ in range(arguments.rounds) for mode in MODES for row in measured(mode, ports, arguments)]
        finally:
            network.stop()
            simulacron.stop()
    made = table(rows, arguments.users)
    print(made)
    if arguments.markdown:
        arguments.markdown.parent.mkdir(parents=True, exist_ok=True)
        arguments.markdown.write_text(f"```text\n{made}\n```\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
