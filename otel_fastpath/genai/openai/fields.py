"""Reading what the client returns: pydantic models, plain dicts, or neither."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

from otel_fastpath.genai.openai.reading.models import field

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["Loose", "field", "items", "kind_of", "text", "tolerant", "whole"]


class Loose:
    """A model or dict in which every missing field is None, also in everything nested in it."""

    __slots__ = ("_own",)

    def __init__(self, own: Any) -> None:
        self._own = own

    def __getattr__(self, name: str) -> Any:
        return _loose(field(self._own, name))


def _loose(value: Any) -> Any:
    if type(value) is list:
        # Also for values that should be models but are not.
        return [Loose(each) for each in value]
    return Loose(value) if type(value) is dict or hasattr(value, "__dict__") else value


def tolerant(read: Callable[[Any, dict[str, Any]], None]) -> Callable[[Any, dict[str, Any]], None]:
    """Let a reader use plain attribute access, which is cheapest; a model that lacks one is read as `Loose`."""

    @functools.wraps(read)
    def reader(holder: Any, attributes: dict[str, Any]) -> None:
        if type(holder) is not dict:
            try:
                read(holder, attributes)
            except AttributeError:
                pass
            else:
                return
        read(Loose(holder), attributes)

    return reader


def items(value: Any) -> Any:
    """The value if it is a list or tuple, else nothing: iterating over another type might consume it."""
    return value if isinstance(value, list | tuple) else ()


def text(value: Any) -> str | None:
    """The value if it is a string."""
    return value if isinstance(value, str) else None


def kind_of(item: Any) -> str | None:
    """The `type` of an item: None if missing, and "" if it is not a string, as it is used as a dict key."""
    kind = field(item, "type")
    return kind if kind is None or isinstance(kind, str) else ""


def whole(value: Any) -> int | None:
    """The value if it is an integer, and not a boolean."""
    return value if isinstance(value, int) and not isinstance(value, bool) else None
