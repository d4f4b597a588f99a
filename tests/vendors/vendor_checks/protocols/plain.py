"""Whatever no other protocol takes: the body as JSON, or else as text."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

from vendor_checks.items import Item

if TYPE_CHECKING:
    from vendor_checks.receiver import Request

PATHS = re.compile("")


def answer(_request: Request) -> tuple[int, str, bytes]:
    """An empty object, with which most are content."""
    return 200, "application/json", b"{}"


def decode(request: Request) -> list[Item]:
    """One item; nothing for an empty body."""
    if not request.body:
        return []
    text = request.body.decode("utf-8", "backslashreplace")
    try:
        value = json.loads(text)
    except ValueError:
        value = text.splitlines()
    return [Item("body", request.path.partition("?")[0], value)]
