"""Whether the metrics of this package that no call of the host creates should be reported to the global provider."""

from __future__ import annotations

import weakref
from typing import Any, Final

from otel_fastpath.locks import Lock

PATCHES: Final = "otel_fastpath"
EXCEPTIONS: Final = "otel_fastpath.exceptions"
GUARD: Final = "otel_fastpath.guard"
# The instrumentation scopes of these metrics.
SCOPES: Final = frozenset({PATCHES, EXCEPTIONS, GUARD})


def has_use(provider: Any) -> bool:
    """Whether the provider exports metrics besides these."""
    return not why_unused(provider)


def why_unused(provider: Any) -> str:
    """Why these are not reported to the provider; empty if they are.

    If there are no other instruments, these alone would make the provider export, perhaps to a back end that accepts no
    metrics. If all readers are in-memory ones, they belong to tests, which may count the metrics.
    """
    try:
        readers = dict(provider._measurement_consumer._reader_storages)
        if readers and all(type(reader).__name__ == "InMemoryMetricReader" for reader in readers):
            return "every metric reader of the global meter provider is an InMemoryMetricReader"
        is_used = any(
            instrument.instrumentation_scope.name not in SCOPES
            for storage in readers.values()
            for instrument in tuple(storage._instrument_view_instrument_matches)
        )
    except AttributeError:
        # Not the SDK's provider.
        return ""
    return "" if is_used else "the global meter provider has no other metrics yet"


class MeterProviders:
    """The meter providers that have an instrument: it cannot be removed, so each provider gets it once."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._has_global = False
        self._others: weakref.WeakSet[Any] = weakref.WeakSet()

    def add(self, provider: Any) -> bool:
        """Add a provider, None for the global one, and return whether it is new."""
        with self._lock:
            if provider is None:
                is_new, self._has_global = not self._has_global, True
                return is_new
            is_new = provider not in self._others
            self._others.add(provider)
            return is_new
