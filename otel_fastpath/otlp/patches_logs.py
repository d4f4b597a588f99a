"""OTLP export of log records: `encode_logs` of the exporters of `opentelemetry-exporter-otlp-proto-http` and `-grpc`.

Stock: 97,000 instructions for a log record, 279,000 with seven attributes, almost half of it for the hash of the
resource. One record that cannot be encoded is the loss of its batch. Here the records are encoded directly as bytes.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any, Final

from otel_fastpath import compiled
from otel_fastpath.compiled import hot
from otel_fastpath.otlp.exporters import COMMON, EncodedRequest, patch, replace, stock

if TYPE_CHECKING:
    from collections.abc import Callable

    from otel_fastpath.otlp.trace_requests import Encoder
    from otel_fastpath.patching.patch import Patch
    from otel_fastpath.settings import Config

_LOG_NAMES: Final = ("_encode_log", "_encode_resource_logs", "encode_logs")
# What the encoder reads without calling it.
_PROPERTIES: Final = ("opentelemetry.sdk._logs._internal:ReadableLogRecord.dropped_attributes",)
_RESTS_ON: Final = (
    *(f"{COMMON}._log_encoder:{name}" for name in _LOG_NAMES),
    "opentelemetry.sdk._logs._internal:ReadableLogRecord",
    *_PROPERTIES,
)


def _request_class() -> Any:
    from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest  # noqa: PLC0415  # only where it is being patched

    return ExportLogsServiceRequest


def _stock() -> Any:
    """Stock's functions, looked up at each call."""
    from opentelemetry.exporter.otlp.proto.common._internal import _log_encoder  # noqa: PLC0415  # only where it is being patched
    from opentelemetry.proto.logs.v1.logs_pb2 import ResourceLogs, ScopeLogs  # noqa: PLC0415  # likewise

    from otel_fastpath.otlp.altering import log_fields as logs  # noqa: PLC0415  # likewise

    def encode(record: Any) -> Any:
        return _log_encoder._encode_log(record)

    return stock(_request_class(), ResourceLogs, ScopeLogs, encode, logs.LOG_RECORD, logs.attributes)


@functools.cache
def _encoder(implementation: str) -> Encoder:
    from opentelemetry._logs import LogRecord, SeverityNumber  # noqa: PLC0415  # likewise
    from opentelemetry.sdk._logs import ReadableLogRecord  # noqa: PLC0415  # likewise

    from otel_fastpath.otlp.trace_requests import Encoder  # noqa: PLC0415  # it imports the SDK

    spans = hot.otlp_encoder
    logs: Any = spans
    if not compiled.is_compiled(implementation):
        from otel_fastpath.otlp import encoder_logs as logs  # noqa: PLC0415  # compiled, they are one module
    logs.prepare_logs(ReadableLogRecord, LogRecord, SeverityNumber)
    return Encoder(spans, _stock(), logs.encode_logs)


def _make(original: Any, wrap: Callable[[bytes], Any]) -> Any:
    from opentelemetry.exporter.otlp.proto.common._internal import _log_encoder  # noqa: PLC0415  # likewise

    encoder = _encoder(compiled.implementation()[0])
    return replace(original, _log_encoder, _LOG_NAMES, encoder.encode, encoder.encode_each, wrap, _PROPERTIES)


def _make_http(original: Any, _settings: Config) -> Any:
    return _make(original, functools.partial(EncodedRequest, _request_class()))


def _make_grpc(original: Any, _settings: Config) -> Any:
    # grpc's serializer is a method of the message class, so it needs such a message.
    return _make(original, _request_class().FromString)


def _patch(transport: str, why: str, make: Callable[[Any, Config], Any], budget: str) -> Patch:
    return patch(transport, "logs", "_log_exporter:encode_logs", why, make, _RESTS_ON, budget)


PATCHES: Final = (
    _patch(
        "http",
        "A log record takes 97,000 instructions, and one that cannot be encoded loses its batch; here neither.",
        _make_http,
        "otlp, one more log record, 7 attributes",
    ),
    _patch(
        "grpc",
        "The same encoder as over HTTP; its bytes are then parsed into the message that grpc needs.",
        _make_grpc,
        "otlp over grpc, one more log record, 7 attributes",
    ),
)
