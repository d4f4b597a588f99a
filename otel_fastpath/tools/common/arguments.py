"""The options that the commands which start programs share."""

from __future__ import annotations

import argparse
from typing import Any


def add_allow(parser: Any) -> None:
    """Add the option of all commands that start programs."""
    parser.add_argument(
        "--allow",
        action="append",
        default=[],
        metavar="HOST[:PORT]",
        help="what the program may reach besides the loopback interface, e.g. its database; anything else is refused",
    )


def add_service(parser: Any) -> None:
    """Add the options of the commands that send requests to a service."""
    parser.add_argument("--clients", type=int, default=8, metavar="N", help="clients at a time (default 8)")
    parser.add_argument(
        "--as-is",
        action="store_true",
        help="COMMAND sets OpenTelemetry up by itself (default: find out, else run it by opentelemetry-instrument)",
    )
    parser.add_argument(
        "--status",
        type=int,
        action="append",
        default=[],
        metavar="CODE",
        help="the status of answers that count (default: all below 400)",
    )
    parser.add_argument("command", nargs=argparse.REMAINDER, metavar="COMMAND", help="starts the service")
