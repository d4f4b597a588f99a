"""A page of the Prometheus exporter, which the program hands on to the path /page."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from vendor_checks.items import Item

if TYPE_CHECKING:
    from vendor_checks.receiver import Request

PATHS = re.compile(r"^/page$")
_OWN = ("program_", "target_info")


def answer(_request: Request) -> tuple[int, str, bytes]:
    """Nothing: Prometheus asks and does not answer."""
    return 200, "text/plain", b""


def decode(request: Request) -> list[Item]:
    """An item for each line; what others measure, as memory and collections, is compared without its value."""
    items = []
    for line in request.body.decode().splitlines():
        series, _, value = line.rpartition(" ")
        if line.startswith("#") or series.startswith(_OWN):
            items.append(Item("line", line, line))
        else:
            items.append(Item("line", series, {"series": series, "value": "<of others>" if value else ""}))
    return items
