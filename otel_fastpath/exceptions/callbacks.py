"""The callbacks in Python, used only on request; they have the same interface as the compiled `callbacks_c`.

Python code cannot mark an exception as counted, so each RAISE event is judged by the traceback (docs/exceptions.md
lists the cases that this gets wrong), and handled exceptions cannot be counted.
"""

from __future__ import annotations

import inspect
import sys
from typing import TYPE_CHECKING, Any, Final

from otel_fastpath.exceptions import files
from otel_fastpath.exceptions.defaults import LONGEST_FILE_NAME, LONGEST_NAME

if TYPE_CHECKING:
    from contextvars import ContextVar
    from types import CodeType, TracebackType

_OPTIMIZED: Final = inspect.CO_OPTIMIZED | inspect.CO_NEWLOCALS
_MAX_SITES: Final = 2048
_MAX_TYPES: Final = 1024
# Not as attributes: a class or its metaclass may define what reading them does.
_module_of: Final = type.__dict__["__module__"].__get__
_name_of: Final = type.__dict__["__qualname__"].__get__
_bases_of: Final = type.__dict__["__mro__"].__get__
_traceback_of: Final = BaseException.__dict__["__traceback__"].__get__


class Operation:
    """Counts the exceptions raised while it, or an operation inside it, is the current operation."""

    __slots__ = ("closed", "count", "outer")

    def __init__(self, outer: Operation | None = None) -> None:
        self.outer = outer
        self.count = 0
        self.closed = False


class _CountRow:
    __slots__ = ("name", "raised")

    def __init__(self, name: str | None) -> None:
        self.name = name
        self.raised = 0


_other = _CountRow(None)
_rows: dict[str, _CountRow] = {}
# By the id of the type, which is kept with it; a metaclass may define hashes. None: the type is not counted.
_types: dict[int, tuple[type, _CountRow | None]] = {}
_sites: dict[tuple[_CountRow, CodeType, int], list[int]] = {}
_limit = 0
_skip: frozenset[str] = frozenset()
_filters: files.Filters = ()
_counted_by_default = True
_with_sites = False
_variable: ContextVar[Any] | None = None


def configure(  # the compiled callbacks' interface
    limit: int,
    skip: frozenset[str],
    filters: files.Filters,
    counted_by_default: bool,
    by_site: bool,
    marks: bool,  # noqa: ARG001  # likewise
    /,
) -> None:
    """Set what is counted, before the callbacks are registered."""
    global _limit, _skip, _filters, _counted_by_default, _with_sites
    _limit, _skip, _filters, _counted_by_default, _with_sites = limit, skip, filters, counted_by_default, by_site
    _types.clear()


def watch(variable: ContextVar[Any] | None, /) -> None:
    """Count in the `Operation` that this context variable holds; None to stop."""
    global _variable
    _variable = variable


def counts() -> list[tuple[str | None, int, int, bool]]:
    """(name, raised, handled, markable) per type name; the name is None for the types beyond the limit."""
    return [(row.name, row.raised, 0, False) for row in (_other, *_rows.values())]


def site_counts() -> list[tuple[str | None, CodeType, int, int]]:
    """(name, code, instruction offset, raised) per raise site."""
    return [(row.name, code, offset, count[0]) for (row, code, offset), count in tuple(_sites.items())]


def reset() -> None:
    """Set all counts to zero."""
    for row in (_other, *_rows.values()):
        row.raised = 0
    _sites.clear()


def on_raise(code: CodeType, offset: int, exception: BaseException, /) -> None:
    """The callback of RAISE.

    It calls no code of the application, which could raise. It catches no exceptions: a signal handler can run here, and
    what that raises is the application's.
    """
    kind = type(exception)
    known = _types.get(id(kind))
    row = _learn(kind) if known is None else known[1]
    if row is None or not _is_first(code, exception):
        return
    row.raised += 1
    if _with_sites:
        count = _sites.get((row, code, offset))
        if count is not None:
            count[0] += 1
        elif len(_sites) < _MAX_SITES and _has_short_names(code):
            _sites[row, code, offset] = [1]
    if _variable is not None:
        operation = _variable.get(None)
        while operation is not None:
            operation.count += 1
            operation = operation.outer


def on_reraise(code: CodeType, offset: int, exception: BaseException, /) -> None:
    """The callback of RERAISE: not used here."""


def on_handled(code: CodeType, offset: int, exception: BaseException, /) -> None:
    """The callback of EXCEPTION_HANDLED: not used here."""


def _name(kind: type) -> str:
    name: str = _name_of(kind)
    try:
        module = _module_of(kind)
    except AttributeError:
        # Made by `type()` in code without a module.
        return name
    return name if module == "builtins" or not isinstance(module, str) else f"{module}.{name}"


def _learn(kind: type) -> _CountRow | None:
    row: _CountRow | None = None
    name = _name(kind)
    is_skipped = any(_name(base) in _skip for base in _bases_of(kind))
    if len(name) > LONGEST_NAME:
        # Such a class is not kept in `_types`.
        return None if is_skipped else _other
    if not is_skipped:
        row = _rows.get(name)
        if row is None:
            row = _rows.setdefault(name, _CountRow(name)) if len(_rows) < _limit else _other
    if len(_types) >= _MAX_TYPES:
        _types.clear()
    _types[id(kind)] = kind, row
    return row


def _has_short_names(code: CodeType) -> bool:
    name: str = getattr(code, "co_qualname", code.co_name)  # since 3.11
    return len(code.co_filename) <= LONGEST_FILE_NAME and len(name) <= LONGEST_NAME


def _counts_in(code: CodeType) -> bool:
    name = code.co_filename
    return not name.startswith("<frozen ") and (not _filters or files.counts(name, _filters, _counted_by_default))


def _is_synthetic(code: CodeType) -> bool:
    """Whether the code was never executed, but made for a traceback by Cython, mypyc or pyexpat."""
    return not (code.co_flags & _OPTIMIZED) and code.co_stacksize == 1 and not code.co_names and not code.co_consts


def _is_first(code: CodeType, exception: BaseException) -> bool:
    """Whether this is the first RAISE of the exception; as `is_first_by_traceback` of the compiled callbacks."""
    traceback = _traceback_of(exception)
    if traceback is None or not _counts_in(code):
        return False
    behind: TracebackType | None = traceback.tb_next
    handled = sys.exception() if sys.version_info >= (3, 12) else None
    if handled is not None:
        if handled is exception:
            return False
        if behind is not None and behind is _traceback_of(handled):
            return True
    while behind is not None:
        passed = behind.tb_frame.f_code
        if _counts_in(passed) and not _is_synthetic(passed):
            return False
        behind = behind.tb_next
    return traceback.tb_frame.f_code is code
