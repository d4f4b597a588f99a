"""Sentry's envelopes: lines of JSON, where each item has a header, and a payload whose length the header may give."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

from vendor_checks.items import Item, SpanName

if TYPE_CHECKING:
    from collections.abc import Iterator

    from vendor_checks.receiver import Request

PATHS = re.compile(r"/api/\d+/envelope/?$")


def answer(_request: Request) -> tuple[int, str, bytes]:
    """The id of an event, which nobody reads."""
    return 200, "application/json", b'{"id": "0"}'


def decode(request: Request) -> list[Item]:
    """The items of an envelope."""
    return list(_items(request.body))


def _items(body: bytes) -> Iterator[Item]:
    head, _, rest = body.partition(b"\n")
    envelope = json.loads(head)
    while rest.strip():
        line, _, rest = rest.lstrip(b"\n").partition(b"\n")
        header = json.loads(line)
        length = header.pop("length", None)
        end = rest.find(b"\n") % (len(rest) + 1) if length is None else length
        payload, rest = rest[:end], rest[end:]
        kind = header.get("type", "unknown")
        value = json.loads(payload) if payload[:1] in b"{[" else payload.decode("utf-8", "backslashreplace")
        if isinstance(value, dict) and isinstance(value.get("items"), list):
            # Logs, metrics and spans come many at a time: how many at once does not matter.
            for each in value["items"]:
                yield Item(f"Sentry {kind}", _name(each), {"header": _without_counts(header), "value": each})
        else:
            if kind == "transaction":
                # They come in the order in which they started, which threads and tasks do not repeat.
                value["spans"].sort(key=_title)
            whole = {"envelope": envelope, "header": header, "value": value}
            yield Item(f"Sentry {kind}", _name(value), whole, tuple(_spans(value)))


def _without_counts(header: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in header.items() if key != "item_count"}


def _name(value: Any) -> str:
    if not isinstance(value, dict):
        return ""
    for key in ("transaction", "body", "name", "message"):
        if isinstance(value.get(key), str):
            return value[key]
    logged = value.get("logentry") or {}
    values = (value.get("exception") or {}).get("values") or []
    return str(logged.get("message") or "".join(f"{each.get('type')}: {each.get('value')}" for each in values[-1:]))


def _title(span: dict[str, Any]) -> str:
    return span.get("description") or span.get("op") or ""


def _spans(value: Any) -> Iterator[SpanName]:
    """Those of a transaction: itself, and the ones below it."""
    if not isinstance(value, dict) or value.get("type") != "transaction":
        return
    own = value["contexts"]["trace"]
    yield SpanName(own["trace_id"], own["span_id"], value["transaction"])
    for span in value.get("spans", ()):
        yield SpanName(span["trace_id"], span["span_id"], _title(span))
