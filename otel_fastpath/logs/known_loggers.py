"""Loggers that a provider is asked for again, by name. Plain Python; compiled as `known_loggers_c`.

Stock: 10,400 instructions for a logger that it has made before, for two locks and a set of weak references that has it
already (CPython 3.13, SDK 1.45.2). Here it is read from the provider's own dict, so that nothing is kept of any name.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from opentelemetry.sdk._logs import Logger, LoggerProvider

from otel_fastpath.compiled.facts import Facts
from otel_fastpath.compiled.helpers import get_item
from otel_fastpath.patching import faults
from otel_fastpath.patching.stock import as_defined
from otel_fastpath.patching.swapping.switches import Switch, make_switchable

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

_CACHED = "_get_logger_cached"
_finding = Facts([(LoggerProvider, _CACHED, as_defined(LoggerProvider, _CACHED))])


def bind_get_logger(original: Callable[..., Any]) -> Callable[..., object]:
    """Make the replacement for `LoggerProvider.get_logger`."""
    switch = Switch()

    def get_logger(
        self: Any, name: str, version: str | None = None, schema_url: str | None = None, attributes: Any = None
    ) -> object:
        try:
            if attributes is None and not switch.inert:
                found = _known(self, name, version, schema_url)
                if found is not None:
                    return found
        except Exception as error:
            faults.absorb("LoggerProvider.get_logger", error)
        return original(self, name, version, schema_url, attributes)

    return make_switchable(original, get_logger, switch)


def _known(provider: Any, name: Any, version: Any, schema_url: Any) -> object:
    """The logger that the provider has made of this name; None if stock must look for it."""
    # A value of another class may have no hash, or compare equal to a text.
    if (
        type(name) is not str
        or (version is not None and type(version) is not str)
        or (schema_url is not None and type(schema_url) is not str)
    ):
        return None
    if type(provider) is not LoggerProvider or not _finding.hold():
        return None
    fields = provider.__dict__
    made = get_item(fields, "_logger_cache")
    if type(made) is not dict or get_item(fields, "_disabled") is not False or _CACHED in fields:
        return None
    found = get_item(made, (name, version, schema_url))
    return found if type(found) is Logger else None
