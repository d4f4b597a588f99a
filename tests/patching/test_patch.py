"""The life of a patch: it waits for its modules, is applied once, comes off exactly, and never breaks an import."""

from __future__ import annotations

import functools
import importlib
import logging
import sys

import pytest

from otel_fastpath.patching.patch import Patch, Patcher, SkipError, State, fingerprint

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


@pytest.fixture
def patcher():
    """Makes a patcher of one patch; everything is undone at the end."""
    made = []

    def make(target="patched:function", make=louder, **fields):
        patch = Patch(name="one", target=target, why="A test.", make=make, **fields)
        made.append(Patcher([patch], lambda name: INSTALLED.get(name, [])))
        return made[-1]

    yield make
    for each in made:
        each.uninstall()


@pytest.fixture
def subject(modules):
    """The module to patch, written but not imported."""
    return modules("patched", SUBJECT)


def state(patcher):
    """State and reason of the one patch."""
    (row,) = patcher.status()
    return row.state, row.reason


pytestmark = pytest.mark.usefixtures("subject")


def test_a_new_patch_is_off(patcher):
    """Before `install` nothing is watched or changed."""
    assert state(patcher()) == (State.OFF, "not instrumented")


def test_the_target_was_imported_before(patcher):
    """It is patched at once."""
    patched = importlib.import_module("patched")
    one = patcher()
    one.install()

    assert state(one) == (State.APPLIED, "")
    assert patched.function() == "plain!"


def test_the_target_is_imported_later(patcher):
    """The patch waits, and is there before the importer's next line."""
    one = patcher("patched:Class.method")
    one.install()
    assert state(one) == (State.WAITING, "patched is not imported yet")

    patched = importlib.import_module("patched")

    assert patched.Class().method() == "plain!"
    assert state(one) == (State.APPLIED, "")


def test_the_target_is_never_imported(patcher):
    """The patch waits for ever, imports nothing, and comes off."""
    one = patcher()
    one.install()
    one.uninstall()
    importlib.import_module("patched")

    assert state(one) == (State.OFF, "uninstrumented")
    assert sys.modules["patched"].function() == "plain"


def test_installing_twice_is_installing_once(patcher):
    """The original is below one replacement only, and comes back."""
    patched = importlib.import_module("patched")
    original = patched.function
    one = patcher()
    one.install()
    one.install()
    assert patched.function() == "plain!"

    one.uninstall()
    one.uninstall()

    assert patched.function is original


def test_off_and_on_again(patcher):
    """Any number of times, with the very same original in between."""
    patched = importlib.import_module("patched")
    original = patched.function
    one = patcher()
    for _ in range(3):
        one.install()
        assert patched.function() == "plain!"
        one.uninstall()
        assert patched.function is original


def test_a_setting_leaves_a_patch_off(patcher):
    """With the reason, also where it was on before."""
    patched = importlib.import_module("patched")
    one = patcher()
    one.install()
    one.install(lambda name: f"no {name}")

    assert state(one) == (State.OFF, "no one")
    assert patched.function() == "plain"


def test_wrapped_on_top_then_unwrapped_then_on_again(patcher):
    """Below a wrapper the patch goes inert; unwrapped it is inert still; on again it works, and comes off exactly."""
    patched = importlib.import_module("patched")
    original = patched.function
    one = patcher()
    one.install()
    ours = patched.function
    patched.function = lambda: "<" + ours() + ">"
    one.uninstall()
    assert patched.function() == "<plain>"

    patched.function = ours
    assert patched.function() == "plain"
    one.install()
    assert (state(one), patched.function()) == ((State.APPLIED, ""), "plain!")
    one.uninstall()

    assert patched.function is original


@pytest.mark.parametrize("hides", [False, True])
def test_on_again_below_a_wrapper(patcher, hides):
    """A patch that went inert below a wrapper is revived there, whether the wrapper names what it wraps or not."""
    patched = importlib.import_module("patched")
    known = {"patched:function": frozenset({fingerprint(patched.function)})}
    one = patcher(sources=known)
    one.install()
    ours = patched.function
    patched.function = theirs = lambda: "<" + ours() + ">"
    if not hides:
        theirs.__wrapped__ = ours
    one.uninstall()
    assert patched.function() == "<plain>"

    one.install()

    assert state(one)[0] is State.APPLIED
    assert patched.function is theirs
    assert theirs() == "<plain!>"


def test_the_module_is_imported_anew(patcher):
    """The new module is patched, and the old one, which somebody may still use, is as it was."""
    old = importlib.import_module("patched")
    method = old.Class.method
    one = patcher("patched:Class.method")
    one.install()
    del sys.modules["patched"]

    new = importlib.import_module("patched")

    assert new is not old
    assert new.Class().method() == "plain!"
    assert old.Class.method is method
    one.uninstall()
    assert new.Class().method() == "plain"


@pytest.mark.parametrize("target", ["patched:function", "patched:Class.method"])
def test_the_module_is_reloaded(patcher, target):
    """What the reload defined anew is patched, once."""
    patched = importlib.import_module("patched")
    one = patcher(target)
    one.install()

    importlib.reload(patched)

    assert (patched.function() + patched.Class().method()).count("!") == 1
    assert state(one) == (State.APPLIED, "")
    one.uninstall()
    assert patched.function() + patched.Class().method() == "plainplain"


def test_what_others_put_in_its_place_is_told(patcher):
    """The status does not claim that a patch works which somebody replaced."""
    patched = importlib.import_module("patched")
    one = patcher()
    one.install()
    patched.function = lambda: "theirs"

    assert state(one) == (State.APPLIED, "somebody put something else in its place since")
    one.uninstall()
    assert patched.function() == "theirs"


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


def test_a_make_is_given_the_settings_of_its_installation(modules, patcher):
    """Also where the target is imported later, and anew each time that it is put in place."""
    seen = []

    def make(original, settings):
        seen.append(settings)
        return louder(original)

    one = patcher(make=make)
    one.install(settings="first")
    modules("patched", "def function(): return 'plain'")
    importlib.import_module("patched")
    one.uninstall()
    one.install(settings="second")

    assert seen == ["first", "second"]


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


def test_patches_see_originals_below_each_other():
    """A source that another patch replaced is still the source that both were written against."""
    patched = importlib.import_module("patched")
    source = {"patched:function": frozenset({fingerprint(patched.function)})}
    patches = [
        Patch(name="first", target="patched:function", why="", make=louder, sources=source),
        Patch(name="second", target="patched:Class.method", why="", make=louder, sources=source),
    ]
    patcher = Patcher(patches, lambda _: [])
    patcher.install()

    assert [row.state for row in patcher.status()] == [State.APPLIED] * 2
    patcher.uninstall()


def test_undo_is_called_when_a_patch_came_off(patcher, logged):
    """Once for each time that it was on, after the original is back; what it raises is logged."""
    patched = importlib.import_module("patched")
    seen = []

    def undo():
        seen.append(patched.function())
        raise ZeroDivisionError

    one = patcher(undo=undo)
    one.uninstall()
    one.install()
    one.install()
    assert seen == []
    one.uninstall()
    one.uninstall()

    assert seen == ["plain"]
    assert len(logged(logging.ERROR)) == 1


def test_a_replacement_that_cannot_come_off_says_so(patcher, logged):
    """Wrapped and no function: the status and one line tell that it stays."""
    patched = importlib.import_module("patched")
    one = patcher(make=lambda original, _settings: functools.partial(louder(original)))
    one.install()
    ours = patched.function
    patched.function = lambda: f"{ours()}?"

    one.uninstall()

    assert state(one) == (State.OFF, "uninstrumented, but wrapped by others: it stays")
    assert len(logged()) == 1
