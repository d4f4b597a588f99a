"""Reads and writes ids, and the `traceparent` header of W3C Trace Context; the C forms are in `traceparent_c.pxd`.

https://www.w3.org/TR/trace-context/#traceparent-header
"""

from __future__ import annotations

import struct

_fromhex = bytes.fromhex
# The version, the trace id in two halves, the span id and the flags.
_unpack = struct.Struct(">BQQQB").unpack
_MOST_DIGITS = 32
_MOST_FLAGS = 255
_TWO_DIGITS = tuple(f"{flags:02x}" for flags in range(256))


def read_traceparent(header: str) -> tuple[int, int, int] | None:
    """Trace id, span id and flags of a header of 55 characters; None if it is invalid or not of version 00."""
    if not header[2] == header[35] == header[52] == "-" or header.lower() != header:
        return None
    try:
        # `fromhex` allows spaces between octets. With 26 octets in 55 characters, there are no other spaces.
        version, high, low, span_id, flags = _unpack(_fromhex(header.replace("-", " ")))
    except (ValueError, struct.error) as error:
        _raise_others(error)
        return None
    if not span_id or version or not (high or low):
        return None
    return high << 64 | low, span_id, flags


def write_traceparent(trace_id: int, span_id: int, flags: int) -> str | None:
    """The header of version 00; None if a number is negative or too large."""
    if not 0 <= flags <= _MOST_FLAGS:
        return None
    try:
        # Three times faster than formatting the numbers.
        return f"00-{trace_id.to_bytes(16, 'big').hex()}-{span_id.to_bytes(8, 'big').hex()}-{_TWO_DIGITS[flags]}"
    except OverflowError:
        return None


def read_hexadecimal(text: str) -> int | None:
    """The number that at most 32 hexadecimal digits of ASCII state; None if the text has others, or none."""
    # `int` accepts digits of other scripts, and a prefix, too.
    if len(text) > _MOST_DIGITS or not (text.isalnum() and text.isascii()) or "x" in text or "X" in text:
        return None
    try:
        return int(text, 16)
    except ValueError as error:
        _raise_others(error)
        return None


def write_hexadecimal(number: int, digits: int) -> str:
    """At least so many hexadecimal digits, which is an even number."""
    try:
        return number.to_bytes(digits >> 1, "big").hex()
    except OverflowError:
        return f"{number:0{digits}x}"


def _raise_others(error: Exception) -> None:
    """Raise the exception again if a signal handler raised it, or another thread, instead of the function called."""
    if error.__traceback__ is None or error.__traceback__.tb_next is not None or not error.args:
        raise error
