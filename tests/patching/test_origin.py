"""Whose code stands in the place of an attribute."""

from __future__ import annotations

import functools
import unittest.mock

import pytest
import wrapt

from otel_fastpath.patching.sources.origin import origin


def theirs(*args, **kwargs):
    """A function of this module."""
    return args, kwargs


@functools.wraps(functools.reduce)
def wrapped(*args, **kwargs):
    """One that looks like a function of another module."""
    return args, kwargs


class Callable:
    """One of its instances is a callable, too."""

    def __call__(self):
        """Do nothing."""

    method = theirs


class Angry:
    """An object that nobody may look at."""

    @property
    def __globals__(self):
        """Raise."""
        raise RuntimeError("no")


@pytest.mark.parametrize(
    ("value", "module"),
    [
        (theirs, __name__),
        (wrapped, __name__),
        (functools.partial(theirs, 1), __name__),
        (staticmethod(theirs), __name__),
        (property(theirs), __name__),
        (Callable().method, __name__),
        (Callable(), __name__),
        (wrapt.FunctionWrapper(functools.update_wrapper, theirs), __name__),
        (wrapt.FunctionWrapper(functools.update_wrapper, Callable().method), __name__),
        (functools.update_wrapper, "functools"),
        (unittest.mock.Mock(), "unittest.mock"),
        (len, "builtins"),
        (Angry(), "an unknown module"),
    ],
)
def test_the_module_is_that_of_the_code(value, module):
    """Not the one that a wrapper copied from the function that it wraps."""
    assert origin(value) == module
