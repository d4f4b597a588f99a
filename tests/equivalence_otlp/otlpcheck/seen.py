"""An encoder seen from outside: the bytes or the exception, and every log record."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


@dataclass
class Seen:
    """What came of encoding a batch.

    Attributes:
        result: The bytes, or the type and text of the exception.
        logged: Logger, level, message and exception of each record.
    """

    result: Any
    logged: list[tuple[str, int, str, str]]


class _Keep(logging.Handler):
    def __init__(self) -> None:
        super().__init__()
        self.logged: list[tuple[str, int, str, str]] = []

    def emit(self, record: logging.LogRecord) -> None:
        error = repr(record.exc_info[1]) if record.exc_info else ""
        self.logged.append((record.name, record.levelno, record.getMessage(), error))


def look(encode: Callable[[Sequence[Any]], Any], spans: Sequence[Any]) -> Seen:
    """Encode the spans and note what can be seen of it."""
    keep = _Keep()
    root = logging.getLogger()
    root.addHandler(keep)
    try:
        result = encode(spans)
    except Exception as error:
        result = (type(error), str(error))
    finally:
        root.removeHandler(keep)
    return Seen(result, keep.logged)


def compare(
    encode: Callable[[Sequence[Any]], bytes], stock: Callable[[Sequence[Any]], bytes], spans: Sequence[Any]
) -> None:
    """Encode with both: equal bytes and log. Where stock raises for the batch, equal spans where it sends one alone."""
    seen, by_stock = look(encode, spans), look(stock, spans)
    if isinstance(by_stock.result, bytes):
        assert seen == by_stock
        return
    alone = [_spans(look(encode, [span]).result) for span in spans]
    assert sorted(map(repr, _spans(seen.result))) == sorted(repr(each) for several in alone for each in several)
    for span, ours in zip(spans, alone, strict=True):
        of_span = look(stock, [span]).result
        assert not isinstance(of_span, bytes) or ours == _spans(of_span)


def _spans(request: bytes) -> list[Any]:
    resources = ExportTraceServiceRequest.FromString(request).resource_spans
    return [span for resource in resources for scope in resource.scope_spans for span in scope.spans]
