"""Takes out of items what differs from run to run: ids, times, addresses. What they are equal to stays visible.

An id of a span that was sent becomes the span's name, wherever it stands, so that parents, links, log records and
exemplars still have to point to the right one.
"""

from __future__ import annotations

import datetime as dt
import json
import re
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from vendor_checks.items import Item

_DAY = 86400
_HEX = re.compile(r"(?<![0-9a-fA-F])(?:[0-9a-f]{32}|[0-9a-f]{16})(?![0-9a-fA-F])")
_UUID = re.compile(r"\b[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}\b")
_DATE = re.compile(r"(\d{4}-\d\d-\d\d)[T ]\d\d:\d\d:\d\d(?:[.,]\d+)?(?:Z|[+-]\d\d:?\d\d)?")
# Nanoseconds within a text.
_INSIDE = re.compile(r"(?<![\d.])\d{19}(?![\d.])")
_NUMBER = re.compile(r"\d{10,19}(?:\.\d+)?")
_PLAIN = ((re.compile(r"\b0x[0-9a-f]{6,}\b"), "<address>"), (re.compile(r"127\.0\.0\.1:\d+"), "<receiver>"))
# Keys whose values are of this process or of this moment.
_VOLATILE = re.compile(
    r"process[._](parent_)?p?id|pid|thread[._]?id|threadid|duration(_ms|_ns)?|code\.thread\.id|thread_native_id"
    r"|elapsed.*",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class Normal:
    """An item that can be compared.

    Attributes:
        kind: As the item's.
        name: As the item's, without ids.
        value: As the item's, without what differs from run to run.
    """

    kind: str
    name: str
    value: Any

    @property
    def text(self) -> str:
        """All of it, equal for equal items."""
        return json.dumps([self.kind, self.name, self.value], sort_keys=True)


def normalise(
    items: Sequence[Item], volatile: Sequence[str] = (), replaced: Sequence[str] = (), known: Iterable[str] = ()
) -> list[Normal]:
    """Make items comparable.

    Args:
        items: In the order in which they came.
        volatile: More keys whose values differ from run to run: regular expressions.
        replaced: Parts of texts that differ from run to run: regular expressions.
        known: Ids that are the same in each run.
    """
    scrub = _Scrub(_labels(items) | {each: each for each in known}, volatile, replaced)
    kept: dict[str, Item] = {}
    for number, item in enumerate(items):
        kept[json.dumps([item.kind, scrub.value(item.series)]) if item.series else str(number)] = item
    return [Normal(item.kind, scrub.text(item.name), scrub.value(item.value)) for item in kept.values()]


def _labels(items: Sequence[Item]) -> dict[str, str]:
    """What stands for each id: a span's name for its own, and the first of all names for that of a trace."""
    by_trace: dict[str, set[str]] = {}
    by_name: dict[str, list[str]] = {}
    for span in (span for item in items for span in item.spans):
        by_trace.setdefault(span.trace_id, set()).add(span.name)
        ids = by_name.setdefault(span.name, [])
        if span.span_id not in ids:
            ids.append(span.span_id)
    labels = {trace: f"<trace of {min(names)}>" for trace, names in by_trace.items()}
    for name, ids in by_name.items():
        for number, each in enumerate(ids):
            labels[each] = f"<span {name}>" if len(ids) == 1 else f"<span {name}, number {number}>"
    return labels


class _Scrub:
    def __init__(self, labels: dict[str, str], volatile: Sequence[str], replaced: Sequence[str]) -> None:
        self._labels = labels
        self._replaced = [*_PLAIN, *((re.compile(each), "<replaced>") for each in replaced)]
        self._volatile = re.compile("|".join([f"(?:{each})" for each in (_VOLATILE.pattern, *volatile)]), re.IGNORECASE)
        self._now = time.time()
        today = dt.datetime.now(tz=dt.timezone.utc).date()
        self._days = {(today + dt.timedelta(days)).isoformat() for days in (-1, 0, 1)}

    def value(self, value: Any, key: str = "") -> Any:
        is_volatile = self._volatile.fullmatch(key)
        if isinstance(value, dict):
            return {self.text(name): self.value(each, key if is_volatile else name) for name, each in value.items()}
        if isinstance(value, list):
            return [self.value(each, key) for each in value]
        if value is None or isinstance(value, bool):
            return value
        if is_volatile:
            return f"<{type(value).__name__}>"
        if isinstance(value, str):
            return self.text(value)
        return "<time>" if self._is_recent(value) else value

    def text(self, text: str) -> str:
        """A text without ids, times and addresses."""
        if _NUMBER.fullmatch(text) and self._is_recent(float(text)):
            return "<time>"
        text = _UUID.sub("<uuid>", text)
        text = _HEX.sub(lambda found: self._labels.get(found[0], "<id>"), text)
        text = _DATE.sub(lambda found: "<time>" if found[1] in self._days else found[0], text)
        text = _INSIDE.sub(lambda found: "<time>" if self._is_recent(float(found[0])) else found[0], text)
        for pattern, label in self._replaced:
            text = pattern.sub(label, text)
        return text

    def _is_recent(self, number: float) -> bool:
        """Whether this is a time of today in seconds, milli-, micro- or nanoseconds."""
        return any(abs(number / scale - self._now) < _DAY for scale in (1, 1e3, 1e6, 1e9))
