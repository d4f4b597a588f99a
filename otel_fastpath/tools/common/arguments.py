"""The option that the commands which start programs share."""

from __future__ import annotations

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
