"""OTLP logs requests as bytes, assembled like those of spans, see `trace_requests`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from otel_fastpath.otlp.trace_requests import Encoder

if TYPE_CHECKING:
    from collections.abc import Callable

    from otel_fastpath.otlp.trace_requests import StockEncoder


class LogsEncoder(Encoder):
    """Encodes batches of log records; thread-safe.

    Args:
        encoder: The module `encoder` or its compiled twin.
        encode_logs: The function of this core that appends log records.
        stock: Stock's functions; here `span` encodes one log record.
    """

    def __init__(self, encoder: Any, encode_logs: Callable[..., int], stock: StockEncoder) -> None:
        super().__init__(encoder, stock)
        self._encode_run = encode_logs
