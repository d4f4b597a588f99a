"""Run the demo: load three services equally, and compare the telemetry of the two that send some.

    make demo
    python -m examples.demo --rounds 3 --out /tmp/demo

The demo starts its own PostgreSQL server unless DATABASE_URL names another, and its own OpenAI server unless
OPENAI_BASE_URL or --openai-base-url names another. It writes to the folder of `--out`: `result.json`, `result.md` and
`result.svg`, the same as PNG, and the logs of all processes.
"""

import argparse
import os
import sys
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

from examples.demo import report
from examples.demo.compare import differences
from examples.demo.database import postgresql
from examples.demo.measure import Leg, Plan, WrongAnswerError, measure, settle
from examples.demo.processes import Processes, StartError, interrupts, running
from examples.demo.services import ROOT, Service, ask, patches_applied, start_server, start_service

LOOPBACK = ("127.0.0.1", "localhost", "::1")
TRACED = ("stock", "fastpath")
# Longer than a batch of spans waits (five seconds by default), so that silence means the end.
SILENCE_S = 6.0


def arguments(given: list[str] | None = None) -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(
        prog="python -m examples.demo", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=60, help="at most so many rounds (default %(default)s)")
    parser.add_argument("--seconds", type=float, default=60, help="no new round after so long (default %(default)s)")
    parser.add_argument("--requests", type=int, default=200, help="requests of a round (default %(default)s)")
    parser.add_argument("--out", type=Path, default=ROOT / "build" / "demo", help="folder of the results")
    parser.add_argument("--openai-base-url", help="send the chats of the load to this server")
    return parser.parse_args(given)


def main(given: list[str] | None = None) -> int:
    """Run the demo.

    Returns:
        The exit code: 0 if both services sent the same telemetry, 1 if not or if something failed, 130 if interrupted.
    """
    options, console = arguments(given), Console()
    try:
        with interrupts() as signals, running(options.out / "logs", signals) as processes:
            found = run(options, processes, console)
    except KeyboardInterrupt:
        console.print("interrupted; every process was stopped")
        return 130
    except (StartError, WrongAnswerError, OSError) as error:
        console.print(f"the demo failed: {error}", style="red", markup=False)
        return 1
    report.show(console, found)
    report.write(found, options.out)
    console.print(f"results: {options.out}", soft_wrap=True)
    return verdict(console, found["differences"])


def verdict(console: Console, found: list[str]) -> int:
    """Print whether the telemetry is the same.

    Returns:
        The exit code.
    """
    if not found:
        console.print("stock and fastpath sent the same telemetry", style="green")
        return 0
    console.print(f"stock and fastpath did not send the same telemetry ({len(found)} differences):", style="red")
    for difference in found:
        console.print(f"  - {difference}", markup=False, highlight=False, soft_wrap=True)
    return 1


def run(options: argparse.Namespace, processes: Processes, console: Console) -> dict[str, Any]:
    """Start everything, measure, stop the services so that they flush, and compare.

    Returns:
        The result of `report.result`.
    """
    plan = Plan(options.requests, options.rounds, options.seconds)
    columns = TextColumn("{task.description:<20}"), BarColumn(), TimeElapsedColumn()
    with Progress(*columns, console=console) as progress:
        task = progress.add_task("starting PostgreSQL", total=1.0)
        settings = {"DATABASE_URL": os.environ.get("DATABASE_URL") or postgresql(processes)}
        progress.update(task, description="starting services")
        applied = {name: patches_applied(name) for name in TRACED}
        if applied["stock"] or not applied["fastpath"]:
            raise StartError(f"otel-fastpath has to be at work in one of the services, but its patches are {applied}")
        receiver = start_server(processes, "otlp_receiver")
        settings["OPENAI_BASE_URL"] = openai_url(options, processes)
        services = {name: start_service(processes, name, settings, receiver) for name in report.TITLES}
        legs = [_leg(name, service) for name, service in services.items()]
        progress.update(task, description="sending requests")
        measure(legs, plan, processes.interrupts, lambda share: progress.update(task, completed=share))
        progress.update(task, description="awaiting exports")
        settle(legs, plan, lambda: [ask(receiver, name) for name in TRACED], SILENCE_S)
        progress.update(task, description="comparing")
        for service in services.values():
            service.child.stop()
        received = {name: ask(receiver, f"{name}/summary") for name in TRACED}
        progress.update(task, description="done", completed=1.0)
    differing = differences(received["stock"], received["fastpath"])
    return report.result(legs, plan, received, differing) | {"patches_applied": applied["fastpath"]}


def openai_url(options: argparse.Namespace, processes: Processes) -> str:
    """The OpenAI-compatible server to use: the requested one, or our own."""
    given = options.openai_base_url or os.environ.get("OPENAI_BASE_URL")
    if not given:
        return f"{start_server(processes, 'openai_server')}/v1"
    if not options.openai_base_url and urlsplit(given).hostname not in LOOPBACK:
        raise StartError(f"OPENAI_BASE_URL is {given}: to send it thousands of requests, say --openai-base-url as well")
    return str(given)


def _leg(name: str, service: Service) -> Leg:
    service.wait()
    return Leg(name, service.port, service.child)


if __name__ == "__main__":
    sys.exit(main())
