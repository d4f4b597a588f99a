"""The patches of the OTLP exporters."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from otel_fastpath.patching.declarations import Declarations
from otel_fastpath.patching.feature import Feature
from otel_fastpath.settings import FULL

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from otel_fastpath.settings import Config

_GRPC: Final = "opentelemetry.exporter.otlp.proto.grpc"
_HTTP: Final = "opentelemetry.exporter.otlp.proto.http"


class _Otlp(Feature):
    def start(self, settings: Config, off: Callable[[str], str | None], providers: Mapping[str, Any]) -> None:  # noqa: ARG002  # the count is off by `telemetry` only
        if settings.telemetry == FULL and not settings.stock:
            from otel_fastpath.otlp.altering import counts  # noqa: PLC0415  # many processes export nothing

            counts.report(providers.get("meter_provider"))

    def stop(self) -> None:
        from otel_fastpath.otlp.altering import counts  # noqa: PLC0415  # likewise

        counts.stop()


FEATURE: Final = _Otlp(
    "otlp",
    parts=(
        Declarations("otlp.patches_spans", f"{_GRPC}.trace_exporter", f"{_HTTP}.trace_exporter"),
        Declarations("otlp.patches_metrics", f"{_GRPC}.metric_exporter", f"{_HTTP}.metric_exporter"),
        Declarations("otlp.patches_logs", f"{_GRPC}._log_exporter", f"{_HTTP}._log_exporter"),
        Declarations("otlp.patches_http", "opentelemetry.exporter.http.transport._requests"),
    ),
    without="What exports alter is not counted.",
)
