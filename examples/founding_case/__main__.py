"""Run the founding case: a service that spent most of its CPU on looking up the version of openai, before and after.

    make example NAME=founding-case
    python -m examples.founding_case --seconds 30 --metrics

FastAPI under gunicorn with a uvicorn worker passes a model's answers on to 75 clients, 34 chunks each: without
Traceloop's OpenAI instrumentation 0.36.1 and without any telemetry; with the instrumentation, under
opentelemetry-instrument, traces going to an OTLP receiver on loopback; and the same with otel-fastpath. The model is on
loopback as well, and says a word when the client has heard the one before. The folder of `--out` gets `result.json`,
`result.md` and the logs of all processes.
"""

import argparse
import sys
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

from examples.demo.measure import WrongAnswerError
from examples.demo.processes import Processes, StartError, interrupts, running
from examples.demo.services import ask, start_server
from examples.founding_case import report
from examples.founding_case.environment import ROOT, SetupError, provide
from examples.founding_case.measure import Leg, Plan, measure, settle
from examples.founding_case.services import ENVIRONMENT, FASTPATH, WITH, Case

TRACED = (WITH, FASTPATH)
# Longer than a batch of spans waits, so that silence means the end.
SILENCE_S = 2.0


def arguments(given: list[str] | None = None) -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(
        prog="python -m examples.founding_case",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--least", type=positive, default=40, help="measure at least so long (default %(default)s)")
    parser.add_argument("--seconds", type=positive, default=85, help="no new round after so long (default %(default)s)")
    parser.add_argument("--requests", type=int, default=75, help="requests of a round (default %(default)s)")
    parser.add_argument("--workers", type=int, default=1, help="workers of each service (default %(default)s)")
    parser.add_argument("--metrics", action="store_true", help="export metrics too, not traces alone")
    parser.add_argument("--out", type=Path, default=ROOT / "build" / "founding-case", help="folder of the results")
    return parser.parse_args(given)


def positive(text: str) -> float:
    """Read a number of seconds."""
    number = float(text)
    if not 0 < number < float("inf"):
        raise argparse.ArgumentTypeError(f"{text} is not above 0")
    return number


def main(given: list[str] | None = None) -> int:
    """Run the founding case.

    Returns:
        The exit code: 0 if the service is cured, 1 if not or if something failed, 3 if that cannot be said, 130 if it
        was interrupted.
    """
    options, console = arguments(given), Console()
    try:
        with interrupts() as signals, running(options.out / "logs", signals) as processes:
            found = run(options, processes, console)
    except KeyboardInterrupt:
        console.print("interrupted; every process was stopped")
        return 130
    except (SetupError, StartError, WrongAnswerError, OSError) as error:
        console.print(f"the founding case failed: {error}", style="red", markup=False)
        return 1
    report.show(console, found)
    report.write(found, options.out)
    console.print(f"results: {options.out}", soft_wrap=True)
    return report.verdict(console, found)


def run(options: argparse.Namespace, processes: Processes, console: Console) -> dict[str, Any]:
    """Start everything, measure, and ask the receiver what came.

    Returns:
        What `report.result` makes of it.
    """
    columns = TextColumn("{task.description:<20}"), BarColumn(), TimeElapsedColumn()
    with Progress(*columns, console=console) as progress:
        task = progress.add_task("making environment", total=1.0)
        programs = provide(ENVIRONMENT)
        progress.update(task, description="starting services")
        world, receiver = (start_server(processes, name) for name in ("founding_case.world", "otlp_receiver"))
        case = Case(programs, world, receiver, options.workers, options.metrics)
        patches = {name: case.version_patches(name) for name in TRACED}
        if patches[WITH] or not patches[FASTPATH]:
            raise StartError(f"the version lookups have to be replaced in one of the services, but it is {patches}")
        legs = {name: _leg(case, processes, name) for name in report.TITLES}
        progress.update(task, description="sending requests")
        plan = Plan(options.requests, options.least, options.seconds, report.MOST)
        measure(legs, world, plan, lambda share: progress.update(task, completed=share))
        progress.update(task, description="awaiting exports")
        settle(legs, lambda: [ask(receiver, name) for name in TRACED], SILENCE_S)
        received = {name: ask(receiver, f"{name}/summary") for name in TRACED}
        progress.update(task, description="done", completed=1.0)
    found = report.result(legs, received, case.versions())
    return found | {"patches": patches[FASTPATH], "workers": options.workers, "metrics": options.metrics}


def _leg(case: Case, processes: Processes, name: str) -> Leg:
    child, port = case.start(processes, name)
    return Leg(name, port, child)


if __name__ == "__main__":
    sys.exit(main())
