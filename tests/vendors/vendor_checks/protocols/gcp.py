"""Google Cloud's requests, which the program hands on as JSON to the path /gcp/ and the method."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

from vendor_checks.items import Item, SpanName

if TYPE_CHECKING:
    from vendor_checks.receiver import Request

PATHS = re.compile(r"^/gcp/(\w+)$")
_NAME = re.compile(r"traces/(\w+)/spans/(\w+)")


def answer(_request: Request) -> tuple[int, str, bytes]:
    """Nothing: the program's gRPC server answers."""
    return 200, "application/json", b"{}"


def decode(request: Request) -> list[Item]:
    """An item for each span, point or description."""
    value = json.loads(request.body)
    if "spans" in value:
        found = []
        for span in value["spans"]:
            # Labels are a map, whose order means nothing; so is that of the attributes.
            name = span["displayName"]["value"]
            found.append(Item("span", name, span, (SpanName(*_NAME.search(span["name"]).groups(), name),)))
        return found
    points = value.get("timeSeries") or [value.get("metricDescriptor", value)]
    names = [each.get("metric", each) for each in points]
    return [
        Item("metric", json.dumps([name.get("type"), name.get("labels")]), each)
        for each, name in zip(points, names, strict=True)
    ]
