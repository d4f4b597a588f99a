"""Exception groups; exceptions that are stored, copied, raised again."""

from __future__ import annotations

# ruff: noqa: B904, D103, S301, SIM105, TRY301  # odd code is what this is about
import concurrent.futures
import copy
import pickle

from counting.basics import through
from counting.scenario import scenario


@scenario({"ExceptionGroup": 1})
def group_handled():
    try:
        raise ExceptionGroup("g", [ValueError(1), TypeError(2)])
    except* ValueError:
        pass
    except* TypeError:
        pass


# The rest of the group is a new object, which is raised again in the same frame: RAISE does not fire for it.
@scenario({"ExceptionGroup": 1})
def group_handled_in_part():
    try:
        try:
            raise ExceptionGroup("g", [ValueError(1), TypeError(2)])
        except* ValueError:
            pass
    except ExceptionGroup:
        pass


def handles_in_part():
    try:
        raise ExceptionGroup("g", [ValueError(1), TypeError(2)])
    except* ValueError:
        pass


# Here it leaves the frame, so it is seen, and it is another object. By traceback it is taken for the first.
@scenario({"ExceptionGroup": 2}, by_traceback={"ExceptionGroup": 1})
def rest_of_group_leaves_frame():
    try:
        handles_in_part()
    except ExceptionGroup:
        pass


@scenario({"ExceptionGroup": 1, "RuntimeError": 1})
def raise_in_except_star():
    try:
        try:
            raise ExceptionGroup("g", [ValueError(1)])
        except* ValueError:
            raise RuntimeError("n")
    except* RuntimeError:
        pass


@scenario({"ValueError": 1})
def except_star_of_single():
    try:
        raise ValueError(1)
    except* ValueError:
        pass


def raise_it(error):
    raise error


@scenario({"ValueError": 1})
def stored_and_raised_again():
    saved = None
    try:
        through(0)
    except ValueError as error:
        saved = error
    try:
        raise_it(saved)
    except ValueError:
        pass


@scenario({"ValueError": 1})
def same_object_in_loop():
    error = ValueError("loop")
    for _ in range(3):
        try:
            raise error
        except ValueError:
            pass


# Known: once the traceback is gone, nothing tells a raise from the first.
@scenario({"ValueError": 1}, by_traceback={"ValueError": 3})
def same_object_without_traceback():
    error = ValueError("loop")
    for _ in range(3):
        try:
            raise error.with_traceback(None)
        except ValueError:
            pass


# What psycopg does with the error of the last host that it could not connect to. Known, likewise.
@scenario({"ValueError": 1}, by_traceback={"ValueError": 2})
def stored_and_raised_without_traceback():
    saved = None
    try:
        through(0)
    except ValueError as error:
        saved = error
    try:
        raise saved.with_traceback(None)
    except ValueError:
        pass


def strips():
    try:
        through(1)
    except ValueError as error:
        raise error.with_traceback(None)


@scenario({"ValueError": 1})
def traceback_stripped():
    try:
        strips()
    except ValueError:
        pass


def trims():
    try:
        through(1)
    except ValueError as error:
        raise error.with_traceback(error.__traceback__.tb_next)


@scenario({"ValueError": 1})
def traceback_trimmed():
    try:
        trims()
    except ValueError:
        pass


def foreign_traceback():
    try:
        through(2)
    except ValueError as error:
        return error.__traceback__


FOREIGN = foreign_traceback()


# Known: a new exception with somebody else's traceback looks like one that came along.
@scenario({"RuntimeError": 1}, by_traceback={})
def raised_with_foreign_traceback():
    try:
        raise RuntimeError("remote").with_traceback(FOREIGN)
    except RuntimeError:
        pass


# What SQLAlchemy and Django do with errors of a database driver.
@scenario({"ValueError": 1, "RuntimeError": 1})
def translated_with_traceback():
    try:
        try:
            through(1)
        except ValueError as error:
            raise RuntimeError("t").with_traceback(error.__traceback__) from error
    except RuntimeError:
        pass


@scenario({"ValueError": 2})
def copied():
    try:
        through(0)
    except ValueError as error:
        again = copy.copy(error)
    try:
        raise again
    except ValueError:
        pass


@scenario({"ValueError": 2})
def pickled():
    try:
        through(0)
    except ValueError as error:
        again = pickle.loads(pickle.dumps(error))
    try:
        raise again
    except ValueError:
        pass


@scenario({"ValueError": 1})
def result_of_future_read_thrice():
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        future = pool.submit(through, 0)
        for _ in range(3):
            try:
                future.result()
            except ValueError:
                pass


# What was caught and is on its way out again is not handled, however often it was caught before.
@scenario({"ValueError": 1}, handled={"ValueError": 1})
def suppressed_after_three_handlers():
    error = ValueError("x")
    for _ in range(3):
        try:
            raise_it(error)
        except ValueError:
            pass
