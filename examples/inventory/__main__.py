"""Send the read, grant and mix loads to three services: without telemetry, with OpenTelemetry's, with otel-fastpath.

    make example NAME=inventory
    python -m examples.inventory --rounds 3 --requests 100

It starts its own PostgreSQL server unless DATABASE_URL names another, and writes `result.json`, `result.md` and the
logs of all processes to the folder of `--out`.
"""

import argparse
import asyncio
import json
import os
import random
import statistics
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from examples.demo.database import postgresql
from examples.demo.load import send
from examples.demo.measure import Leg, WrongAnswerError
from examples.demo.processes import (
    Processes,
    StartError,
    clean_environment,
    free_port,
    interrupts,
    listening,
    running,
    wait_until,
)
from examples.demo.services import INSTRUMENT, ROOT, TELEMETRY, ask, start_server
from examples.inventory.loads import LOADS, calls

HERE = Path(__file__).parent
CONNECTIONS = 16
# Longer than a batch of spans waits, so that silence means the end.
SILENCE_S = 6.0
# What the service does not use; loading it takes time.
UNUSED = "asgi,django,fastapi,flask,httpx,openai,requests,starlette,urllib3,wsgi"
_TELEMETRY = {**TELEMETRY, "OTEL_SERVICE_NAME": "example-inventory"}
# Name: the title, the launcher and the environment.
LEGS: dict[str, tuple[str, tuple[str, ...], dict[str, str]]] = {
    "bare": ("no telemetry", (), {}),
    "stock": (
        "OpenTelemetry",
        INSTRUMENT,
        {**_TELEMETRY, "OTEL_PYTHON_DISABLED_INSTRUMENTATIONS": f"{UNUSED},fastpath"},
    ),
    "fastpath": ("otel-fastpath", INSTRUMENT, {**_TELEMETRY, "OTEL_PYTHON_DISABLED_INSTRUMENTATIONS": UNUSED}),
}
TRACED = ("stock", "fastpath")


def arguments(given: Sequence[str] | None) -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(
        prog="python -m examples.inventory", description=(__doc__ or "").partition("\n")[0]
    )
    parser.add_argument("--rounds", type=int, default=15, help="rounds of each load (default %(default)s)")
    parser.add_argument("--requests", type=int, default=600, help="requests of a round (default %(default)s)")
    parser.add_argument("--out", type=Path, default=ROOT / "build" / "inventory", help="folder of the results")
    return parser.parse_args(given)


def main(given: Sequence[str] | None = None) -> int:
    """Run it; return the exit code: 0 if both services with telemetry sent equally many spans, otherwise 1."""
    options = arguments(given)
    try:
        with interrupts() as signals, running(options.out / "logs", signals) as processes:
            found = run(options, processes)
    except KeyboardInterrupt:
        print("interrupted; every process was stopped")
        return 130
    except (StartError, WrongAnswerError, OSError) as error:
        print(f"it failed: {error}")
        return 1
    table = markdown(found)
    print(table)
    (options.out / "result.json").write_text(json.dumps(found, indent=2) + "\n", encoding="utf-8")
    (options.out / "result.md").write_text(table + "\n", encoding="utf-8")
    spans = {found["spans"][name] for name in TRACED}
    if len(spans) > 1 or not min(spans):
        print(f"the numbers of spans differ: {found['spans']}")
        return 1
    return 0


def run(options: argparse.Namespace, processes: Processes) -> dict[str, Any]:
    """Start everything, send the loads, stop the services so that they flush."""
    database = os.environ.get("DATABASE_URL") or postgresql(processes)
    receiver = start_server(processes, "otlp_receiver")
    services = [_start(processes, name, database, receiver) for name in LEGS]
    for leg in services:
        wait_until(lambda leg=leg: listening(leg.port), leg.child)  # type: ignore[misc]  # a lambda's default
    found: dict[str, Any] = {"rounds": options.rounds, "requests_per_round": options.requests, "loads": {}}
    for load in LOADS:
        print(f"sending the {load} load", flush=True)
        legs = [Leg(each.name, each.port, each.child) for each in services]
        _send(load, legs, options, processes)
        _settle(receiver)
        for leg in legs:
            leg.mark(options.requests)
        found["loads"][load] = {leg.name: _figures(leg) for leg in legs}
    for leg in services:
        leg.child.stop()
    found["spans"] = {name: ask(receiver, f"{name}/summary")["span_count"] for name in TRACED}
    return found


def _start(processes: Processes, name: str, database: str, receiver: str) -> Leg:
    _, launcher, environment = LEGS[name]
    port = free_port()
    settings = {"DATABASE_URL": database, **environment, "OTEL_EXPORTER_OTLP_ENDPOINT": f"{receiver}/{name}"}
    command = [*launcher, sys.executable, str(HERE / "app.py"), "--port", str(port)]
    return Leg(name, port, processes.start(name, command, cwd=HERE, env=clean_environment(settings)))


def _send(load: str, legs: Sequence[Leg], options: argparse.Namespace, processes: Processes) -> None:
    """Send every round to every leg, in an order that changes from round to round.

    Telemetry is exported some seconds after a request, when another leg is under load: the CPU time of a round is
    counted from its beginning to that of the leg's next round. The first round is not measured.
    """
    order = random.Random(load)  # noqa: S311  # it is to repeat, not to be unguessable
    for number in range(options.rounds + 1):
        for leg in order.sample(legs, len(legs)):
            if number:
                leg.mark(options.requests)
            try:
                sent = processes.interrupts.run(send(leg.port, calls(load, options.requests, number), CONNECTIONS))
            except (OSError, asyncio.TimeoutError) as error:
                raise WrongAnswerError(f"{leg.name} broke off ({error!r}) and {leg.child.state(1.0)}") from error
            if sent.wrong:
                raise WrongAnswerError(f"{leg.name}: {len(sent.wrong)} answers were wrong, as {sent.wrong[0]}")
            if number:
                leg.requests_per_second.append(options.requests / sent.seconds)


def _settle(receiver: str) -> None:
    last, since = None, time.monotonic()
    while time.monotonic() - since < SILENCE_S:
        time.sleep(0.2)
        now = [ask(receiver, name) for name in TRACED]
        if now != last:
            last, since = now, time.monotonic()


def _figures(leg: Leg) -> dict[str, float]:
    return {
        "cpu_us_per_request": statistics.median(leg.cpu_per_request) * 1e6,
        "requests_per_second": statistics.median(leg.requests_per_second),
    }


def markdown(found: dict[str, Any]) -> str:
    """The table of the results: medians of the rounds."""
    lines = [
        "| load | | " + " | ".join(title for title, _, _ in LEGS.values()) + " | otel-fastpath / no telemetry |",
        "| --- | --- | " + "---: | " * (len(LEGS) + 1),
    ]
    for load, legs in found["loads"].items():
        for key, title in (("cpu_us_per_request", "CPU, µs a request"), ("requests_per_second", "requests a second")):
            values = [legs[name][key] for name in LEGS]
            shown = " | ".join(f"{value:,.0f}" for value in values)
            lines.append(f"| {load} | {title} | {shown} | {values[2] / values[0]:.2f} |")
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())
