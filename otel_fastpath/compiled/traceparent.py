"""The `traceparent` header of W3C Trace Context, read and written; `traceparent_c.pxd` has the C forms.

https://www.w3.org/TR/trace-context/#traceparent-header
"""

from __future__ import annotations

import struct

_fromhex = bytes.fromhex
# A version, a trace id in two halves, a span id, the flags.
_unpack = struct.Struct(">BQQQB").unpack


def read_traceparent(header: str) -> tuple[int, int, int] | None:
    """Trace id, span id and flags of a header of 55 characters; None where it is not of version 00, or not valid."""
    if not header[2] == header[35] == header[52] == "-" or header.lower() != header:
        return None
    try:
        # It takes blanks between two octets. With 26 octets there is no other blank in so short a text.
        version, high, low, span_id, flags = _unpack(_fromhex(header.replace("-", " ")))
    except (ValueError, struct.error):
        return None
    if not span_id or version or not (high or low):
        return None
    return high << 64 | low, span_id, flags


def write_traceparent(trace_id: int, span_id: int, flags: int) -> str | None:
    """The header of version 00; None where a number has no place in it."""
    try:
        numbers = trace_id.to_bytes(16, "big"), span_id.to_bytes(8, "big"), flags.to_bytes(1, "big")
    except OverflowError:
        return None
    return f"00-{numbers[0].hex()}-{numbers[1].hex()}-{numbers[2].hex()}"
