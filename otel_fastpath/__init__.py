"""Makes OpenTelemetry for Python cheap without changing what it emits.

Importing this package does no work: each name below is loaded when it is first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from otel_fastpath.instrumentor import FastpathInstrumentor
    from otel_fastpath.metrics.bind import bind

__all__ = ["FastpathInstrumentor", "__version__", "bind"]

_HOMES = {"FastpathInstrumentor": "otel_fastpath.instrumentor", "bind": "otel_fastpath.metrics.bind"}


def __getattr__(name: str) -> Any:
    from importlib import import_module

    if name == "__version__":
        from importlib.metadata import version

        value: Any = version("otel-fastpath")
    elif name in _HOMES:
        value = getattr(import_module(_HOMES[name]), name)
    else:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = value
    return value
