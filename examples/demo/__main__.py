"""Run the demo: load services without telemetry, with OpenTelemetry and with otel-fastpath, and compare what they send.

    make demo
    python -m examples.demo --only orders --runs 2 --rounds 1 --out /tmp/demo

There are two services, `examples/service` and `examples/orders`. The demo starts its own PostgreSQL server unless
DATABASE_URL names another, its own OpenAI server unless OPENAI_BASE_URL or --openai-base-url names another, and redis
if it is installed. It writes to the folder of `--out`: `result.json`, for each service its table and its picture
(`shop.md`, `demo-shop.svg`), all of them together (`page.md`), `gain.md`, and the logs of all processes.
"""

import argparse
import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

from examples.demo import database, report
from examples.demo.measure import Plan, WrongAnswerError
from examples.demo.processes import Processes, StartError, interrupts, running
from examples.demo.runs import Given, differences, received, run
from examples.demo.services import ROOT, patches_applied, start_server
from examples.demo.subjects import SUBJECTS, TRACED, Subject

LOOPBACK = ("127.0.0.1", "localhost", "::1")
# The comparison learns from the runs without otel-fastpath what varies by itself.
LEAST_RUNS = 2


def arguments(given: list[str] | None = None) -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(
        prog="python -m examples.demo", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", choices=SUBJECTS, help="one of the services (default: both)")
    parser.add_argument("--runs", type=int, default=5, help="runs, each with new processes (default %(default)s)")
    rounds = ", ".join(f"{each.rounds} of {each.name}" for each in SUBJECTS.values())
    parser.add_argument("--rounds", type=int, help=f"rounds of a run (default {rounds})")
    parser.add_argument("--requests", type=int, default=200, help="requests of a round (default %(default)s)")
    parser.add_argument("--out", type=Path, default=ROOT / "build" / "demo", help="folder of the results")
    parser.add_argument("--openai-base-url", help="send the chats of the load to this server")
    options = parser.parse_args(given)
    if options.runs < LEAST_RUNS:
        parser.error(f"--runs {options.runs}: expected a number from {LEAST_RUNS} upwards")
    return options


def main(given: list[str] | None = None) -> int:
    """Run the demo.

    Returns:
        The exit code: 0 if the services sent the same telemetry, 1 if not or if something failed, 130 if interrupted.
    """
    options, console = arguments(given), Console()
    try:
        with interrupts() as signals, running(options.out / "logs", signals) as processes:
            found = measured(options, processes, console)
    except KeyboardInterrupt:
        console.print("interrupted; every process was stopped")
        return 130
    except (StartError, WrongAnswerError, OSError) as error:
        console.print(f"the demo failed: {error}", style="red", markup=False)
        return 1
    report.show(console, found)
    report.write(found, options.out)
    console.print(f"results: {options.out}", soft_wrap=True)
    return max(verdict(console, name, each) for name, each in found.items())


def verdict(console: Console, name: str, found: Mapping[str, Any]) -> int:
    """Print whether the telemetry of a service is the same.

    Returns:
        The exit code.
    """
    if found["deliberate"]:
        names = ", ".join(found["deliberate"])
        console.print(f"{name}: these differ deliberately (docs/differences.md): {names}", highlight=False)
    if not found["differences"]:
        console.print(f"{name}: stock and fastpath sent the same telemetry", style="green")
        return 0
    count = len(found["differences"])
    console.print(f"{name}: stock and fastpath did not send the same telemetry ({count} differences):", style="red")
    for difference in found["differences"]:
        console.print(f"  - {difference}", markup=False, highlight=False, soft_wrap=True)
    return 1


def measured(options: argparse.Namespace, processes: Processes, console: Console) -> dict[str, Any]:
    """Start the servers, and measure each service.

    Returns:
        The result of `report.result` for each.
    """
    chosen = [each for each in SUBJECTS.values() if options.only in (None, each.name)]
    columns = TextColumn("{task.description:<34}"), BarColumn(), TimeElapsedColumn()
    found: dict[str, Any] = {}
    with Progress(*columns, console=console) as progress:
        task = progress.add_task("starting servers", total=len(chosen) * (options.runs + 1))
        settings = servers(options, processes, chosen)
        applied = {name: patches_applied(name) for name in TRACED}
        if applied["stock"] or not applied["fastpath"]:
            raise StartError(f"otel-fastpath has to be at work in one of the services, but its patches are {applied}")
        receiver = start_server(processes, "otlp_receiver")
        for index, subject in enumerate(chosen):

            def tell(what: str, done: float, name: str = subject.name, begun: int = index * (options.runs + 1)) -> None:
                progress.update(task, description=f"{name}, {what}", completed=begun + done)

            found[subject.name] = _service(subject, options, Given(processes, settings, receiver, tell))
            found[subject.name]["patches_applied"] = applied["fastpath"]
        progress.update(task, description="done", completed=len(chosen) * (options.runs + 1))
    return found


def _service(subject: Subject, options: argparse.Namespace, given: Given) -> dict[str, Any]:
    plan = Plan(options.requests, options.rounds or subject.rounds, subject.mix)
    runs = [run(subject, number, plan, given) for number in range(options.runs)]
    given.progress("comparing", options.runs)
    sent = received(subject, options.runs, given)
    differing, deliberate = differences(subject, options.runs, sent, given)
    return report.result(subject, runs, plan, sent) | {
        "left_out": missing(subject, given.settings),
        "deliberate": deliberate,
        "same_telemetry": not differing,
        "differences": differing,
    }


def missing(subject: Subject, settings: Mapping[str, str]) -> list[str]:
    """What the service does without here."""
    return ["redis"] if "redis" in subject.title and "REDIS_URL" not in settings else []


def servers(options: argparse.Namespace, processes: Processes, chosen: list[Subject]) -> dict[str, str]:
    """Start the servers that the services use.

    Returns:
        The services' settings.
    """
    settings = {"DATABASE_URL": os.environ.get("DATABASE_URL") or database.postgresql(processes)}
    settings["OPENAI_BASE_URL"] = openai_url(options, processes)
    if any(each.name == "orders" for each in chosen):
        database.create_tables(settings["DATABASE_URL"], SUBJECTS["orders"].folder / "schema.sql")
        settings["PRICES_URL"] = start_server(processes, "orders.prices")
        if url := os.environ.get("REDIS_URL") or database.redis(processes):
            settings["REDIS_URL"] = url
    return settings


def openai_url(options: argparse.Namespace, processes: Processes) -> str:
    """The OpenAI-compatible server to use: the requested one, or our own."""
    given = options.openai_base_url or os.environ.get("OPENAI_BASE_URL")
    if not given:
        return f"{start_server(processes, 'openai_server')}/v1"
    if not options.openai_base_url and urlsplit(given).hostname not in LOOPBACK:
        raise StartError(f"OPENAI_BASE_URL is {given}: to send it thousands of requests, say --openai-base-url as well")
    return str(given)


if __name__ == "__main__":
    sys.exit(main())
