"""Reading what the client hands out: pydantic models, plain dicts, or neither."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def field(holder: Any, name: str) -> Any:
    """The attribute of a model or the entry of a mapping; None where there is none."""
    if isinstance(holder, Mapping):
        return holder.get(name)
    return getattr(holder, name, None)


def items(value: Any) -> Any:
    """The value where it is a list or tuple, else nothing: whatever else can be iterated may be used up by it."""
    return value if isinstance(value, list | tuple) else ()


def text(value: Any) -> str | None:
    """The value where it is a string."""
    return value if isinstance(value, str) else None


def whole(value: Any) -> int | None:
    """The value where it is a whole number, and not a boolean."""
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def number(value: Any) -> float | None:
    """The value as a float where it is a number, and not a boolean."""
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None
