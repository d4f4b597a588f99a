"""What it costs to start a program with OpenTelemetry, in each way that there is.

    make bench NAME=startup

The figures are of the whole process: the CPU time of all its threads, the least of several runs that take turns; its
memory; and the modules that are imported. The budgets are in startup.toml; the exit status is 1 if one of them is
exceeded. Bytecode is compiled before. `--instructions` counts the instructions, too.
"""

from __future__ import annotations

import argparse
import compileall
import json
import os
import platform
import re
import subprocess
import sys
import sysconfig
from importlib.metadata import entry_points
from pathlib import Path
from typing import NamedTuple

try:
    import tomllib
except ModuleNotFoundError:  # Python 3.10
    import tomli as tomllib

FOLDER = Path(__file__).resolve().parent
SCRIPTS = Path(sys.executable).parent
EVERY = "aiohttp.web asyncpg celery fastapi flask httpx jinja2 psycopg pymongo redis requests sqlalchemy urllib3"
PROGRAMS = {
    "no library": "pass",
    "httpx": "import httpx",
    "every library": f"import {', '.join(EVERY.split())}",
}
# Way -> what comes before the program's own command, and the variables that say so.
WAYS: dict[str, tuple[tuple[str, ...], dict[str, str]]] = {
    "bare": ((), {}),
    "stock": (("opentelemetry-instrument",), {"OTEL_PYTHON_DISABLED_INSTRUMENTATIONS": "fastpath"}),
    "at once": (("opentelemetry-instrument",), {"OTEL_FASTPATH_LAZY_INSTRUMENTATIONS": "off"}),
    "lazy": (("opentelemetry-instrument",), {}),
    "run": (("otel-fastpath", "run"), {}),
}
TITLES = {
    "bare": "without OpenTelemetry",
    "stock": "`opentelemetry-instrument`, without otel-fastpath",
    "at once": "with otel-fastpath, `OTEL_FASTPATH_LAZY_INSTRUMENTATIONS=off`",
    "lazy": "with otel-fastpath",
    "run": "`otel-fastpath run`",
}
# Printed by the program itself.
COUNTS = """
import json, sys
print(json.dumps([len(sys.modules), sum(name.partition(".")[0] == "otel_fastpath" for name in sys.modules)]))
"""
COLLECTED = re.compile(r"Collected : (\d+)")


class Cost(NamedTuple):
    """What one start costs.

    Attributes:
        cpu: In milliseconds.
        memory: In MB.
        modules: All modules.
        ours: Those of otel-fastpath.
        instructions: In millions; 0 if they were not counted.
    """

    cpu: float
    memory: float
    modules: int
    ours: int
    instructions: float


def environment(way: str) -> dict[str, str]:
    """The variables of a way of starting, without exporters."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("OTEL_", "PYTHON"))}
    exporters = {f"OTEL_{signal}_EXPORTER": "none" for signal in ("TRACES", "METRICS", "LOGS")}
    return {**kept, **exporters, **WAYS[way][1]}


def command(way: str, program: str) -> list[str]:
    """The command line."""
    name, *more = WAYS[way][0] or ("",)
    return [*([str(SCRIPTS / name)] if name else []), *more, sys.executable, "-c", program]


def once(way: str, program: str) -> tuple[float, float]:
    """The milliseconds and MB of one process."""
    process = subprocess.Popen(command(way, program), env=environment(way), stdout=subprocess.DEVNULL)
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"{way}: exit status {process.returncode}")
    return (used.ru_utime + used.ru_stime) * 1e3, used.ru_maxrss / (1024 if sys.platform == "linux" else 1024**2)


def modules(way: str, program: str) -> tuple[int, int]:
    """How many modules the program has, and how many are ours."""
    text = f"{program}\n{COUNTS}"
    result = subprocess.run(command(way, text), env=environment(way), capture_output=True, text=True, check=True)
    every, ours = json.loads(result.stdout.splitlines()[-1])
    return every, ours


def instructions(way: str, program: str) -> float:
    """Millions of instructions of the program's interpreter: without the launcher that it replaces."""
    variables, words = environment(way), command(way, program)
    if words[0].endswith("opentelemetry-instrument"):
        places = sysconfig.get_paths()["purelib"]
        variables["PYTHONPATH"] = str(Path(places, "opentelemetry", "instrumentation", "auto_instrumentation"))
        words = words[1:]
    elif words[0].endswith("otel-fastpath"):
        words = [sys.executable, *words]
    tool = ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null"]
    result = subprocess.run(
        [*tool, *words], env={**variables, "PYTHONHASHSEED": "0"}, capture_output=True, text=True, check=True
    )
    return sum(map(int, COLLECTED.findall(result.stderr))) / 1e6


def measure(programs: list[str], rounds: int, *, counts: bool) -> dict[str, dict[str, Cost]]:
    """Program -> way -> cost."""
    least: dict[tuple[str, str], list[float]] = {}
    places = [(program, way) for program in programs for way in WAYS]
    for number in range(rounds):
        for program, way in places:
            print(f"\r{number + 1}/{rounds} {program}, {way}{' ' * 20}", end="", file=sys.stderr, flush=True)
            found = once(way, PROGRAMS[program])
            before = least.setdefault((program, way), list(found))
            least[program, way] = [min(pair) for pair in zip(before, found, strict=True)]
    print(file=sys.stderr)
    costs: dict[str, dict[str, Cost]] = {}
    for program, way in places:
        text = PROGRAMS[program]
        counted = instructions(way, text) if counts else 0.0
        costs.setdefault(program, {})[way] = Cost(*least[program, way], *modules(way, text), counted)
    return costs


def excesses(costs: dict[str, dict[str, Cost]]) -> list[str]:
    """The budgets that are exceeded, a sentence each."""
    budgets = tomllib.loads((FOLDER / "startup.toml").read_text(encoding="utf-8"))
    found = []
    for program, ways in costs.items():
        for way, limits in budgets.get(program, {}).items():
            cost = ways[way]
            shares = {**cost._asdict(), "cpu": cost.cpu / ways["stock"].cpu}
            found += [
                f"{program}, {way}: {name} {shares[name]:.4g}, at most {most} is allowed"
                for name, most in limits.items()
                if shares[name] > most
            ]
    return found


def markdown(costs: dict[str, dict[str, Cost]]) -> str:
    """The tables of all programs."""
    parts = []
    for program, ways in costs.items():
        is_counted = any(cost.instructions for cost in ways.values())
        heads = ["CPU ms", "of stock", "MB", "modules", "otel-fastpath's", *(["M instructions"] if is_counted else [])]
        parts.append(f"| A program that imports {program} | {' | '.join(heads)} |\n")
        parts.append(f"| --- |{' ---: |' * len(heads)}\n")
        for way, cost in ways.items():
            cells = [f"{cost.cpu:,.0f}", f"{cost.cpu / ways['stock'].cpu:.0%}", f"{cost.memory:.0f}"]
            cells += [f"{cost.modules:,}", str(cost.ours), *([f"{cost.instructions:,.0f}"] if is_counted else [])]
            parts.append(f"| {TITLES[way]} | {' | '.join(cells)} |\n")
        parts.append("\n")
    number = sum(each.name != "fastpath" for each in entry_points(group="opentelemetry_instrumentor"))
    load = f"; load average {os.getloadavg()[0]:.1f}" if hasattr(os, "getloadavg") else ""
    parts.append(
        f"{platform.python_implementation()} {platform.python_version()}, {platform.system()} {platform.machine()}, "
        f"{os.cpu_count()} processors{load}; {number} instrumentations; no exporters.\n"
    )
    return "".join(parts)


def main() -> int:
    """Measure, print the tables, and say which budgets are exceeded."""
    parser = argparse.ArgumentParser(description="What it costs to start a program with OpenTelemetry.")
    parser.add_argument("--rounds", type=int, default=5, help="runs of each program and way (default %(default)s)")
    parser.add_argument("--only", default="", help="only programs whose name contains this")
    parser.add_argument("--instructions", action="store_true", help="count instructions, too, with valgrind")
    parser.add_argument("--markdown", type=Path, help="write the tables to this file, too")
    parser.add_argument("--no-budgets", action="store_true", help="only measure")
    options = parser.parse_args()
    for place in dict.fromkeys((sysconfig.get_paths()["purelib"], str(FOLDER.parent / "otel_fastpath"))):
        compileall.compile_dir(place, quiet=2, workers=0)
    costs = measure([name for name in PROGRAMS if options.only in name], options.rounds, counts=options.instructions)
    text = markdown(costs)
    print(text)
    if options.markdown:
        options.markdown.write_text(text, encoding="utf-8")
    found = [] if options.no_budgets else excesses(costs)
    for each in found:
        print(f"Too much: {each}.")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
