"""Stands in for the tracer provider that a stock instrumentation was given, which keeps only a tracer of it."""

from __future__ import annotations

from typing import Any


class OneTracer:
    """A tracer provider that has one tracer."""

    def __init__(self, tracer: Any) -> None:
        self._tracer = tracer

    def get_tracer(self, *_args: Any, **_kwargs: Any) -> Any:
        """The tracer, whatever it is asked for."""
        return self._tracer
