"""Metrics as plain values that can be compared: every field of every point, with types, in order."""

from __future__ import annotations

import dataclasses
import enum


def seen(data):
    """The value, with dataclasses, mappings and sequences as tuples and leaves with their types."""
    if dataclasses.is_dataclass(data):
        fields = [(field.name, seen(getattr(data, field.name))) for field in dataclasses.fields(data)]
        return type(data).__name__, tuple(fields)
    if isinstance(data, dict):
        return "dict", tuple((seen(key), seen(value)) for key, value in data.items())
    if isinstance(data, list | tuple):
        return type(data).__name__, tuple(seen(each) for each in data)
    if isinstance(data, enum.Enum | str | int | float | bytes) or data is None:
        return type(data).__name__, repr(data)
    if hasattr(data, "attributes"):
        # A resource or scope.
        return type(data).__name__, seen(dict(data.attributes))
    return type(data).__name__, repr(data)
