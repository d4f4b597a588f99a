"""Azure Monitor's track protocol: JSON, a list of envelopes or one in each line."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

from vendor_checks.items import Item, SpanName

if TYPE_CHECKING:
    from vendor_checks.receiver import Request

PATHS = re.compile(r"/v2(\.1)?/track$")
_OPERATION = "ai.operation.id"


def answer(request: Request) -> tuple[int, str, bytes]:
    """Everything was accepted."""
    number = len(_envelopes(request.body))
    content = {"itemsReceived": number, "itemsAccepted": number, "errors": []}
    return 200, "application/json", json.dumps(content).encode()


def decode(request: Request) -> list[Item]:
    """An item for each envelope."""
    return [_item(envelope) for envelope in _envelopes(request.body)]


def _envelopes(body: bytes) -> list[Any]:
    if body.lstrip().startswith(b"["):
        return json.loads(body)
    return [json.loads(line) for line in body.splitlines() if line.strip()]


def _item(envelope: dict[str, Any]) -> Item:
    data = envelope["data"]
    kind, base = data["baseType"], data["baseData"]
    spans = ()
    if kind in {"RequestData", "RemoteDependencyData"}:
        spans = (SpanName(envelope["tags"][_OPERATION], base["id"], base["name"]),)
    if kind == "MetricData":
        return _metric(envelope, base)
    name = base.get("name") or base.get("message") or [each.get("message") for each in base.get("exceptions", ())]
    return Item(f"Azure {kind}", str(name), envelope, spans)


def _metric(envelope: dict[str, Any], base: dict[str, Any]) -> Item:
    """A metric; of those that the distribution measures itself, the value is left out."""
    name = base["metrics"][0]["name"]
    if not name.startswith("program."):
        base["metrics"] = [{"name": name, "value": "<of another scope>"}]
    series = json.dumps([name, base.get("properties")], sort_keys=True)
    return Item("Azure MetricData", series, envelope, series=series)
