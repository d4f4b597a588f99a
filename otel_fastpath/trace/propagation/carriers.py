"""Reading from carriers, and writing to them, as stock does. Plain Python; compiled as `carriers_c`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from opentelemetry.propagators.textmap import default_getter, default_setter

if TYPE_CHECKING:
    from opentelemetry.propagators.textmap import Getter, Setter


def first_value(carrier: Any, name: str, getter: Getter[Any]) -> Any:
    """The first value of a header; None: there is none. The caller knows that stock's default getter is its own."""
    if getter is default_getter and type(carrier) is dict:
        value = carrier.get(name)
        if value is None or type(value) is str:
            return value
    values = getter.get(carrier, name)
    if values is None:
        return None
    if type(values) is list:
        return values[0] if values else None
    return next(iter(values), None)


def known(value: Any) -> tuple[Any, ...]:
    """What stock's propagator is told that a getter has returned, of which this was the first value."""
    return () if value is None else (value,)


def put(carrier: Any, name: str, value: str, setter: Setter[Any]) -> None:
    """Write a header. The caller knows that stock's default setter is its own."""
    if setter is default_setter and type(carrier) is dict:
        carrier[name] = value
    else:
        setter.set(carrier, name, value)
