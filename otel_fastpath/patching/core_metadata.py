"""Reads single fields of the core metadata of a distribution (PEP 566).

`importlib.metadata` has the email parser read all of METADATA, the description included, each time that it is asked for
one field: a million instructions, for a library that is about to be checked or counted.
"""

from __future__ import annotations

from typing import Any


def read_field(distribution: Any, name: str) -> list[str]:
    """The values of a field in their order, as `distribution.metadata.get_all` returns them.

    Args:
        distribution: An `importlib.metadata.Distribution`.
        name: Of the field, such as "Requires-Dist".

    Returns:
        None of them if one is longer than a line, which the field's own specification does not allow.
    """
    text = distribution.read_text("METADATA") or distribution.read_text("PKG-INFO") or ""
    wanted = name.lower()
    values: list[str] = []
    is_wanted = False
    for line in text.partition("\n\n")[0].split("\n"):
        if line.startswith((" ", "\t")):
            if is_wanted:
                return []
            continue
        field, colon, value = line.partition(":")
        # The email parser takes such a line for the first one of the description.
        if not colon or " " in field or not (field.isascii() and field.isprintable()):
            break
        is_wanted = field.lower() == wanted
        if is_wanted:
            values.append(value.lstrip(" \t"))
    return values
