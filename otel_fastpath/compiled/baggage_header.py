"""Reads and writes the `baggage` header (https://www.w3.org/TR/baggage/); the C forms are in `baggage_header_c.pxd`.

Only what is usual: what W3C's limits leave out, and each entry that stock would warn about, is left to stock. So are
spaces within an entry, which some releases of stock refuse.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final
from urllib.parse import quote_plus, unquote_plus

if TYPE_CHECKING:
    from collections.abc import Mapping

_KEY: Final = r"[\x21\x23-\x27\x2a\x2b\x2d\x2e\x30-\x39\x41-\x5a\x5e-\x7a\x7c\x7e]+"
_VALUE: Final = r"[\x21\x23-\x2b\x2d-\x3a\x3c-\x5b\x5d-\x7e]*"
_PAIR: Final = rf"{_KEY}={_VALUE}(?:;{_KEY}(?:={_VALUE})?)*"
_has_plain_pairs = re.compile(rf"{_PAIR}(?:[ \t]*,[ \t]*{_PAIR})*").fullmatch
_is_safe_header = re.compile(r"[A-Za-z0-9_.~=, -]*").fullmatch
_find_entry = re.compile(rf"({_KEY})=({_VALUE}(?:;{_KEY}(?:={_VALUE})?)*)(?:[ \t]*,[ \t]*|\Z)").match
_find_delimiter = re.compile(r",[ \t]*").match
_is_safe = re.compile(r"[A-Za-z0-9_.~-]*").fullmatch
_ESCAPES: Final = tuple(quote_plus(chr(code)) for code in range(128))
# Values that have the same text wherever they are: it is not up to code of others.
_PLAIN: Final = frozenset({str, int, bool, float, type(None)})
_TEXTS: Final = {str}
_MOST_PAIRS: Final = 180
_LONGEST_PAIR: Final = 4096
_LONGEST: Final = 8192
# Of an int: Python refuses to write a longer one, or takes its time.
_MOST_BITS: Final = 63


def write_baggage(entries: Mapping[object, object]) -> str | None:
    """The header of these entries; None: a limit leaves out one of them, or it is no plain text or number."""
    if len(entries) > _MOST_PAIRS:
        return None
    if {*map(type, entries), *map(type, entries.values())} == _TEXTS:
        # Most have nothing to escape but spaces. Of the characters that join them, there are more if others have them.
        header = ",".join([f"{key}={value}" for key, value in entries.items()])
        if (
            len(header) <= _LONGEST_PAIR
            and _is_safe_header(header)
            and header.count("=") == len(entries) == header.count(",") + 1
        ):
            return header.replace(" ", "+")
    return _write_each(entries)


def _write_each(entries: Mapping[object, object]) -> str | None:
    pairs = []
    left = _LONGEST + 1
    for key, value in entries.items():
        kind = type(value)
        if type(key) is not str or kind not in _PLAIN or (kind is int and value.bit_length() > _MOST_BITS):  # type: ignore[attr-defined]  # an int
            return None
        text = str(value)
        if len(key) + len(text) > left:
            return None
        try:
            pair = f"{key if _is_safe(key) else _escape(key)}={text if _is_safe(text) else _escape(text)}"
        except UnicodeEncodeError:
            return None
        left -= len(pair) + 1
        if left < 0 or len(pair) > _LONGEST_PAIR:
            return None
        pairs.append(pair)
    return ",".join(pairs)


def _escape(text: str) -> str:
    return text.translate(_ESCAPES) if text.isascii() else quote_plus(text)


def read_baggage(header: str, entries: dict[str, object]) -> int:
    """Add the entries of a header of ASCII to these.

    Returns:
        Where the first entry begins that is left to stock, with those after it; -1: there is none.
    """
    at = 0
    if "%" not in header and len(header) <= _LONGEST_PAIR and _has_plain_pairs(header):
        text = header.replace("+", " ")
        for pair in text.split(","):
            key, _, value = pair.partition("=")
            entries[key.strip()] = value.strip()
        return -1
    while at < len(header):
        found = _find_entry(header, at)
        if found is None:
            found = _find_delimiter(header, at)
            if found is None:
                return at
        else:
            if found.end(2) - at > _LONGEST_PAIR:
                return at
            key, value = found.groups()
            entries[_unescape(key)] = _unescape(value)
        at = found.end()
    return -1


def _unescape(text: str) -> str:
    return unquote_plus(text).strip() if "%" in text or "+" in text else text
