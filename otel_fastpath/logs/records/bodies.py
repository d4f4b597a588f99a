"""Copies of log records' bodies: what is logged may change before it is exported."""

from __future__ import annotations

from typing import Any, Final

_CONTAINERS: Final = frozenset({dict, list, tuple})
# Deeper bodies are not copied: they cannot be encoded either.
_DEEPEST: Final = 24


def copied(body: Any) -> Any:
    """The body with its dicts and lists copied."""
    if type(body) not in _CONTAINERS:
        return body
    return _copied(body, {}, 0)


def _copied(body: Any, known: dict[int, Any], depth: int) -> Any:
    """A copy.

    Args:
        body: The body, or a part of it.
        known: The copies so far by the ids of the originals. A body may contain itself, or the same part many times.
        depth: How deep in the body this is.
    """
    kind = type(body)
    if kind not in _CONTAINERS or depth > _DEEPEST:
        return body
    found = known.get(id(body))
    if found is not None:
        return found
    if kind is dict:
        made = known[id(body)] = {}
        for key, value in body.copy().items():
            made[key] = _copied(value, known, depth + 1)
        return made
    items: list[Any] = []
    if kind is list:
        known[id(body)] = items
    for value in tuple(body):
        items.append(_copied(value, known, depth + 1))  # noqa: PERF401  # it may contain itself
    if kind is tuple:
        items = known[id(body)] = tuple(items)  # type: ignore[assignment]  # a tuple for a tuple
    return items
