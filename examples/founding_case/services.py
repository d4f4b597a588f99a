"""The service of the story in each of its three ways, under gunicorn, in the environment of the story."""

import json
import signal
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from examples.demo.processes import Child, Processes, StartError, clean_environment, free_port, listening, wait_until
from examples.founding_case.environment import ROOT

HERE = Path(__file__).parent
ENVIRONMENT = "openai-1.60"
# The client and the instrumentation of the story; the rest is what a service has today.
VERSIONS = ("openai", "opentelemetry-instrumentation-openai", "opentelemetry-sdk", "fastapi", "gunicorn", "uvicorn")
WITHOUT, WITH, FASTPATH = "without", "with", "fastpath"
# What each way adds to opentelemetry-instrument; without the instrumentation there is no telemetry at all.
WAYS: Mapping[str, Mapping[str, str] | None] = {
    WITHOUT: None,
    WITH: {"OTEL_PYTHON_DISABLED_INSTRUMENTATIONS": "fastpath"},
    FASTPATH: {},
}
TELEMETRY = {
    "OTEL_SERVICE_NAME": "founding-case",
    "OTEL_TRACES_EXPORTER": "otlp",
    "OTEL_LOGS_EXPORTER": "none",
    "OTEL_EXPORTER_OTLP_PROTOCOL": "http/protobuf",
    # Instead of five seconds: a round's spans are to be exported before the service's next round.
    "OTEL_BSP_SCHEDULE_DELAY": "500",
}


@dataclass(frozen=True)
class Case:
    """What the three services have in common.

    Attributes:
        programs: The `bin` folder of their environment.
        model: Where the model is.
        receiver: Where telemetry goes.
        workers: How many gunicorn has.
        metrics: Whether metrics are exported too, or traces alone.
    """

    programs: Path
    model: str
    receiver: str
    workers: int
    metrics: bool

    def start(self, processes: Processes, name: str) -> tuple[Child, int]:
        """Start the service in the way of this name and wait until it listens.

        Returns:
            gunicorn, and the port.
        """
        port = free_port()
        command = [*self._launcher(name), str(self.programs / "gunicorn"), "service:app"]
        command += ["--worker-class", "uvicorn.workers.UvicornWorker", "--workers", str(self.workers)]
        # It would be one socket for all, in the user's home.
        command += ["--bind", f"127.0.0.1:{port}", "--no-control-socket"]
        # A worker that imports for half a minute, on a busy machine, is not one that hangs.
        command += ["--timeout", "300"]
        environment = self._environment(name)
        # gunicorn waits for its workers at SIGTERM, and at SIGINT it does not: they are ended with it then.
        child = processes.start(name, command, stop_signal=signal.SIGTERM, cwd=HERE, env=environment)
        wait_until(lambda: listening(port), child)
        return child, port

    def version_patches(self, name: str) -> list[str]:
        """The patches of version lookups that are in force in this way."""
        quiet = {"OTEL_TRACES_EXPORTER": "none", "OTEL_METRICS_EXPORTER": "none"}
        command = [*self._launcher(name), str(self.programs / "python"), "-m", "examples.founding_case.probe"]
        done = subprocess.run(
            command,
            cwd=ROOT,
            env={**self._environment(name), **quiet},
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        if done.returncode:
            raise StartError(f"otel-fastpath cannot be asked what it does:\n{done.stderr}")
        found: list[str] = json.loads(done.stdout.splitlines()[-1])
        return found

    def versions(self) -> dict[str, str]:
        """The versions of what the services consist of."""
        program = f"import json; from importlib.metadata import version as v; print(json.dumps([*map(v, {VERSIONS})]))"
        told = subprocess.run(
            [str(self.programs / "python"), "-c", program], capture_output=True, text=True, timeout=60, check=True
        )
        return dict(zip(VERSIONS, json.loads(told.stdout), strict=True))

    def _launcher(self, name: str) -> list[str]:
        return [] if WAYS[name] is None else [str(self.programs / "opentelemetry-instrument")]

    def _environment(self, name: str) -> dict[str, str]:
        own = {"OPENAI_API_KEY": "sk-example", "OPENAI_BASE_URL": f"{self.model}/v1"}
        way = WAYS[name]
        if way is not None:
            metrics = {"OTEL_METRICS_EXPORTER": "otlp" if self.metrics else "none"}
            own |= {**TELEMETRY, **metrics, **way, "OTEL_EXPORTER_OTLP_ENDPOINT": f"{self.receiver}/{name}"}
        return clean_environment(own)
