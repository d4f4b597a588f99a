"""The options of `otel-fastpath bench`."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Final

from otel_fastpath.tools.common.arguments import add_allow, add_progress, add_refused, add_service, count, seconds

if TYPE_CHECKING:
    import argparse

# The servers that operations need: option -> its environment variable and help.
SERVERS: Final = {
    "dsn": ("DATABASE_URL", "PostgreSQL to measure asyncpg and psycopg with"),
    "redis": ("REDIS_URL", "redis to measure its client with"),
}


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add them."""
    parser.add_argument("--list", action="store_true", help="print the operations, and why some cannot be measured")
    parser.add_argument(
        "--only",
        action="append",
        default=[],
        metavar="PATTERN",
        help="operations of this name; * and ? are wildcards",
    )
    parser.add_argument(
        "--file", type=Path, help="TOML file with your own scenarios (default: the nearest pyproject.toml with some)"
    )
    parser.add_argument(
        "--rounds",
        type=count,
        metavar="N",
        help="fresh processes of each kind (default 2; with --url 5, which give an interval)",
    )
    parser.add_argument("--cycles", type=count, default=40, metavar="N", help="blocks in each of them (default 40)")
    for name, (variable, text) in SERVERS.items():
        parser.add_argument(
            f"--{name}", default=os.environ.get(variable, ""), metavar="URL", help=f"{text} (default: {variable})"
        )
    add_allow(parser)
    service = parser.add_argument_group("a service of your own", "COMMAND is started three ways in turns (Linux)")
    service.add_argument("--url", default="", help="send requests to this URL of COMMAND")
    service.add_argument(
        "--seconds", type=seconds, default=4.0, metavar="S", help="the length of a measurement (default 4)"
    )
    add_service(service)
    add_progress(parser)
    add_refused(parser, "bench")
