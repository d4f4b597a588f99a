"""A patch is applied only to what it was written against: versions and source are looked at, and nothing is guessed."""

from __future__ import annotations

import functools
import importlib
import inspect
import py_compile
import sys
import zipfile
from types import FunctionType, SimpleNamespace

import pytest
import wrapt

from otel_fastpath.patching.patch import ReplacedError, SkipError, fingerprint
from otel_fastpath.patching.sources.guard import (
    MAY_BE_MISSING,
    Distributions,
    UnmetError,
    check_sources,
    owner_of,
    text_digest,
)

SOURCE = """
    import functools

    def decorator(function):
        @functools.wraps(function)
        def inner(*args):
            return function(*args)
        return inner

    def function():
        return 1

    @decorator
    def decorated():
        return 2

    def named(*_):
        return lambda kind: kind

    @named(
        "a decorator of several lines"
    )
    class Decorated:
        pass

    class Class:
        def method(self):
            return 3

        @property
        def prop(self):
            return 4

        @staticmethod
        def static():
            return 5

        @classmethod
        def of_class(cls):
            return 6
    """
PLACES = ("function", "decorated", "Decorated", "Class", "Class.method", "Class.prop", "Class.static", "Class.of_class")


@pytest.fixture
def subject(modules):
    """A module with one thing of each kind."""
    modules("guard_subject", SOURCE)
    return importlib.import_module("guard_subject")


def value_at(module, place):
    """The raw attribute."""
    owner, name = owner_of(module, f"x:{place}")
    return vars(owner)[name]


def check(module, place, value=None, decorators=()):
    """Check one place against the fingerprint of a value, by default its own."""
    known = fingerprint(value_at(module, place) if value is None else value)
    check_sources({f"{module.__name__}:{place}": frozenset({known})}, frozenset(decorators))


@pytest.mark.parametrize("place", PLACES)
def test_what_it_was_written_against_is_accepted(subject, place):
    """Functions, methods, properties and classes of the known source pass."""
    check(subject, place, decorators={"guard_subject"})


def test_another_source_is_refused(subject):
    """The line says which source, and its fingerprint."""
    found = fingerprint(subject.function)

    with pytest.raises(SkipError, match=f"guard_subject:function .fingerprint {found}. is not one"):
        check(subject, "function", subject.Class.method)


@pytest.mark.parametrize("place", ["nothing", "Nothing.method", "Class.nothing"])
@pytest.mark.usefixtures("subject")
def test_a_missing_target_is_refused(place):
    """A renamed class or function gives a reason, no AttributeError."""
    with pytest.raises(SkipError, match="does not exist"):
        check_sources({f"guard_subject:{place}": frozenset()}, frozenset())


def test_a_missing_module_is_refused():
    """So does a module that a release no longer has."""
    with pytest.raises(SkipError, match="guard_nowhere cannot be imported"):
        check_sources({"guard_nowhere:function": frozenset()}, frozenset())


@pytest.mark.parametrize("place", ["guard_subject:nothing", "guard_nowhere:function"])
@pytest.mark.usefixtures("subject")
def test_what_other_releases_have_may_be_missing(place):
    """But where it is, its source must be known."""
    check_sources({place: frozenset({MAY_BE_MISSING})}, frozenset())
    with pytest.raises(SkipError, match="is not one"):
        check_sources({"guard_subject:function": frozenset({MAY_BE_MISSING})}, frozenset())


def test_an_unknown_decorator_is_refused(subject):
    """What somebody wrapped is theirs: the reason names whose module did it."""
    with pytest.raises(SkipError, match="wrapped already, by guard_subject"):
        check(subject, "decorated")


@pytest.mark.parametrize("place", ["function", "Class.method", "decorated"])
def test_a_proxy_around_the_target_is_refused(subject, place, monkeypatch):
    """A wrapt wrapper shows the attributes of what it wraps, also those of a decorator that is expected there."""
    owner, name = owner_of(subject, f"x:{place}")
    known = vars(owner)[name]
    proxy = wrapt.FunctionWrapper(known, lambda wrapped, _instance, args, kwargs: wrapped(*args, **kwargs))
    monkeypatch.setattr(owner, name, proxy)

    with pytest.raises(SkipError, match="wrapped already"):
        check(subject, place, known, decorators={"guard_subject"})


def test_a_wrapper_that_hides_what_it_wraps_is_refused(subject, monkeypatch):
    """It comes from another module."""
    known = subject.function
    monkeypatch.setattr(subject, "function", lambda: known() + 1)

    with pytest.raises(ReplacedError, match=r"is replaced already, by .*test_guard"):
        check(subject, "function", known)


@pytest.mark.parametrize("value", [len, functools.partial(len), 3, None])
def test_what_has_no_source_is_refused(subject, monkeypatch, value):
    """A builtin or an object in the place of a function cannot be compared."""
    known = subject.function
    monkeypatch.setattr(subject, "function", value)

    with pytest.raises(SkipError, match="cannot be read"):
        check(subject, "function", known)


def test_source_in_a_zip_file_is_read(subject, tmp_path, monkeypatch):
    """A package that is imported from an archive has the fingerprint that it has on disk."""
    known = subject.function
    with zipfile.ZipFile(tmp_path / "archive.zip", "w") as archive:
        archive.write(subject.__file__, "guard_subject.py")
    monkeypatch.syspath_prepend(tmp_path / "archive.zip")
    monkeypatch.delitem(sys.modules, "guard_subject")
    zipped = importlib.import_module("guard_subject")
    assert "archive.zip" in zipped.__file__

    check(zipped, "function", known)


def test_compiled_files_without_their_source_are_refused(subject, tmp_path, monkeypatch):
    """Where nothing can be compared, nothing is patched."""
    known = subject.function
    bare = tmp_path / "bare"
    bare.mkdir()
    py_compile.compile(subject.__file__, bare / "guard_subject.pyc", dfile="/nowhere/guard_subject.py")
    monkeypatch.syspath_prepend(bare)
    monkeypatch.delitem(sys.modules, "guard_subject")
    compiled = importlib.import_module("guard_subject")
    assert compiled.__file__.endswith(".pyc")

    with pytest.raises(SkipError, match="cannot be read"):
        check(compiled, "function", known)


KNOWN = "def function(a):\n    b = a\n    return b\n"
CHANGED = {
    "a line at the end": KNOWN + "    c = 1\n",
    "a line after a comment": KNOWN + "# not indented\n    c = 1\n",
    "a line after blank lines": KNOWN + "\n\n\n    c = 1\n",
    "a line after a string that is not indented": KNOWN + "    '''\ntext\n    '''\n    c = 1\n",
    "a line after a bracket that is not indented": KNOWN + "    c = (\n1\n)\n    d = 1\n",
    "a decorator": "@staticmethod\n" + KNOWN,
    "a line in the middle": KNOWN.replace("b = a\n", "b = a\n    b = 2\n"),
}
SAME = {
    "nothing else": KNOWN,
    "something after it": KNOWN + "x = 1\n",
    "a comment after it": KNOWN + "\n# of what follows\n\nx = 1\n",
    "spaces at the ends of lines": KNOWN.replace("\n", "  \n"),
    "a comment of its own": KNOWN + "    # of the body\n",
    "other line breaks": KNOWN.replace("(a)", "(\n    a,\n)").replace("return b", "return (\n        b\n    )"),
}


@pytest.mark.parametrize("text", CHANGED.values(), ids=CHANGED)
def test_every_change_is_noticed(modules, text):
    """However the text goes on where the known text ends, and although no function is parsed to see it."""
    modules("guard_known", KNOWN)
    modules("guard_changed", text)
    known, changed = (importlib.import_module(name) for name in ("guard_known", "guard_changed"))

    with pytest.raises(SkipError, match="is not one this patch"):
        check(changed, "function", known.function)


@pytest.mark.parametrize("text", SAME.values(), ids=SAME)
def test_what_stands_around_it_does_not_count(modules, text):
    """Only what the definition does is compared."""
    modules("guard_known", KNOWN)
    modules("guard_same", text)
    known, same = (importlib.import_module(name) for name in ("guard_known", "guard_same"))

    check(same, "function", known.function)


def source_of(function):
    """Its text, as the programs that write the known digests find it."""
    return inspect.getsource(inspect.unwrap(function))


@pytest.mark.parametrize("place", [place for place in PLACES if place != "Decorated"])
def test_text_is_found_as_inspect_finds_it(subject, place):
    """The digest of a known text is that of what `inspect.getsource` returns, for most classes, too."""
    value = value_at(subject, place)
    function = getattr(value, "fget", None) or getattr(value, "__func__", value)

    known = frozenset({text_digest(source_of(function))})
    check_sources({f"guard_subject:{place}": known}, frozenset({"guard_subject"}))


def test_hardly_any_source_is_parsed(monkeypatch):
    """Instrumenting is cheap: functions whose text is known are recognised without a parser or the tokenizer."""
    from opentelemetry.sdk import trace
    from opentelemetry.sdk.trace import export, sampling

    known = {}
    for module in (trace, export, sampling):
        for kind in vars(module).values():
            if isinstance(kind, type) and kind.__module__ == module.__name__:
                known |= {
                    f"{module.__name__}:{kind.__qualname__}.{name}": frozenset({text_digest(source_of(value))})
                    for name, value in vars(kind).items()
                    if isinstance(value, FunctionType) and value.__code__.co_filename == module.__file__
                }
    parsed = []

    def noted(value):
        parsed.append(value)
        return text_digest(source_of(value))

    monkeypatch.setattr("otel_fastpath.patching.sources.guard.fingerprint", noted)

    check_sources(known, frozenset({"typing_extensions", "opentelemetry.util._decorator", "abc"}))

    assert len(known) > 80
    assert len(parsed) < len(known) / 20


def distributions(**installed):
    """As if these were installed: name -> versions."""
    asked = []

    def look_up(name):
        asked.append(name)
        return [(version, f"/place{number}") for number, version in enumerate(installed.get(name, ()))]

    return Distributions(look_up), asked


def test_requirements_are_held_against_what_is_installed():
    """A version in the range passes, prereleases included."""
    known, _ = distributions(subject=["1.45.1"], beta=["0.66b1"])

    known.check("subject>=1.40,<2", any_version=False)
    known.check("beta>=0.61b0", any_version=False)


@pytest.mark.parametrize(
    ("requirement", "reason"),
    [
        ("subject>=2", r"subject 1\.45\.1 is installed, subject>=2 is needed"),
        ("nowhere>=1", r"nowhere is not installed, nowhere>=1 is needed"),
    ],
)
def test_an_unmet_requirement_is_refused(requirement, reason):
    """The reason names what is installed and what is needed."""
    known, _ = distributions(subject=["1.45.1"])

    with pytest.raises(UnmetError, match=reason):
        known.check(requirement, any_version=True)


def test_each_distribution_is_looked_up_once(logged):
    """A hundred requirements cost one search; `forget` makes it search again."""
    known, asked = distributions(subject=["1.45.1"])

    for _ in range(100):
        known.check("subject>=1", any_version=True)
    assert asked == ["subject"]
    known.forget()
    known.check("subject>=1", any_version=True)

    assert asked == ["subject"] * 2
    assert logged() == []


def test_two_versions_of_a_distribution_are_named_once(logged):
    """One line names both and their folders; with a source to decide by, one that fits is enough, else all must."""
    known, _ = distributions(subject=["1.30.0", "1.45.1"])

    known.check("subject>=1.40", any_version=True)
    with pytest.raises(UnmetError, match=r"subject 1\.30\.0 and 1\.45\.1 is installed"):
        known.check("subject>=1.40", any_version=False)
    with pytest.raises(UnmetError):
        known.check("subject>=2", any_version=True)

    (line,) = logged()
    assert "subject is installed more than once: 1.30.0 in /place0, 1.45.1 in /place1" in line


def test_a_function_that_another_defines(modules):
    """Its own source counts, and not that of the function around it, which may be wrapped by nobody."""
    place = "outer_of:outer.<locals>.inner"
    text = """
        def outer(value):
            spare = None
            def inner():
                return value
            return inner
        """
    modules("outer_of", text)
    outer = importlib.import_module("outer_of").outer
    known = {place: frozenset({fingerprint(outer(1))})}

    check_sources(known, frozenset())
    with pytest.raises(SkipError, match=r"inner \(fingerprint"):
        check_sources({place: frozenset({"0123456789ab"})}, frozenset())
    with pytest.raises(SkipError, match="does not exist"):
        check_sources({"outer_of:outer.<locals>.other": known[place]}, frozenset())
    sys.modules["outer_of"].outer = functools.wraps(outer)(functools.partial(outer))
    with pytest.raises(ReplacedError, match="wrapped already"):
        check_sources(known, frozenset())


class _Slotted:
    __slots__ = ("method",)


def test_an_owner_may_have_no_dict():
    """Such as an object of a vendor's, in the place of a class."""
    owner = _Slotted()
    owner.method = len
    module = SimpleNamespace(owner=owner)

    assert owner_of(module, "module:owner.method") == (owner, "method")
    with pytest.raises(SkipError, match="does not exist"):
        owner_of(module, "module:owner.other")
