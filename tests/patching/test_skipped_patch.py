"""A patch that cannot be applied is left off with a reason, and never breaks an import."""

from __future__ import annotations

import importlib
import logging
import sys

import pytest
from onepatch import SUBJECT, louder, state

from otel_fastpath.patching.patch import Patch, Patcher, SkipError, State

pytestmark = pytest.mark.usefixtures("subject")


@pytest.mark.parametrize("target", ["patched:nothing", "patched:Class.nothing", "patched:Nothing.method"])
def test_a_missing_target_is_skipped(patcher, logged, target):
    """One line says so, and the import goes on."""
    one = patcher(target)
    one.install()

    importlib.import_module("patched")

    assert state(one)[0] is State.SKIPPED
    (line,) = logged()
    assert "Patch one is left off" in line
    assert "does not exist" in line


def test_another_source_is_skipped(patcher, logged):
    """A release that was not read is left alone."""
    one = patcher(sources={"patched:function": frozenset({"0123456789ab"})})
    one.install()

    assert importlib.import_module("patched").function() == "plain"
    assert state(one)[0] is State.SKIPPED
    assert len(logged()) == 1


def test_another_source_of_a_part_is_named(patcher, logged):
    """The patch is applied, and calls the part; the status names it."""
    one = patcher(parts={"patched:Class.method": frozenset({"0123456789ab"})})
    one.install()

    assert importlib.import_module("patched").function() == "plain!"
    shown, reason = state(one)
    assert shown is State.APPLIED
    assert "patched:Class.method" in reason
    assert reason.endswith("OpenTelemetry's own code runs for it")
    assert not logged()


def test_an_unmet_requirement_is_skipped_quietly(patcher, logged):
    """A release that needs no patch is nothing to warn of; the status says it."""
    one = patcher(requires=("subject>=2",))
    one.install()
    importlib.import_module("patched")

    assert state(one) == (State.SKIPPED, "subject 1.5 is installed, subject>=2 is needed")
    assert logged() == []


def test_a_make_that_raises_is_skipped(patcher, logged, caplog):
    """The import goes on with the original; the line has the traceback, once."""

    def make(_original, _settings):
        raise ZeroDivisionError("made badly")

    one = patcher(make=make)
    one.install()

    assert importlib.import_module("patched").function() == "plain"
    assert state(one) == (State.SKIPPED, "ZeroDivisionError: made badly")
    assert [record.exc_info is not None for record in caplog.records] == [True]
    assert len(logged(logging.ERROR)) == 1


def test_a_make_that_raised_for_an_inherited_attribute_is_tried_again(modules, patcher):
    """What was not made is not taken for one that is in place."""
    modules("patched", "class Base:\n    def method(self): return 'plain'\nclass Class(Base): pass")
    patched = importlib.import_module("patched")
    makers = iter([lambda *_: 1 / 0, louder])

    def make(original, _settings):
        return next(makers)(original)

    one = patcher("patched:Class.method", make=make)
    one.install()
    assert state(one)[0] is State.SKIPPED

    one.install()

    assert state(one)[0] is State.APPLIED
    assert patched.Class().method() == "plain!"


def test_a_make_can_refuse(patcher, caplog):
    """SkipError is a reason and no fault: a line without a traceback."""

    def make(_original, _settings):
        raise SkipError("not today")

    one = patcher(make=make)
    one.install()
    importlib.import_module("patched")

    assert state(one) == (State.SKIPPED, "not today")
    assert [record.exc_info for record in caplog.records] == [None]


def test_a_target_that_cannot_be_set_is_skipped(patcher):
    """An attribute of a built-in type stays; nothing is left half done."""
    one = patcher("builtins:str.upper")
    one.install()

    assert state(one)[0] is State.SKIPPED
    assert "a".upper() == "A"


def test_a_skipped_patch_gets_another_chance(modules, patcher):
    """When its module is imported anew, or everything is installed again."""
    modules("patched", "")
    one = patcher()
    one.install()
    importlib.import_module("patched")
    assert state(one)[0] is State.SKIPPED
    modules("patched", SUBJECT + "\n    # longer than before, for the cache of compiled files")
    del sys.modules["patched"]

    assert importlib.import_module("patched").function() == "plain!"


@pytest.mark.parametrize("target", ["patched:missing", "patched:function"])
def test_a_handler_of_the_log_that_raises_is_not_for_the_host(patcher, monkeypatch, target):
    """Neither where a patch is skipped nor where making it fails."""

    class Raises(logging.Handler):
        def emit(self, record):  # noqa: ARG002  # its interface
            raise RuntimeError

    importlib.import_module("patched")
    monkeypatch.setattr(logging.getLogger(), "handlers", [Raises()])
    one = patcher(target, make=lambda _original, _settings: 1 // 0)
    one.install()

    assert state(one)[0] is State.SKIPPED


def test_one_reason_is_logged_once(logged):
    """A new release that concerns every patch is one line, not twenty."""
    source = {"patched:function": frozenset({"0123456789ab"})}
    patches = [
        Patch(name=f"number {number}", target="patched:function", why="", make=louder, sources=source)
        for number in range(20)
    ]
    patcher = Patcher(patches, lambda _: [])
    patcher.install()
    importlib.import_module("patched")

    assert {row.state for row in patcher.status()} == {State.SKIPPED}
    assert len(logged()) == 1
    patcher.uninstall()
