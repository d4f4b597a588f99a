"""Raise, pass on, handle: one or a few frames."""

from __future__ import annotations

# ruff: noqa: B018, D101, D103, D105, FBT003, PT015, S102, SIM105, TRY201, TRY203, TRY301  # odd code is what this is about
import contextlib
import json
import signal
import sys
import warnings

from counting.scenario import scenario


@scenario({"ValueError": 1})
def same_frame():
    try:
        raise ValueError("x")
    except ValueError:
        pass


def through(frames):
    if frames == 0:
        raise ValueError("deep")
    through(frames - 1)


@scenario({"ValueError": 1})
def through_10():
    try:
        through(10)
    except ValueError:
        pass


@scenario({"ValueError": 1})
def by_c_function():
    try:
        int("x")
    except ValueError:
        pass


@scenario({"KeyError": 1})
def by_subscript():
    try:
        {}["k"]
    except KeyError:
        pass


@scenario({"ZeroDivisionError": 1})
def by_operator():
    try:
        1 // 0
    except ZeroDivisionError:
        pass


@scenario({"AssertionError": 1})
def by_assert():
    try:
        assert 0
    except AssertionError:
        pass


def failing_key(_):
    raise LookupError("key")


@scenario({"LookupError": 1})
def callback_of_sorted():
    try:
        sorted([1, 2], key=failing_key)
    except LookupError:
        pass


@scenario({"LookupError": 1})
def callback_of_map():
    try:
        list(map(failing_key, [1]))
    except LookupError:
        pass


@scenario({"ValueError": 1})
def c_function_in_map():
    try:
        list(map(int, ["x"]))
    except ValueError:
        pass


@scenario({"ValueError": 1})
def bare_raise():
    try:
        try:
            raise ValueError("x")
        except ValueError:
            raise
    except ValueError:
        pass


def passing_on():
    try:
        through(0)
    except ValueError:
        raise


@scenario({"ValueError": 1})
def bare_raise_of_callee():
    try:
        passing_on()
    except ValueError:
        pass


@scenario({"ValueError": 1})
def raise_by_name():
    try:
        try:
            raise ValueError("x")
        except ValueError as error:
            raise error
    except ValueError:
        pass


@scenario({"ValueError": 1, "RuntimeError": 1})
def raise_from():
    try:
        try:
            raise ValueError("x")
        except ValueError as error:
            raise RuntimeError("y") from error
    except RuntimeError:
        pass


@scenario({"ValueError": 1, "RuntimeError": 1})
def raise_from_none():
    try:
        try:
            raise ValueError("x")
        except ValueError:
            raise RuntimeError("y") from None
    except RuntimeError:
        pass


@scenario({"ValueError": 1})
def clauses_that_do_not_match():
    try:
        try:
            raise ValueError("x")
        except KeyError:
            pass
        except OSError:
            pass
    except ValueError:
        pass


@scenario({"ValueError": 1})
def try_finally():
    try:
        try:
            raise ValueError("x")
        finally:
            ""
    except ValueError:
        pass


def handles_another_in_finally():
    try:
        raise ValueError("x")
    finally:
        try:
            {}["k"]
        except KeyError:
            pass


@scenario({"ValueError": 1, "KeyError": 1})
def finally_with_another():
    try:
        handles_another_in_finally()
    except ValueError:
        pass


SWALLOWS_IN_FINALLY = """
def swallows_in_finally():
    try:
        raise ValueError("x")
    finally:
        return 1
"""


IN_FINALLY = {}
with warnings.catch_warnings():
    # Since Python 3.14 (PEP 765) the compiler warns.
    warnings.simplefilter("ignore", SyntaxWarning)
    exec(SWALLOWS_IN_FINALLY, IN_FINALLY)


@scenario({"ValueError": 1})
def finally_that_returns():
    IN_FINALLY["swallows_in_finally"]()


class Manager:
    def __init__(self, suppresses):
        self.suppresses = suppresses

    def __enter__(self):
        return self

    def __exit__(self, *exc_info):
        return self.suppresses


@scenario({"ValueError": 1})
def with_passing():
    try:
        with Manager(False):
            raise ValueError("x")
    except ValueError:
        pass


@scenario({"ValueError": 1})
def with_suppressing():
    with Manager(True):
        raise ValueError("x")


@scenario({"KeyError": 1})
def contextlib_suppress():
    with contextlib.suppress(KeyError):
        {}["k"]


@contextlib.contextmanager
def generator_manager():
    try:
        yield 1
    finally:
        pass


@scenario({"ValueError": 1})
def contextmanager_passing():
    try:
        with generator_manager():
            raise ValueError("x")
    except ValueError:
        pass


@scenario({})
def contextmanager_without_error():
    with generator_manager():
        pass


@contextlib.contextmanager
def suppressing_manager():
    try:
        yield 1
    except ValueError:
        pass


@scenario({"ValueError": 1})
def contextmanager_suppressing():
    with suppressing_manager():
        raise ValueError("x")


@contextlib.contextmanager
def translating_manager():
    try:
        yield 1
    except ValueError as error:
        raise RuntimeError("t") from error


@scenario({"ValueError": 1, "RuntimeError": 1})
def contextmanager_translating():
    try:
        with translating_manager():
            raise ValueError("x")
    except RuntimeError:
        pass


@scenario({"ValueError": 1})
def exit_stack():
    try:
        with contextlib.ExitStack() as stack:
            stack.enter_context(generator_manager())
            stack.enter_context(Manager(False))
            raise ValueError("x")
    except ValueError:
        pass


@scenario({"ValueError": 1})
def in_exec():
    try:
        exec("raise ValueError")
    except ValueError:
        pass


@scenario({"SyntaxError": 1})
def by_compile():
    try:
        compile("a b", "x", "exec")
    except SyntaxError:
        pass


@scenario({"JSONDecodeError": 1})
def by_json():
    try:
        json.loads("{nope")
    except ValueError:
        pass


@scenario({"UnicodeDecodeError": 1})
def by_decode():
    try:
        b"\xff".decode()
    except UnicodeDecodeError:
        pass


@scenario({})
def keyboard_interrupt():
    try:
        signal.raise_signal(signal.SIGINT)
        for _ in range(1000):
            pass
    except KeyboardInterrupt:
        pass


@scenario({})
def system_exit():
    try:
        sys.exit(3)
    except SystemExit:
        pass


def endless():
    endless()


# At the limit there is no room to call a function in Python.
@scenario({"RecursionError": 1}, in_python={})
def recursion_limit():
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(80)
    try:
        endless()
    except RecursionError:
        pass
    finally:
        sys.setrecursionlimit(limit)


@scenario({"MemoryError": 2}, handled={})
def out_of_memory():
    for _ in range(2):
        try:
            bytearray(1 << 62)
        except MemoryError:
            pass
