"""Threads, finalizers, imports."""

from __future__ import annotations

# ruff: noqa: D101, D103, D105, F401, SIM105  # odd code is what this is about
import queue
import sys
import threading

from counting.basics import through
from counting.scenario import scenario


def quiet(*_):
    pass


# `threading` catches it, to hand it to its hook.
@scenario({"ValueError": 1})
def uncaught_in_thread():
    old = threading.excepthook
    threading.excepthook = quiet
    thread = threading.Thread(target=through, args=(2,))
    thread.start()
    thread.join()
    threading.excepthook = old


class Failing:
    def __del__(self):
        raise ValueError("del")


@scenario({"ValueError": 1}, handled={})
def in_finalizer():
    old = sys.unraisablehook
    sys.unraisablehook = quiet
    Failing()
    sys.unraisablehook = old


class Handling:
    def __del__(self):
        try:
            {}["k"]
        except KeyError:
            pass


def drops_while_raising():
    handling = Handling()
    raise ValueError(type(handling))


@scenario({"ValueError": 1, "KeyError": 1})
def in_finalizer_while_another_passes():
    try:
        drops_while_raising()
    except ValueError:
        pass


@scenario({"Empty": 1})
def queue_empty():
    try:
        queue.SimpleQueue().get_nowait()
    except queue.Empty:
        pass


@scenario({"ModuleNotFoundError": 1})
def import_missing():
    try:
        import nope_mod_x
    except ImportError:
        pass


@scenario({"ModuleNotFoundError": 1})
def import_missing_submodule():
    try:
        import json.nope_mod_x
    except ImportError:
        pass


@scenario({"ImportError": 1})
def import_missing_name():
    try:
        from os import nope_name
    except ImportError:
        pass


@scenario({"ModuleNotFoundError": 1})
def import_by_function():
    try:
        __import__("nope_mod_x")
    except ImportError:
        pass


@scenario({"ModuleNotFoundError": 1})
def import_by_importlib():
    import importlib

    try:
        importlib.import_module("nope_mod_x")
    except ImportError:
        pass


@scenario({}, warm=False)
def import_fresh():
    sys.modules.pop("colorsys", None)
    import colorsys
