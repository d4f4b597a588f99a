"""Distributions that `opentelemetry-instrument` loads, and the SDK's own configuration by variables or by a file.

Where the program is started without it, what it calls is called here: the rest is environment variables.
"""

from __future__ import annotations

from opentelemetry.instrumentation import auto_instrumentation
from setups.plain import finish

__all__ = ["finish", "set_up"]


def set_up(receiver: str) -> None:  # noqa: ARG001  # the variables have it
    """Do what `opentelemetry-instrument` does in the process that it starts."""
    auto_instrumentation.initialize()
