"""OpenTelemetry's own providers and exporters, and nothing else: what the vendors are compared with in the table."""

from __future__ import annotations

from setups import plain
from setups.plain import finish

__all__ = ["finish", "set_up"]


def set_up(receiver: str) -> None:
    """All signals go to `receiver`."""
    plain.traces(receiver)
    plain.meters(receiver)
    plain.logs(receiver)
