"""What a stock instrumentation's functions are given in the place of a span, or left as the place of a provider."""

from __future__ import annotations

from typing import Any


class CollectedAttributes(dict[str, Any]):
    """A span that only collects attributes."""

    set_attribute = dict.__setitem__
    set_attributes = dict.update

    def is_recording(self) -> bool:
        """Always: the functions may ask."""
        return True


class OneTracer:
    """A tracer provider that has one tracer: all that a stock instrumentation keeps of the one that it was given."""

    def __init__(self, tracer: Any) -> None:
        self._tracer = tracer

    def get_tracer(self, *_args: Any, **_kwargs: Any) -> Any:
        """The tracer, whatever it is asked for."""
        return self._tracer
