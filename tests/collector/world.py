"""The processes of a run: the Collector, and the service under gunicorn."""

from __future__ import annotations

import json
import re
import signal
import sys
import time
import urllib.request
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parents[1]))

from examples.demo.processes import (  # noqa: E402  # found only from here on
    Child,
    Processes,
    clean_environment,
    free_port,
    listening,
    wait_until,
)

WORKERS = 4
_METRIC = re.compile(
    r"^otelcol_(receiver_(?:refused|failed)|exporter_send_failed)_(\w+?)(?:_total)?\{.*\} (\S+)$", re.MULTILINE
)


class Collector:
    """The Collector on ports of loopback, which stay the same when it is started again."""

    def __init__(self, processes: Processes, program: Path, receiver_port: int) -> None:
        self.ports = {"grpc": free_port(), "http": free_port(), "metrics": free_port()}
        self._processes = processes
        self._program = program
        self._receiver_port = receiver_port
        self._starts = 0
        self._child: Child | None = None
        # What was refused by those that were killed.
        self._refused: Counter[str] = Counter()

    def start(self) -> None:
        """Start it and wait until it listens."""
        self._starts += 1
        ports = {f"COLLECTOR_{name.upper()}_PORT": str(port) for name, port in self.ports.items()}
        self._child = child = self._processes.start(
            f"collector-{self.ports['http']}-{self._starts}",
            [str(self._program), "--config", f"file:{HERE / 'collector.yaml'}"],
            stop_signal=signal.SIGTERM,
            env=clean_environment({**ports, "RECEIVER_PORT": str(self._receiver_port)}),
        )
        wait_until(lambda: all(map(listening, self.ports.values())), child)

    def kill(self) -> None:
        """End it as a crash does."""
        self._refused = self.refused()
        assert self._child is not None
        self._child.process.kill()
        self._child.process.wait()

    def refused(self) -> Counter[str]:
        """What it has refused or not handed on so far, by its own metrics."""
        url = f"http://127.0.0.1:{self.ports['metrics']}/metrics"
        with urllib.request.urlopen(url, timeout=60) as answer:
            text = answer.read().decode()
        found = Counter(self._refused)
        for what, signal_, count in _METRIC.findall(text):
            found[f"{what} {signal_}"] += int(float(count))
        return found

    def stop(self) -> None:
        """Stop it in good order."""
        if self._child is not None:
            self._child.stop()


@dataclass(frozen=True)
class Load:
    """What the service does.

    Attributes:
        name: The name of the scenario.
        seconds: For how long.
        spans_per_second: Of all workers.
        outage: For how many seconds there is no Collector, in the middle.
        queue: The length of the queues; 0: the default.
        loses: Whether queues run over.
    """

    name: str
    seconds: float
    spans_per_second: float
    outage: float
    queue: int = 0
    loses: bool = False

    def settings(self, spans_of_an_operation: int) -> dict[str, Any]:
        """Those of each worker."""
        per_second = self.spans_per_second / spans_of_an_operation / WORKERS
        return {"per_second": per_second, "operations": round(per_second * self.seconds)}


def start_service(
    processes: Processes, programs: Path, name: str, protocol: str, endpoint: str, queue: int, settings: dict[str, Any]
) -> Child:
    """Start gunicorn with its workers."""
    telemetry = {
        "COLLECTOR_TEST": json.dumps(settings),
        "OTEL_EXPORTER_OTLP_PROTOCOL": protocol,
        "OTEL_EXPORTER_OTLP_ENDPOINT": endpoint,
        "OTEL_EXPORTER_OTLP_COMPRESSION": "gzip",
        "OTEL_METRIC_EXPORT_INTERVAL": "5000",
        "OTEL_PYTHON_SDK_INTERNAL_METRICS_ENABLED": "true",
    }
    if queue:
        telemetry |= {"OTEL_BSP_MAX_QUEUE_SIZE": str(queue), "OTEL_BLRP_MAX_QUEUE_SIZE": str(queue)}
    command = [str(programs / "gunicorn"), "--config", str(HERE / "service.py"), "service:app"]
    command += ["--workers", str(WORKERS), "--bind", f"127.0.0.1:{free_port()}", "--no-control-socket"]
    command += ["--timeout", "600"]
    return processes.start(name, command, stop_signal=signal.SIGTERM, cwd=HERE, env=clean_environment(telemetry))


def reports(folder: Path, service: Child, seconds: float) -> list[dict[str, Any]]:
    """What the workers write when they are done."""
    wait_until(lambda: len(list(folder.glob("*.json"))) == WORKERS, service, seconds)
    found = [json.loads(path.read_text(encoding="utf-8")) for path in sorted(folder.glob("*.json"))]
    failed = [each["error"] for each in found if "error" in each]
    if failed:
        raise RuntimeError(f"a worker failed: {failed}")
    return found


def wait(seconds: float, service: Child) -> None:
    """Wait for so long, or until the service ends."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline and service.process.poll() is None:
        time.sleep(0.05)
