"""Puts stock's own functions back in the places of this package's patches for a while."""

from __future__ import annotations

import inspect
import sys
from contextlib import contextmanager

from otel_fastpath.patching.sources.guard import owner_of


def place(target):
    """The class or module that has a target, and the name there."""
    return owner_of(sys.modules[target.partition(":")[0]], target)


def stored(target):
    """What is in this place, as it is stored."""
    owner, name = place(target)
    return inspect.getattr_static(owner, name)


@contextmanager
def stock_in_place(targets):
    """Stock's own functions are in these places meanwhile."""
    found = [(*place(target), stored(target)) for target in targets]
    for owner, name, function in found:
        is_static = isinstance(function, staticmethod)
        original = (function.__func__ if is_static else function).__wrapped__
        setattr(owner, name, staticmethod(original) if is_static else original)
    try:
        yield
    finally:
        for owner, name, function in found:
            setattr(owner, name, function)
