"""Iteration, generators, and what C code swallows."""

from __future__ import annotations

# ruff: noqa: B018, D101, D103, D105, PT017, SIM105  # odd code is what this is about
import os

from counting.scenario import scenario


@scenario({})
def for_list():
    for _ in [1, 2]:
        pass


def numbers():
    yield 1
    yield 2


@scenario({})
def for_generator():
    for _ in numbers():
        pass


class Counter:
    def __init__(self):
        self.number = 0

    def __iter__(self):
        return self

    def __next__(self):
        self.number += 1
        if self.number > 2:
            raise StopIteration
        return self.number


@scenario({})
def for_iterator():
    for _ in Counter():
        pass


@scenario({})
def list_of_iterator():
    list(Counter())


class Delegating:
    def __init__(self):
        self.inner = iter([1])

    def __iter__(self):
        return self

    def __next__(self):
        return next(self.inner)


@scenario({})
def for_delegating_iterator():
    for _ in Delegating():
        pass


@scenario({})
def next_of_empty():
    try:
        next(iter([]))
    except StopIteration:
        pass


@scenario({})
def next_with_default():
    next(iter([]), None)


class Sequence:
    def __getitem__(self, index):
        if index > 1:
            raise IndexError
        return index


@scenario({"IndexError": 1}, handled={})
def for_sequence():
    for _ in Sequence():
        pass


def delegating():
    result = yield from numbers()
    return result


@scenario({})
def yield_from():
    for _ in delegating():
        pass


def delegating_to_iterator():
    yield from Counter()


@scenario({})
def yield_from_iterator():
    for _ in delegating_to_iterator():
        pass


@scenario({})
def next_of_exhausted_generator():
    generator = numbers()
    next(generator)
    next(generator)
    try:
        next(generator)
    except StopIteration:
        pass


def echo():
    sent = yield
    return sent


@scenario({})
def value_of_stop_iteration():
    generator = echo()
    next(generator)
    try:
        generator.send(5)
    except StopIteration as stop:
        assert stop.value == 5


def closing():
    try:
        yield 1
    finally:
        pass


@scenario({})
def close_generator():
    generator = closing()
    next(generator)
    generator.close()


@scenario({})
def close_generator_without_try():
    generator = numbers()
    next(generator)
    generator.close()


@scenario({})
def drop_generator():
    generator = closing()
    next(generator)
    del generator


@scenario({})
def break_for_generator():
    for _ in closing():
        break


def catching():
    try:
        yield 1
    except ValueError:
        yield 2


@scenario({"ValueError": 1})
def throw_caught():
    generator = catching()
    next(generator)
    generator.throw(ValueError("t"))


@scenario({"ValueError": 1})
def throw_not_caught():
    generator = numbers()
    next(generator)
    try:
        generator.throw(ValueError("t"))
    except ValueError:
        pass


@scenario({"ValueError": 1})
def throw_through_yield_from():
    generator = delegating()
    next(generator)
    try:
        generator.throw(ValueError("t"))
    except ValueError:
        pass


def ending_wrongly():
    next(iter([]))
    yield


@scenario({"RuntimeError": 1})
def stop_iteration_in_generator():
    try:
        list(ending_wrongly())
    except RuntimeError:
        pass


@scenario({})
def generator_expression():
    any(number > 1 for number in [1, 2, 3])


class Plain:
    pass


class Dynamic:
    def __getattr__(self, name):
        raise AttributeError(name)


@scenario({})
def hasattr_miss():
    hasattr(Plain(), "x")


@scenario({})
def getattr_default():
    getattr(Plain(), "x", None)


@scenario({"AttributeError": 1}, handled={})
def hasattr_of_python_getattr():
    hasattr(Dynamic(), "x")


@scenario({"AttributeError": 1}, handled={})
def getattr_default_of_python_getattr():
    getattr(Dynamic(), "x", None)


@scenario({"AttributeError": 1})
def attribute_miss():
    try:
        Plain().x
    except AttributeError:
        pass


@scenario({})
def dict_get():
    {}.get("x")


class Missing(dict):
    def __missing__(self, key):
        raise KeyError(key)


@scenario({"KeyError": 1})
def dict_missing():
    try:
        Missing()["x"]
    except KeyError:
        pass


@scenario({})
def environment_get():
    os.environ.get("NOPE_X")


@scenario({"KeyError": 1})
def environment_subscript():
    try:
        os.environ["NOPE_X"]
    except KeyError:
        pass
