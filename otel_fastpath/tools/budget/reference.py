"""The units that overhead is counted in: frozen workloads with the instruction mix of telemetry.

Nothing in this file may change: stored numbers would lose their meaning. A better workload gets a new name, and a test
holds the source of each to its digest.

A reference is timed beside what it measures, in the same process and the same milliseconds, so that the state of the
machine (a busy neighbour, a slow clock) cancels out. That takes a workload that feels the state as telemetry does: a
counting loop is off by 15 %, these by 2 to 6 %.
"""

from __future__ import annotations

import json
from collections import OrderedDict
from contextlib import contextmanager
from contextvars import ContextVar
from random import Random
from threading import Lock
from time import time_ns
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_current: ContextVar[Any] = ContextVar("otel_fastpath.tools.budget.minispan", default=None)
_random = Random(20261120)  # noqa: S311  # identifiers, no secrets
_ended: list[Any] = []
_MANY: Final = 512


class _MiniSpan:
    """What every tracing library does for a span, once over."""

    def __init__(self, name: str, parent: Any, attributes: dict[str, Any]) -> None:
        self._lock = Lock()
        self.name = name
        self.trace_id = _random.getrandbits(128) if parent is None else parent.trace_id
        self.span_id = _random.getrandbits(64)
        self.attributes: OrderedDict[str, Any] = OrderedDict()
        for key, value in attributes.items():
            self.set_attribute(key, value)
        self.start_time = time_ns()
        self.end_time: int | None = None

    def set_attribute(self, key: str, value: Any) -> None:
        if not isinstance(key, str) or not key:
            return
        if isinstance(value, (bool, int, float, str)):
            with self._lock:
                if key in self.attributes:
                    del self.attributes[key]
                self.attributes[key] = value

    def end(self) -> None:
        with self._lock:
            self.end_time = time_ns()
        _ended.append((self.name, f"{self.trace_id:032x}", f"{self.span_id:016x}", dict(self.attributes)))
        if len(_ended) >= _MANY:
            _ended.clear()


@contextmanager
def _mini_span(name: str, attributes: dict[str, Any]) -> Iterator[_MiniSpan]:
    span = _MiniSpan(name, _current.get(), attributes)
    token = _current.set(span)
    try:
        yield span
    finally:
        _current.reset(token)
        span.end()


def minispan_1() -> None:
    """A span with seven attributes around nothing."""
    with _mini_span(
        "GET /items/{item_id}",
        {
            "http.request.method": "GET",
            "url.scheme": "http",
            "server.address": "localhost",
            "server.port": 8000,
            "http.route": "/items/{item_id}",
            "http.response.status_code": 200,
            "network.protocol.version": "1.1",
        },
    ):
        pass


_DOCUMENT: Final = {
    "id": 4711,
    "name": "chair",
    "price": 19.9,
    "tags": ["wood", "brown", "kitchen"],
    "size": {"width": 45, "height": 90, "depth": 50},
    "stock": [{"city": "Berlin", "count": 3}, {"city": "Graz", "count": 0}],
}


def json_1() -> None:
    """A small document written as JSON and read again."""
    json.loads(json.dumps(_DOCUMENT, sort_keys=True))


REFERENCES: Final[dict[str, Callable[[], None]]] = {"minispan/1": minispan_1, "json/1": json_1}
