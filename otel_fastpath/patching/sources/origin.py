"""Which module the code in the place of an attribute comes from."""

from __future__ import annotations

import functools
from types import FunctionType, MethodType
from typing import Any

from otel_fastpath.patching import faults


def origin(value: Any) -> str:
    """The module of a function or other callable; that of the wrapper if it is one.

    A wrapper shows `__module__` and other attributes of the function that it wraps, so they are not read from it.
    """
    try:
        for _ in range(100):
            inner = _inner(value)
            if inner is None:
                break
            value = inner
        # Compiled functions have this, too.
        named = value.__globals__.get("__name__") if _has_globals(value) else None
        return str(named or type(value).__module__)
    except Exception as error:  # an object may raise anything when it is looked at
        faults.raise_interruption(error)
        return "an unknown module"


def _has_globals(value: Any) -> bool:
    return type(value) is FunctionType or hasattr(type(value), "__globals__")


def _inner(value: Any) -> Any:
    """What a descriptor, method, partial or wrapper object of wrapt calls first; None for anything else."""
    if isinstance(value, functools.partial):
        return value.func
    if type(value) is MethodType or isinstance(value, (staticmethod, classmethod)):
        return value.__func__
    if isinstance(value, property):
        return value.fget
    return value._self_wrapper if hasattr(type(value), "_self_wrapper") else None
