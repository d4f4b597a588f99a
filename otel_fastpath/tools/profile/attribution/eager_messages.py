"""Where a message is formatted before `logging` is called: `logger.debug(f"...")` costs as much where the level is off.

No package can defer that, because Python computes arguments before a call. So the profile names the lines.
"""

from __future__ import annotations

import ast
import functools
from collections import defaultdict
from pathlib import Path
from typing import TYPE_CHECKING, Final

from otel_fastpath.tools.profile.syntax_trees import tree_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from otel_fastpath.tools.profile.attribution.owners import Frame
    from otel_fastpath.tools.profile.attribution.samples import Sample

# The methods of a logger, and the position of the message among their arguments.
_METHODS: Final = {
    **dict.fromkeys(("debug", "info", "warning", "error", "critical", "exception"), 0),
    "log": 1,
}


def formatted_early(found: Iterable[Sample]) -> dict[str, float]:
    """The lines that format messages, such as "app.py:12, `debug`" -> CPU time in seconds.

    Args:
        found: The samples.
    """
    seconds: defaultdict[str, float] = defaultdict(float)
    for sample in found:
        place = None if sample.is_telemetry else _place(sample.stack)
        if place is not None:
            seconds[place] += sample.seconds
    return dict(seconds)


def _place(stack: Sequence[Frame]) -> str | None:
    """The innermost frame of a stack that formats a message, if the stack is not in `logging` by then."""
    for frame in reversed(stack):
        if frame.module.partition(".")[0] == "logging":
            return None
        for first, last, method in _messages(frame.file):
            if first <= frame.line <= last:
                return f"{Path(frame.file).name}:{first}, `{method}`"
    return None


@functools.lru_cache(maxsize=512)
def _messages(file: str) -> tuple[tuple[int, int, str], ...]:
    """The first and the last line of each message that is formatted before the call, and the method."""
    return tuple(_calls(tree_of(file)))


def _calls(tree: ast.AST) -> Iterator[tuple[int, int, str]]:
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
            continue
        method, position = node.func.attr, _METHODS.get(node.func.attr)
        if position is None or len(node.args) <= position or not _is_logger(node.func.value):
            continue
        message = node.args[position]
        if _is_formatted(message):
            yield message.lineno, message.end_lineno or message.lineno, method


def _is_logger(node: ast.expr) -> bool:
    """Whether an expression is a logger by its name: `logging`, `logger`, `self._log`, `getLogger()`."""
    if isinstance(node, ast.Call):
        node = node.func
    name = node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "")
    return "log" in name.lower()


def _is_formatted(message: ast.expr) -> bool:
    """Whether it is an f-string with values, a `%` or `+` of a text, or a text's `format`."""
    if isinstance(message, ast.JoinedStr):
        return any(isinstance(part, ast.FormattedValue) for part in message.values)
    if isinstance(message, ast.BinOp) and isinstance(message.op, ast.Mod | ast.Add):
        return any(_is_text(side) for side in (message.left, message.right))
    is_method = isinstance(message, ast.Call) and isinstance(message.func, ast.Attribute)
    return is_method and message.func.attr == "format" and _is_text(message.func.value)  # type: ignore[attr-defined]  # an attribute


def _is_text(node: ast.expr) -> bool:
    if isinstance(node, ast.BinOp):
        return _is_text(node.left) or _is_text(node.right)
    return isinstance(node, ast.JoinedStr) or (isinstance(node, ast.Constant) and isinstance(node.value, str))
