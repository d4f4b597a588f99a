"""Raises at each line of this package that holds a call, and shows what that did to a host and to its telemetry.

    make faults ARGS="--workload spans set-up:0/24 --core c --line trace/context/scope.py --part 3/10"

Exit status 1 means that a fault reached the host, moved its context, or sent telemetry twice; 69 that the package
registry did not give what compiles the core; 2 that nothing could be shown for another reason.
"""
# ruff: noqa: T201  # a program that prints

from __future__ import annotations

import argparse
import os
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

sys.path.insert(0, str(Path(__file__).resolve().parent))

from faultcheck.job import part_of
from faultcheck.places import CORES, FaultsError, UnavailableError, provide
from faultcheck.report import Report
from faultcheck.running import run
from faultcheck.servers import possible, servers

if TYPE_CHECKING:
    from collections.abc import Sequence

NAMES = (
    "set-up",
    "openai-streams",
    "openai-async",
    "openai",
    "genai-calls",
    "celery",
    "kafka",
    "rabbitmq",
    "anthropic",
    "grpc",
    "aws",
    "asyncpg",
    "asyncpg-options",
    "asyncpg-pools",
    "psycopg",
    "psycopg2",
    "redis",
    "pymysql",
    "cassandra",
    "sqlalchemy",
    "sqlite3",
    "http-clients-hooks",
    "http-clients",
    "http-async-clients-hooks",
    "http-async-clients",
    "asgi-servers-hooks",
    "asgi-servers",
    "fastapi-own",
    "wsgi-servers-hooks",
    "wsgi-servers",
    "aiohttp-server-captured",
    "aiohttp-server",
    "collection",
    "spans",
    "processors",
    "errors",
    "decorators",
    "propagation",
    "metrics",
    "scrapes",
    "encoding",
    "logs",
    "exceptions",
)


def main(arguments: Sequence[str] | None = None) -> int:
    """Do what the command line asks for and print what was found."""
    options = _options(arguments)
    began = time.monotonic()
    try:
        roots = {core: provide(core) for core in options.core or CORES}
        with servers(options.workload) as found:
            options.workload = possible(options.workload, found)
            report = Report(run(roots, options, found))
    except FaultsError as error:
        print(f"faults: {error}", file=sys.stderr)
        return os.EX_UNAVAILABLE if isinstance(error, UnavailableError) else 2
    report.show(details=options.details)
    print(f"\n{time.monotonic() - began:.0f} s.")
    return report.status()


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="make faults", description=__doc__.partition("\n")[0])
    parser.add_argument(
        "--workload",
        nargs="+",
        type=_workload,
        default=NAMES,
        metavar="NAME",
        help=f"of one with :K/N every N-th line; {', '.join(NAMES)}",
    )
    parser.add_argument("--core", nargs="+", choices=CORES, help="both, unless said")
    parser.add_argument(
        "--line", nargs="+", default=[], metavar="PLACE", help="otlp/encoder.py, or otlp/encoder.py:160"
    )
    parser.add_argument("--part", default="0/1", metavar="K/N", help="every N-th line, from the K-th on (from 0)")
    parser.add_argument("--jobs", type=int, default=min(2, os.cpu_count() or 1), help="processes at a time")
    parser.add_argument("--limit", type=float, default=20.0, metavar="SECONDS", help="for the three runs with a fault")
    parser.add_argument("--details", action="store_true", help="everything that each fault did")
    options = parser.parse_args(arguments)
    try:
        options.part, options.parts = part_of(options.part)
    except ValueError:
        parser.error("--part is something like 3/10")
    return options


def _workload(text: str) -> str:
    name, has_part, part = text.partition(":")
    try:
        if has_part:
            part_of(part)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r}: the part is something like {name}:3/10") from None
    if name not in NAMES:
        raise argparse.ArgumentTypeError(f"{name!r} is none of {', '.join(NAMES)}")
    return text


if __name__ == "__main__":
    sys.exit(main())
