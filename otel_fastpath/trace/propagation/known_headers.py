"""Headers that were read before stock's propagator had to be called: it is given the values, so none is read twice."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from otel_fastpath.patching import faults

if TYPE_CHECKING:
    from collections.abc import Mapping

    from opentelemetry.propagators.textmap import Getter


class KnownHeaders:
    """A getter that has the values of some headers, in the order in which stock reads them.

    Args:
        getter: Reads the others.
        known: The values as the getter returned them, by name; None: not read yet.
        names: Those of all headers, likewise.
    """

    __slots__ = ("_getter", "_known", "_names")

    def __init__(self, getter: Getter[Any], known: Mapping[str, Any], names: Any) -> None:
        self._getter = getter
        self._known = known
        self._names = names

    def get(self, carrier: object, key: str) -> Any:
        """The known value, or the one that the getter returns."""
        known = self._known.get(key)
        return self._getter.get(carrier, key) if known is None else known

    def keys(self, carrier: object) -> Any:
        """The names of the carrier's headers."""
        return self._getter.keys(carrier) if self._names is None else self._names


def with_known_headers(place: str, getter: Getter[Any], known: Mapping[str, Any], names: Any = None) -> Getter[Any]:
    """A getter that returns these known values; the given getter if that cannot be made. Never raises."""
    try:
        return KnownHeaders(getter, known, names)  # type: ignore[return-value]  # stock calls only these methods of it
    except Exception as error:
        faults.absorb_any(place, error)
        return getter
