"""One patch of one module, which each test writes anew."""

from __future__ import annotations

import functools

SUBJECT = """
    def function():
        return "plain"

    class Class:
        def method(self):
            return "plain"
    """
INSTALLED = {"subject": [("1.5", "/here")]}


def louder(original, _settings=None):
    """A replacement that adds an exclamation mark."""
    return functools.wraps(original)(lambda *args: original(*args) + "!")


def state(patcher):
    """State and reason of the one patch."""
    (row,) = patcher.status()
    return row.state, row.reason
