"""What an instrumentor says of this process: a row for each patch, and the way of each tracer's spans."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from otel_fastpath.patching.patch import Row

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping


@dataclass(frozen=True)
class TracerStatus:
    """Which way the spans of some tracers take, and why.

    Attributes:
        provider: The tracers' provider.
        tracers: The names of their instrumentation scopes.
        served_by: Whose code starts their spans, "otel-fastpath" or "OpenTelemetry".
        parts: Part of the way ("start", "processors", "methods") -> sentences about it.
    """

    provider: str
    tracers: tuple[str, ...]
    served_by: str
    parts: Mapping[str, tuple[str, ...]]


class StatusReport(list[Row]):
    """The rows of all patches and wrappers.

    Attributes:
        tracers: The way of the spans of each tracer that is in use.
    """

    def __init__(self, rows: Iterable[Row] = (), tracers: Iterable[TracerStatus] = ()) -> None:
        super().__init__(rows)
        self.tracers = tuple(tracers)
