"""The counters never set, replace, keep or visibly change an exception of the user's."""

from __future__ import annotations

import contextlib
import copy
import ctypes
import pickle
import sys
import traceback
import weakref

import pytest

MODES = ("raised", "handled")
# Where the padding begins: the last field that all exceptions share is one byte at the end of BaseException's struct.
PADDING = BaseException.__basicsize__ - 7


@pytest.fixture(params=MODES)
def counting(request, start):
    """Count, in each mode."""
    start(mode=request.param, code=True)


def raised(counters, name):
    """How many of this type."""
    return sum(count.raised for count in counters.snapshot() if count.type == name)


def error_of(function):
    """What a function raises."""
    try:
        function()
    except Exception as error:  # whatever it is
        return error
    raise AssertionError


def chain():
    """Raise an exception with cause, context and notes."""
    try:
        {}["k"]
    except KeyError as error:
        late = ValueError("late", 1)
        late.add_note("note")
        raise late from error


def look(error):
    """What anybody can see of an exception."""
    return (
        type(error),
        error.args,
        vars(error),
        repr(error.__cause__),
        repr(error.__context__),
        error.__suppress_context__,
        traceback.format_exception(error),
        sys.getsizeof(error),
    )


def test_an_exception_looks_the_same(start):
    """Counted or not, an exception has the same traceback, chain, attributes and size."""
    without = look(error_of(chain))
    start(mode="handled")
    assert look(error_of(chain)) == without


@pytest.mark.parametrize("value", [True, False])
@pytest.mark.usefixtures("counting")
def test_suppress_context_is_free_to_change(value):
    """The mark lies beside this field, and neither disturbs the other."""
    error = error_of(chain)
    error.__suppress_context__ = value
    assert error.__suppress_context__ is value
    again = error_of(lambda: (_ for _ in ()).throw(error))
    assert again is error
    assert error.__suppress_context__ is value


@pytest.mark.usefixtures("counting")
def test_copies_are_new(counters):
    """The mark is not copied: a copy that is raised is another exception."""
    error = error_of(chain)
    for other in (copy.copy(error), copy.deepcopy(error), pickle.loads(pickle.dumps(error))):  # noqa: S301  # our own
        assert error_of(lambda other=other: (_ for _ in ()).throw(other)) is other
    assert raised(counters, "ValueError") == 4


@pytest.mark.usefixtures("counting")
def test_a_freed_exceptions_place_is_new(counters):
    """An exception at the address of an earlier one is not taken for it."""
    for _ in range(1000):
        error_of(lambda: int("x"))
    assert raised(counters, "ValueError") == 1000


@pytest.mark.parametrize(
    "kind",
    [
        kind
        for kind in vars(__import__("builtins")).values()
        if isinstance(kind, type) and issubclass(kind, Exception) and not issubclass(kind, Warning)
    ],
)
@pytest.mark.usefixtures("counting")
def test_every_builtin_exception_is_counted_each_time(counters, kind):
    """No type of the interpreter's own hands out used memory with a mark in it."""
    arguments = {
        "UnicodeDecodeError": ("utf-8", b"x", 0, 1, "why"),
        "UnicodeEncodeError": ("utf-8", "x", 0, 1, "why"),
        "UnicodeTranslateError": ("x", 0, 1, "why"),
        "ExceptionGroup": ("group", [ValueError()]),
        "BaseExceptionGroup": ("group", [ValueError()]),
    }.get(kind.__name__, ())

    def fail():
        raise kind(*arguments)

    name = "ExceptionGroup" if kind.__name__ == "BaseExceptionGroup" else kind.__name__
    before = raised(counters, name)
    for _ in range(50):
        error_of(fail)
    expected = 0 if issubclass(kind, (StopIteration, StopAsyncIteration)) else 50
    assert raised(counters, name) - before == expected


@pytest.mark.usefixtures("counting")
def test_padding_that_is_not_ours_is_left_alone(counters):
    """If somebody else keeps something there, the exception is told apart by its traceback."""
    error = ValueError("theirs")
    ctypes.memset(id(error) + PADDING, 0x55, 7)

    def fail():
        raise error

    for _ in range(3):
        error_of(fail)
    assert ctypes.string_at(id(error) + PADDING, 7) == b"\x55" * 7
    assert raised(counters, "ValueError") == 1


@pytest.mark.usefixtures("counting")
def test_nothing_is_kept_alive():
    """An exception, and what its frames hold, goes when its last user lets go."""

    class Value:
        pass

    def fail():
        value = Value()
        refs.append(weakref.ref(value))
        raise ValueError(value)

    refs = []
    with contextlib.suppress(ValueError):
        fail()
    assert refs[0]() is None


@pytest.mark.usefixtures("counting")
def test_reference_counts_stay():
    """Nothing leaks a reference: neither the exception, nor its type, nor the code."""

    class OneError(Exception):
        pass

    def fail():
        raise OneError

    error_of(fail)
    before = sys.getrefcount(OneError), sys.getrefcount(fail.__code__), sys.getrefcount(None)
    for _ in range(100):
        error_of(fail)
    after = sys.getrefcount(OneError), sys.getrefcount(fail.__code__), sys.getrefcount(None)
    assert after == before


def test_at_the_recursion_limit_the_users_exception_comes_through(run_python):
    """Where no call is possible any more, the callback still is, and puts nothing in the exception's place."""
    found = run_python("""
        import json, sys
        from otel_fastpath import exceptions

        class Deep:
            def __init__(self, inner): self.inner = inner
            def __repr__(self):
                try:
                    return repr(self.inner)
                except RecursionError:
                    raise OwnError from None

        class OwnError(Exception): pass

        def down():
            down()

        def outcome(call):
            try:
                call()
            except Exception as error:
                return type(error).__name__
            return "nothing"

        deep = None
        for _ in range(100_000):
            deep = [deep]
        calls = [down, lambda: repr(deep), lambda: json.dumps(deep)]
        without = [outcome(call) for call in calls]
        exceptions.start(exceptions.Settings(mode="handled"))
        print(without == [outcome(call) for call in calls], {c.type: c.raised for c in exceptions.snapshot()})
        # Freed level by level: the interpreter's own limit of nesting is not the subject here.
        while deep: deep = deep.pop()
    """)
    assert found == "True {'RecursionError': 3}"


class _Refusing(type):
    """Some of what every class has is an error here."""

    def __getattribute__(cls, name):
        if name in {"__module__", "__qualname__", "__mro__", "__dict__"}:
            raise LookupError(name)
        return super().__getattribute__(name)


class _Unhashable(type):
    __hash__ = None


class _Incomparable(type):
    def __hash__(cls):
        return 0

    def __eq__(cls, other):
        raise LookupError


class _RefusingError(Exception):
    def __getattribute__(self, name):
        raise LookupError(name)


@pytest.mark.parametrize("core", ["c", "py"])
@pytest.mark.parametrize(
    "kind",
    [
        _Refusing("OddError", (Exception,), {"__module__": "odd"}),
        _Unhashable("OddError", (Exception,), {"__module__": "odd"}),
        _Incomparable("OddError", (Exception,), {"__module__": "odd"}),
        type("OddError", (_RefusingError,), {"__module__": "odd"}),
    ],
)
def test_no_code_of_the_class_is_called(counters, start, core, kind):
    """An error in it would take the place of the user's exception."""
    error = kind("theirs")

    def fail():
        raise error

    assert start(core, python=True)
    assert error_of(fail) is error
    assert raised(counters, "odd.OddError") == 1


@pytest.mark.parametrize("core", ["c", "py"])
@pytest.mark.parametrize("fields", [{"__module__": None}, {"__module__": 3}, {}])
def test_a_class_without_a_module_has_its_own_name(counters, start, core, fields):
    """Its module is no text, or it is made in code that has none."""
    kind = eval("type('OddError', (Exception,), fields)", {"fields": fields})  # noqa: S307  # the subject
    assert start(core, python=True)
    error_of(lambda: (_ for _ in ()).throw(kind))
    assert raised(counters, "OddError") == 1


def test_callbacks_can_be_called_with_anything():
    """Whoever finds the callbacks and calls them by hand gets None, not a crash."""
    excmon = pytest.importorskip("otel_fastpath.exceptions.callbacks_c")
    for callback in (excmon.on_raise, excmon.on_reraise, excmon.on_handled):
        for arguments in ((), (1,), (1, 2, 3), (None, None, ValueError()), (compile("1", "", "eval"), "x", KeyError())):
            assert callback(*arguments) is None
        with pytest.raises(TypeError):
            type(callback)()


@pytest.mark.parametrize(
    "arguments",
    [
        (),
        (70_000, frozenset(), (), True, False, True),
        (1, set(), (), True, False, True),
        (1, frozenset(), ((1, 2),), True, False, True),
        (1, frozenset(), (("", True),), True, False, True),
        (1, frozenset(), (("\udcff", True),), True, False, True),
    ],
)
def test_wrong_settings_are_errors(arguments):
    """The compiled module checks what it is given."""
    excmon = pytest.importorskip("otel_fastpath.exceptions.callbacks_c")
    with pytest.raises((TypeError, ValueError)):
        excmon.configure(*arguments)
    with pytest.raises(TypeError):
        excmon.watch(1)
    with pytest.raises(TypeError):
        excmon.Operation(1)
