"""Writing to carriers, as stock does. Plain Python; compiled as `carriers_c`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from opentelemetry.propagators.textmap import default_setter

if TYPE_CHECKING:
    from opentelemetry.propagators.textmap import Setter


def put(carrier: Any, name: str, value: str, setter: Setter[Any]) -> None:
    """Write a header. The caller knows that stock's default setter is its own."""
    if setter is default_setter and type(carrier) is dict:
        carrier[name] = value
    else:
        setter.set(carrier, name, value)
