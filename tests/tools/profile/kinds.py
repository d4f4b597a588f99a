"""Starts the services of `kinds_app` and puts load on them, for `truth.py`."""

from __future__ import annotations

import http.client
import sys
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path

import psutil

from examples.demo.measure import cpu_seconds
from examples.demo.processes import clean_environment, free_port, listening, wait_until
from examples.demo.services import BIN, DISABLED, INSTRUMENT, TELEMETRY, start_server

HERE = Path(__file__).parent
# Celery and what else is not in the project's environment: `make profile-truth` installs it here.
PACKAGES = HERE.parents[2] / "build" / "profile-truth" / "packages"
GUNICORN = {"django": ("sync",), "wsgi": ("sync",), "pool": ("sync",), "requests": ("sync",)}
THREADS = ("gthread", "--threads", "8")
KINDS = ("django", "django-threads", "flask", "wsgi", "pool", "requests", "asgi-wsgi", "celery", "celery-threads")
WAYS = {"bare": {}, "stock": {**TELEMETRY, DISABLED: "fastpath"}, "compiled": TELEMETRY}
CONNECTIONS = 6


@dataclass
class Leg:
    """One service of a kind, as the legs of the demo."""

    name: str
    child: object
    send: object
    cpu_per_request: list[float] = field(default_factory=list)

    def cpu(self) -> float:
        """Of the process and its children."""
        root = psutil.Process(self.child.process.pid)
        return sum(cpu_seconds(each.pid) for each in (root, *root.children(recursive=True)))

    def round(self, requests: int, *, is_counted: bool) -> None:
        """Send requests."""
        before = self.cpu()
        self.send(requests)
        if is_counted:
            self.cpu_per_request.append((self.cpu() - before) / requests)


def command(kind: str, port: int) -> list[str]:
    """What starts a service."""
    if kind.startswith("celery"):
        pool = ("threads", "-c", "4") if kind == "celery-threads" else ("prefork", "-c", "1")
        return [sys.executable, "-m", "celery", "-A", "kinds_app:tasks", "worker", "-P", *pool]
    if kind == "asgi-wsgi":
        return [str(BIN / "uvicorn"), "kinds_app:asgi", "--port", str(port), "--no-access-log"]
    worker = GUNICORN.get(kind, THREADS)
    return [str(BIN / "gunicorn"), "kinds_app:application()", "-b", f"127.0.0.1:{port}", "-k", *worker]


def service(kind: str, options, processes, out, profiled_in):
    """Measure the service of a kind.

    Args:
        kind: One of `KINDS`.
        options: The command line.
        processes: Starts and stops them.
        out: The folder of the results.
        profiled_in: Makes a `truth.Profiled` of a folder.
    """
    receiver = start_server(processes, "otlp_receiver")
    backend = free_port()
    environment = clean_environment({"SERVICE_KIND": "backend"})
    child = processes.start("backend", command("backend", backend), cwd=HERE, env=environment)
    wait_until(lambda: listening(backend), child)
    profiled, legs = {}, []
    for name, way in WAYS.items():
        port = free_port()
        own = {**way, "SERVICE_KIND": kind, "DJANGO_SETTINGS_MODULE": "kinds_app" if "django" in kind else ""}
        own["BACKEND_URL"] = f"http://127.0.0.1:{backend}"
        if kind.startswith("celery"):
            own["BACKEND_URL"] = redis(processes, name)
        paths = [str(HERE), str(PACKAGES)]
        if name != "bare":
            own |= {"OTEL_EXPORTER_OTLP_ENDPOINT": f"{receiver}/{name}"}
            profiled[name] = profiled_in(out / name)
            environment = profiled[name].environment()
            paths.insert(0, environment.pop("PYTHONPATH"))
            own |= environment
        own["PYTHONPATH"] = ":".join(paths)
        launcher = INSTRUMENT if name != "bare" else ()
        environment = {key: value for key, value in clean_environment(own).items() if value}
        child = processes.start(name, [*launcher, *command(kind, port)], cwd=HERE, env=environment)
        if kind.startswith("celery"):
            send = sender(own["BACKEND_URL"])
            send(4)
        else:
            wait_until(lambda port=port: listening(port), child)
            send = load(port)
        legs.append(Leg(name, child, send))
    for number in range(options.rounds + 1):
        if number == 1:
            for each in profiled.values():
                each.measuring()
        for leg in legs:
            leg.round(200, is_counted=number > 0)
    time.sleep(6.5)
    return profiled, legs, {leg.name: leg.cpu_per_request for leg in legs}


def redis(processes, name: str) -> str:
    """A broker of its own."""
    port = free_port()
    child = processes.start(f"redis-{name}", ["redis-server", "--port", str(port), "--save", ""])
    wait_until(lambda: listening(port), child)
    return f"redis://127.0.0.1:{port}/0"


def sender(broker: str):
    """Sends tasks, and waits for their results."""
    sys.path.append(str(PACKAGES))
    from celery import Celery

    client = Celery("load", broker=broker, backend=broker)

    def send(count: int) -> None:
        for result in [client.send_task("kinds.work") for _ in range(count)]:
            result.get(timeout=120)

    return send


def load(port: int):
    """Sends requests over several connections."""

    def send(count: int) -> None:
        failures: list[object] = []

        def one() -> None:
            try:
                for number in range(count // CONNECTIONS):
                    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
                    connection.request("GET", f"/orders/{number}")
                    response = connection.getresponse()
                    response.read()
                    if response.status != 200:
                        failures.append(response.status)
                    connection.close()
            except OSError as error:
                failures.append(error)

        threads = [threading.Thread(target=one) for _ in range(CONNECTIONS)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert not failures, failures[0]

    return send
