"""A decoder of MessagePack, as far as Datadog's tracer uses it."""

from __future__ import annotations

import struct
from typing import Any

# First byte -> the format of a number, or that of a length and what follows it.
_NUMBERS = {
    0xCA: ">f",
    0xCB: ">d",
    0xCC: ">B",
    0xCD: ">H",
    0xCE: ">I",
    0xCF: ">Q",
    0xD0: ">b",
    0xD1: ">h",
    0xD2: ">i",
    0xD3: ">q",
}
_LENGTHS = {
    0xC4: (">B", "bytes"),
    0xC5: (">H", "bytes"),
    0xC6: (">I", "bytes"),
    0xD9: (">B", "text"),
    0xDA: (">H", "text"),
    0xDB: (">I", "text"),
    0xDC: (">H", "list"),
    0xDD: (">I", "list"),
    0xDE: (">H", "map"),
    0xDF: (">I", "map"),
}
_CONSTANTS = {0xC0: None, 0xC2: False, 0xC3: True}
# Short ones: the bits that tell the kind, those of the length, and the kind.
_SHORT = ((0xE0, 0xA0, 0x1F, "text"), (0xF0, 0x90, 0x0F, "list"), (0xF0, 0x80, 0x0F, "map"))


def unpack(data: bytes) -> Any:
    """The value that `data` consists of."""
    value, end = _value(data, 0)
    if end != len(data):
        raise ValueError(f"{len(data) - end} bytes are left")
    return value


def _value(data: bytes, at: int) -> tuple[Any, int]:
    first, at = data[at], at + 1
    if first < 0x80 or first >= 0xE0:
        return first - 0x100 * (first >= 0xE0), at
    if first in _CONSTANTS:
        return _CONSTANTS[first], at
    if first in _NUMBERS:
        size = struct.calcsize(_NUMBERS[first])
        return struct.unpack_from(_NUMBERS[first], data, at)[0], at + size
    if first in _LENGTHS:
        form, kind = _LENGTHS[first]
        return _several(data, at + struct.calcsize(form), struct.unpack_from(form, data, at)[0], kind)
    for mask, pattern, length, kind in _SHORT:
        if first & mask == pattern:
            return _several(data, at, first & length, kind)
    raise ValueError(f"unknown byte {first:#x} at {at - 1}")


def _several(data: bytes, at: int, number: int, kind: str) -> tuple[Any, int]:
    if kind == "text":
        return data[at : at + number].decode("utf-8", "backslashreplace"), at + number
    if kind == "bytes":
        return data[at : at + number].hex(), at + number
    values = []
    for _ in range(number * (2 if kind == "map" else 1)):
        value, at = _value(data, at)
        values.append(value)
    return (dict(zip(values[::2], values[1::2], strict=True)) if kind == "map" else values), at
