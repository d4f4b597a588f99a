"""The life of a patch: it waits for its modules, is applied once, comes off exactly."""

from __future__ import annotations

import functools
import importlib
import logging
import sys
from types import SimpleNamespace

import pytest
from onepatch import SUBJECT, louder, state

from otel_fastpath import compiled
from otel_fastpath.patching.patch import Patch, Patcher, State, fingerprint

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


def test_off_again_after_a_wrapper_is_gone(patcher):
    """The inert replacement that the wrapper left is removed by the next `uninstall`."""
    patched = importlib.import_module("patched")
    original = patched.function
    one = patcher()
    one.install()
    ours = patched.function
    patched.function = lambda: "<" + ours() + ">"
    one.uninstall()
    patched.function = ours

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

    assert state(one) == (State.APPLIED, f"replaced since, by {__name__}")
    one.uninstall()
    assert patched.function() == "theirs"


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

    assert state(one) == (State.OFF, "uninstrumented, but wrapped by other code: it stays")
    assert len(logged()) == 1


def test_installed_while_this_thread_imports_the_target(patcher, modules, monkeypatch):
    """The import hook does not see that import. The status looks again; so does the next import, see `imports`."""
    one = patcher()
    monkeypatch.setitem(sys.modules, "installs", SimpleNamespace(now=one.install))
    modules("patched", f"    import installs\n    installs.now()\n{SUBJECT}")

    patched = importlib.import_module("patched")

    assert state(one) == (State.APPLIED, "")
    assert patched.function() == "plain!"


def test_modules_that_the_replacement_imports(patcher, modules):
    """The patch waits for them, too."""
    modules("beside", "")
    importlib.import_module("patched")
    one = patcher(after=("beside",))
    one.install()
    assert state(one) == (State.WAITING, "beside is not imported yet")

    importlib.import_module("beside")

    assert state(one) == (State.APPLIED, "")


def test_a_patch_for_the_compiled_core_only(patcher, monkeypatch):
    """In the pure core it is off, and the status says why."""
    importlib.import_module("patched")
    one = patcher(only_compiled=True)
    for is_compiled, expected in ((False, State.OFF), (True, State.APPLIED), (False, State.OFF)):
        monkeypatch.setattr(compiled, "is_compiled", lambda is_compiled=is_compiled: is_compiled)
        one.install()
        assert state(one)[0] is expected
        assert ("the pure core" in state(one)[1]) is not is_compiled
