"""The arguments of the stock instrumentation, if it instrumented before our wrapper."""

from __future__ import annotations

import inspect
import sys
from typing import Any


class KnownProvider:
    """A provider that returns the existing tracer, logger and histograms of a `TelemetryHandler`."""

    def __init__(self, handler: Any) -> None:
        self._handler = handler
        self._instruments = {
            getattr(each, "name", None) or each._name: each for each in vars(handler._instruments).values()
        }

    def get_tracer(self, *_args: Any, **_kwargs: Any) -> Any:
        """The tracer, regardless of the arguments."""
        return self._handler._tracer

    def get_logger(self, *_args: Any, **_kwargs: Any) -> Any:
        """The logger, regardless of the arguments."""
        return self._handler._logger

    def get_meter(self, *_args: Any, **_kwargs: Any) -> KnownProvider:
        """The meter, which is this object."""
        return self

    def create_histogram(self, name: str, *_args: Any, **_kwargs: Any) -> Any:
        """The histogram of this name."""
        return self._instruments[name]


def given_keywords(_instrumentor: Any) -> dict[str, Any]:
    """Keyword arguments of `instrument()` with the same effect as those of the stock instrumentation."""
    module = sys.modules.get("openai.resources.chat.completions")
    create = inspect.getattr_static(getattr(module, "Completions", None), "create", None)
    found = getattr(create, "_self_wrapper", None)
    # The wrapper is a closure around the one that has the handler.
    while found is not None:
        cells = inspect.getclosurevars(found).nonlocals
        handler = cells.get("handler")
        if handler is not None:
            known = KnownProvider(handler)
            return {
                "tracer_provider": known,
                "meter_provider": known,
                "logger_provider": known,
                "completion_hook": handler._completion_hook,
            }
        found = cells.get("wrapper")
    return {}
