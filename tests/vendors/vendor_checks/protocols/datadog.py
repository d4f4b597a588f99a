"""Datadog's agent: traces as MessagePack, version 0.4 of the protocol."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

from vendor_checks.items import Item, SpanName
from vendor_checks.protocols.msgpack import unpack

if TYPE_CHECKING:
    from vendor_checks.receiver import Request

PATHS = re.compile(r"^/v0\.4/traces$")


def answer(_request: Request) -> tuple[int, str, bytes]:
    """The rates at which the agent wants traces."""
    return 200, "application/json", b'{"rate_by_service": {}}'


def decode(request: Request) -> list[Item]:
    """An item for each span."""
    return [_item(span, _upper_half(trace)) for trace in unpack(request.body) for span in trace]


def _upper_half(trace: list[dict[str, Any]]) -> str:
    """The half of the trace's id that is a tag of one of its spans."""
    return next((span["meta"]["_dd.p.tid"] for span in trace if "_dd.p.tid" in span.get("meta", {})), "")


def _item(span: dict[str, Any], upper_half: str) -> Item:
    """A span, with its ids as the hexadecimal digits that links and log records have."""
    for key in ("span_id", "parent_id", "trace_id"):
        span[key] = f"{span.get(key, 0):016x}"
    span["trace_id"] = upper_half + span["trace_id"]
    if "events" in span.get("meta", {}):
        # JSON, whose keys have no order.
        span["meta"]["events"] = json.loads(span["meta"]["events"])
    for link in span.get("span_links", ()):
        link["span_id"] = f"{link['span_id']:016x}"
        link["trace_id"] = f"{link.pop('trace_id_high', 0):016x}{link['trace_id']:016x}"
    return Item("span", span["resource"], span, (SpanName(span["trace_id"], span["span_id"], span["resource"]),))
