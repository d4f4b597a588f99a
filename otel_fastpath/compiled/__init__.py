"""Selects the build of the hot modules. Importing them patches nothing: patches do that.

Each hot module exists twice from one source: `trace.spans.span` (plain Python) and `trace.spans.span_c` (the same file,
compiled with the C types of `trace/spans/span_c.pxd`). `choose()` decides once which of them is used.

The path of a span in `trace`: `tracer` (replaces the tracer's methods) -> `start` (parent, sampling, ids) -> `span`,
`events` (replace the span's methods) -> `ending` (the processors) -> `plan` (the queue). `scope` and `current_span`
make spans current. Our own wrappers use `tracer.start_span` and `start_as_current_span` like all other code: passing
the attributes as a dict at the start is the cheapest way, and if the span is not recorded, they are not read.
"""

from __future__ import annotations

import importlib
import logging
import os
import platform
import sys
from importlib.machinery import EXTENSION_SUFFIXES
from itertools import groupby
from typing import TYPE_CHECKING, Any

from otel_fastpath.compiled.hot import TWINS, forget

if TYPE_CHECKING:
    from types import ModuleType

_logger = logging.getLogger(__name__)

_PACKAGE = __name__.rpartition(".")[0]
_FOLDER = os.path.dirname(os.path.dirname(__file__))  # noqa: PTH120  # see `_missing`
COMPILED = "c"
PURE = "py"
# The command that the advice of a pure installation gives.
_REINSTALL = (
    "OTEL_FASTPATH_EXTENSION=require pip install --force-reinstall --no-deps --no-cache-dir "
    "--no-binary otel-fastpath otel-fastpath"
)

_chosen = ""
_why_not_compiled = ""
_loaded: dict[tuple[str, str], ModuleType] = {}


def choose(asked: str | None) -> None:
    """Decide which implementation `hot` has.

    Args:
        asked: "c" or "py" requires that implementation; None selects the compiled one if it is available.

    Raises:
        ImportError: The required implementation cannot be imported.
    """
    global _chosen, _why_not_compiled
    _chosen, _why_not_compiled = _decide(asked)
    forget()


def _decide(asked: str | None) -> tuple[str, str]:
    """The implementation, and why it is not the compiled one."""
    if asked == PURE:
        return PURE, "the pure core was asked for"
    try:
        missing = _missing()
        if missing:
            raise ModuleNotFoundError(_without(missing))
        # Check that compiled modules can be imported here, with the one that does not import the SDK.
        importlib.import_module(f"{_PACKAGE}.trace.context.scope_c")
    except ImportError as error:
        if asked == COMPILED:
            raise
        if not isinstance(error, ModuleNotFoundError):
            _logger.warning("The compiled core exists but cannot be imported (%s); the pure one is used.", error)
        return PURE, str(error)
    return COMPILED, ""


def _missing() -> list[str]:
    """The compiled modules that are not installed for this interpreter."""
    missing: list[str] = []
    # Listed, so that their packages are not imported for that.
    for folder, names in groupby(TWINS, lambda name: name.rpartition(".")[0]):
        try:
            files = set(os.listdir(os.path.join(_FOLDER, *folder.split("."))))  # noqa: PTH118, PTH208  # pathlib is slow
        except OSError:
            files = set()
        missing += [
            name
            for name in names
            if not any(f"{name.rpartition('.')[2]}{suffix}" in files for suffix in EXTENSION_SUFFIXES)
        ]
    return missing


def _without(missing: list[str]) -> str:
    if len(missing) < len(TWINS):
        return f"compiled modules are missing: {', '.join(missing)}"
    return f"this installation has no compiled modules for {_interpreter()}"


def _interpreter() -> str:
    return f"{platform.python_implementation()} {sys.version_info[0]}.{sys.version_info[1]}"


def advice() -> str:
    """What a user can do to get the compiled core, in plain words; empty if it is installed."""
    if is_compiled() or not _missing():
        return ""
    same = "The pure Python core emits the same telemetry as the compiled one and uses more CPU time for it."
    if sys.implementation.name != "cpython":
        return f"{same} The compiled core is available for CPython only."
    return (
        f"{same} This package was installed from a pure Python wheel, or was built without a C compiler or with "
        "OTEL_FASTPATH_EXTENSION=off. To get the compiled core, install a wheel for this platform, or install a C "
        f"compiler and the header files of {_interpreter()}, and run: {_REINSTALL}"
    )


def implementation() -> tuple[str, str]:
    """The implementation in use, "c" or "py", and why it is not the compiled one."""
    if not _chosen:
        choose(None)
    return _chosen, _why_not_compiled


def is_compiled(core: str | None = None) -> bool:
    """Whether the given implementation, or else the chosen one, is the compiled one."""
    return (core or implementation()[0]) == COMPILED


def load(name: str, core: str | None = None) -> Any:
    """The hot module of this name (e.g. "trace.spans.span"), in the given implementation or the chosen one.

    Code that uses one takes it from `hot`, where an editor and mypy find it.
    """
    found = _loaded.get((name, core or _chosen))
    if found is None:
        suffix = "_c" if is_compiled(core) else ""
        found = importlib.import_module(f"{_PACKAGE}.{name}{suffix}")
        _loaded[name, core or _chosen] = found
    return found
