"""Azure Monitor's distribution, with its performance counters and standard metrics."""

from __future__ import annotations

from azure.monitor.opentelemetry import configure_azure_monitor
from setups.plain import finish

__all__ = ["finish", "set_up"]


def set_up(receiver: str) -> None:  # noqa: ARG001  # the connection string is a variable, which the launcher reads, too
    """Everything goes to the connection string's endpoint."""
    configure_azure_monitor(enable_live_metrics=False, disable_offline_storage=True, logger_name="vendors.program")
