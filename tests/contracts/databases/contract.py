"""What the suites for database libraries share."""

from __future__ import annotations

import inspect

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
    # Argument of a test -> the table whose items it takes in turn.
    parameters = {
        "raised": "raising",
        "saboteur": "raised",
        "difference": "differences",
        "variant": "variants",
    }
    # Tests that a library without such a table does not have.
    needs = {
        "test_a_fault_of_ours_is_logged_at_most_thrice": "read",
        "test_an_exception_is_the_very_same": "raising",
        "test_what_is_meant_to_differ_differs": "differences",
        "test_an_error_has_no_row_in_its_status": "violation",
        "test_comments_carry_the_trace": "comments",
    }

    def __init_subclass__(cls, **kwargs):  # noqa: D105
        super().__init_subclass__(**kwargs)
        for test, table in cls.needs.items():
            if hasattr(cls, test) and cls.__name__.startswith("Test") and not getattr(cls, table):
                setattr(cls, test, None)

    def pytest_generate_tests(self, metafunc):
        """Take the parameters from the attributes."""
        for argument, table in self.parameters.items():
            if argument in metafunc.fixturenames:
                metafunc.parametrize(argument, getattr(self, table))

    async def ask_everything(self, connection, names=None):
        """Each entry once: what came of it must be the library's own."""
        before = context.get_current()
        for name in names or self.entries:
            entry, expected = self.entries[name]
            assert (name, await wait(entry(connection))) == (name, expected)
            assert context.get_current() is before, name
