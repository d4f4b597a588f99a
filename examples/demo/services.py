"""The processes of the demo: a service in each of its ways, and the servers that it talks to."""

import json
import os
import subprocess
import sys
import urllib.request
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from examples.demo.processes import (
    START_S,
    Child,
    Processes,
    StartError,
    clean_environment,
    free_port,
    listening,
    wait_until,
)

ROOT = Path(__file__).parents[2]
SERVICE = ROOT / "examples" / "service"
BIN = Path(sys.executable).parent
TELEMETRY = {
    "OTEL_SERVICE_NAME": "example-shop",
    "OTEL_TRACES_EXPORTER": "otlp",
    "OTEL_METRICS_EXPORTER": "otlp",
    "OTEL_LOGS_EXPORTER": "none",
    "OTEL_EXPORTER_OTLP_PROTOCOL": "http/protobuf",
    # A full queue drops spans, and then nothing can be compared; it is as long for both.
    "OTEL_BSP_MAX_QUEUE_SIZE": "65536",
    "OTEL_BLRP_MAX_QUEUE_SIZE": "65536",
}
DISABLED = "OTEL_PYTHON_DISABLED_INSTRUMENTATIONS"
SIGNALS = ("traces", "metrics", "logs")


@dataclass(frozen=True)
class Way:
    """One way to run the example service."""

    app: str = "app:app"
    launcher: tuple[str, ...] = ()
    environment: Mapping[str, str] | None = None


INSTRUMENT = (str(BIN / "opentelemetry-instrument"),)
WAYS = {
    "bare": Way(),
    "stock": Way(launcher=INSTRUMENT, environment={**TELEMETRY, DISABLED: "fastpath"}),
    "fastpath": Way(launcher=INSTRUMENT, environment=TELEMETRY),
    "explicit": Way(app="explicit:app", environment=TELEMETRY),
}


@dataclass(frozen=True)
class Service:
    """A running example service."""

    child: Child
    port: int

    def wait(self) -> None:
        """Wait until it takes requests."""
        wait_until(lambda: listening(self.port), self.child)


def exporters(signals: Sequence[str]) -> dict[str, str]:
    """The settings that export these signals and no others."""
    found = {f"OTEL_{name.upper()}_EXPORTER": "otlp" if name in signals else "none" for name in SIGNALS}
    if "logs" not in signals:
        # Without an exporter, OpenTelemetry's handler of `logging` would still make records.
        found["OTEL_PYTHON_LOG_AUTO_INSTRUMENTATION"] = "false"
    return found


def start_service(
    processes: Processes,
    name: str,
    settings: Mapping[str, str],
    receiver: str,
    *,
    folder: Path = SERVICE,
    run: str = "",
    signals: Sequence[str] = ("traces", "metrics"),
    disabled: Sequence[str] = (),
) -> Service:
    """Start an example service.

    Args:
        processes: Starts and stops it.
        name: One of `WAYS`.
        settings: What the service itself is to know: DATABASE_URL and OPENAI_BASE_URL.
        receiver: Where telemetry goes.
        folder: The folder of the service's `app.py`.
        run: The receiver's run that gets what it sends, and the name of its log; by default, `name`.
        signals: What it sends.
        disabled: The instrumentations that are not loaded.

    Returns:
        The service, which may not take requests yet.
    """
    way, port, run = WAYS[name], free_port(), run or name
    command = [str(BIN / "uvicorn"), way.app, "--port", str(port), "--no-access-log", "--log-level", "warning"]
    environment = {"OPENAI_API_KEY": os.environ.get("OPENAI_API_KEY", "sk-example"), **settings}
    if way.environment is not None:
        environment |= {**way.environment, **exporters(signals), "OTEL_EXPORTER_OTLP_ENDPOINT": f"{receiver}/{run}"}
        environment[DISABLED] = ",".join(filter(None, (environment.get(DISABLED), *disabled)))
    child = processes.start(run, [*way.launcher, *command], cwd=folder, env=clean_environment(environment))
    return Service(child, port)


def patches_applied(name: str) -> int:
    """How many patches of otel-fastpath are in force in a service that is run in this way."""
    way = WAYS[name]
    quiet = {"OTEL_TRACES_EXPORTER": "none", "OTEL_METRICS_EXPORTER": "none"}
    probe = subprocess.run(
        [*way.launcher, sys.executable, "-m", "examples.demo.probe"],
        cwd=ROOT,
        env=clean_environment({**(way.environment or {}), **quiet}),
        capture_output=True,
        text=True,
        timeout=START_S,
        check=False,
    )
    if probe.returncode:
        raise StartError(f"otel-fastpath cannot be asked what it does:\n{probe.stderr}")
    return int(probe.stdout.split()[-1])


def start_server(processes: Processes, module: str) -> str:
    """Start one of our own servers and wait until it listens.

    Args:
        processes: Starts and stops it.
        module: The server's module in `examples`.

    Returns:
        Its address.
    """
    port = free_port()
    command = [sys.executable, "-m", f"examples.{module}", "--port", str(port)]
    child = processes.start(module, command, cwd=ROOT, env=clean_environment({}))
    wait_until(lambda: listening(port), child)
    return f"http://127.0.0.1:{port}"


def ask(receiver: str, path: str) -> Any:
    """Ask the receiver for something that it knows."""
    with urllib.request.urlopen(f"{receiver}/{path}", timeout=60) as answer:  # noqa: S310 - our own server on loopback
        return json.load(answer)
