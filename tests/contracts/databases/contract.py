"""What the suites for database libraries share."""

from __future__ import annotations

import inspect
from types import FunctionType

import pytest
from opentelemetry import context


async def wait(value):
    """The result of a call of either kind."""
    return await value if inspect.isawaitable(value) else value


def by_hand(value):
    """The result of what may be a coroutine, which never waits."""
    if not inspect.iscoroutine(value):
        return value
    try:
        value.send(None)
    except StopIteration as end:
        return end.value
    value.close()
    raise AssertionError("it waited")


def type_of(error):
    """The `error.type` of an exception without a code."""
    return error.__qualname__ if error.__module__ == "builtins" else f"{error.__module__}.{error.__qualname__}"


class Contract:
    """What all suites need.

    Attributes:
        entries: Name -> what is done, what it gives.
        asked: Queries; the first is the one that raises what the library raises.
        options: Those with which telemetry does most.
        quiet: Those with which only queries have spans.
    """

    entries = {}
    asked = []
    options = ""
    quiet = ""
    # Of each suite: the test, its arguments, their values for a subclass, and which of them are fixtures.
    cases = ()
    # Tests that a library without such a table does not have.
    needs = {
        "test_an_error_is_recorded": "errors",
        "test_a_fault_of_ours_is_logged_at_most_thrice": "read",
        "test_an_exception_is_the_very_same": "raising",
        "test_what_is_meant_to_differ_differs": "differences",
        "test_an_error_has_no_row_in_its_status": "violation",
        "test_comments_carry_the_trace": "comments",
    }

    def __init_subclass__(cls, **kwargs):
        """Give the tests of a library the values of its tables."""
        super().__init_subclass__(**kwargs)
        if not cls.__name__.startswith("Test"):
            return
        for suite in cls.__mro__:
            for name, arguments, values, indirect in vars(suite).get("cases", ()):
                test = getattr(cls, name)
                copy = FunctionType(test.__code__, test.__globals__, name, test.__defaults__, test.__closure__)
                mark = pytest.mark.parametrize(arguments, values(cls), indirect=indirect).mark
                copy.pytestmark = [*getattr(test, "pytestmark", ()), mark]
                setattr(cls, name, copy)
        needs = {name: table for suite in cls.__mro__ for name, table in vars(suite).get("needs", {}).items()}
        for name, table in needs.items():
            if hasattr(cls, name) and not getattr(cls, table):
                setattr(cls, name, None)

    async def ask_everything(self, connection, names=None):
        """Each entry once: what came of it must be the library's own."""
        before = context.get_current()
        for name in names or self.entries:
            entry, expected = self.entries[name]
            assert (name, await wait(entry(connection))) == (name, expected)
            assert context.get_current() is before, name
