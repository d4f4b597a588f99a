"""Which libraries make spans themselves, beside an instrumentation of them: each call has two spans."""

from __future__ import annotations

import re
import sys
from typing import TYPE_CHECKING, Final, NamedTuple

from opentelemetry.instrumentation.instrumentor import BaseInstrumentor  # type: ignore[attr-defined]

from otel_fastpath import settings
from otel_fastpath.patching import interpreter

if TYPE_CHECKING:
    from collections.abc import Iterator

# The name at the beginning of a requirement: https://packaging.python.org/en/latest/specifications/dependency-specifiers/
_NAME: Final = re.compile(r"[\w.-]+")


class _TracingLibrary(NamedTuple):
    """A library that makes spans itself: by which module, the variable that turns them off, how to have one of two."""

    module: str
    variable: str
    cure: str


# As of anthropic 2.14 (`anthropic/_tracing.py`) and mcp 2.3 (`mcp/shared/_otel.py`).
_LIBRARIES: Final = {
    "anthropic": _TracingLibrary(
        "anthropic._tracing",
        "ANTHROPIC_OPEN_TELEMETRY",
        "ANTHROPIC_OPEN_TELEMETRY=false leaves those of the instrumentation",
    ),
    "mcp": _TracingLibrary(
        "mcp.shared._otel", "", "OTEL_PYTHON_DISABLED_INSTRUMENTATIONS with `mcp` in it leaves those of the library"
    ),
}


def notes() -> Iterator[str]:
    """One sentence for each library that is traced twice in this process."""
    loaded = {
        name: each
        for name, each in _LIBRARIES.items()
        if each.module in sys.modules and not settings.is_false(each.variable)
    }
    for instrumentor in _instrumentors(BaseInstrumentor) if loaded else ():
        for name in loaded.keys() & _libraries_of(instrumentor):
            kind, version = type(instrumentor), interpreter.version(name) or ""
            yield (
                f"{name} {version} makes spans itself, and {kind.__module__}.{kind.__qualname__} makes them, too: two "
                f"for one call. {loaded[name].cure}."
            )


def _instrumentors(kind: type[BaseInstrumentor]) -> Iterator[BaseInstrumentor]:
    """Each instrumentor that has instrumented its library."""
    for each in kind.__subclasses__():
        instance = vars(each).get("_instance")
        if isinstance(instance, BaseInstrumentor) and instance.is_instrumented_by_opentelemetry:
            yield instance
        yield from _instrumentors(each)


def _libraries_of(instrumentor: BaseInstrumentor) -> set[str]:
    """The names of the libraries that an instrumentor says it is for."""
    try:
        found = (_NAME.match(each) for each in instrumentor.instrumentation_dependencies())
        return {name[0].lower() for name in found if name}
    except Exception:  # an instrumentor is anyone's code
        return set()
