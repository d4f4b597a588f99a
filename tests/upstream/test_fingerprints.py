"""Fingerprints read from source text are those that the guards compute at run time."""

from __future__ import annotations

import importlib
import inspect
import sys
from pathlib import Path
from types import FunctionType

import pytest
from harness import sources

from otel_fastpath.patching.patch import fingerprint

# Everything that these modules define is compared, besides the list below.
MODULES = (
    "opentelemetry.context",
    "opentelemetry.trace",
    "opentelemetry.trace.span",
    "opentelemetry.attributes",
    "opentelemetry.util._decorator",
    "opentelemetry.sdk.trace",
    "opentelemetry.sdk.trace.export",
    "opentelemetry.sdk.trace.sampling",
    "opentelemetry.sdk.trace.id_generator",
    "opentelemetry.sdk.metrics._internal.instrument",
    "opentelemetry.sdk.metrics._internal.aggregation",
    "opentelemetry.sdk._logs._internal",
    "opentelemetry.exporter.otlp.proto.common._internal",
)
TARGETS = (
    "opentelemetry.sdk.trace:Tracer.start_span",  # a plain method
    "opentelemetry.sdk.trace:Tracer.start_as_current_span",  # a stock decorator
    "opentelemetry.sdk.trace:Span.__init__",
    "opentelemetry.sdk.trace:ReadableSpan.name",  # a property
    "opentelemetry.sdk.trace:ReadableSpan._format_attributes",  # a static method
    "opentelemetry.sdk.trace:SpanLimits._from_env_if_absent",  # a class method
    "opentelemetry.sdk.trace:Span.set_attributes",
    "opentelemetry.sdk.trace:Span",  # a class
    "opentelemetry.sdk.trace.sampling:ParentBased",
    "opentelemetry.trace:use_span",  # a decorated function
    "opentelemetry.trace:get_current_span",  # defined elsewhere
    "opentelemetry.trace:NonRecordingSpan",  # defined elsewhere, a class
    "opentelemetry.context:attach",
    "opentelemetry.util._decorator:_agnosticcontextmanager",
    "opentelemetry.attributes:BoundedAttributes.__setitem__",
    "opentelemetry.sdk.resources:Resource.create",
)


def at_run_time(target: str) -> str:
    """The fingerprint of the object itself, found as a patch finds its target."""
    module, _, path = target.partition(":")
    owner = importlib.import_module(module)
    *parents, name = path.split(".")
    for parent in parents:
        owner = getattr(owner, parent)
    return fingerprint(inspect.getattr_static(owner, name))


def as_text(target: str) -> str:
    """The fingerprint read from the installed files."""
    return sources.fingerprint([Path(entry) for entry in sys.path if entry], target)


def defined_in(name: str) -> list[str]:
    """Every function, class, method and property that a module defines, as targets."""
    module = importlib.import_module(name)
    found = []
    for key, value in vars(module).items():
        if getattr(value, "__module__", None) != name or getattr(value, "__qualname__", None) != key:
            continue
        if inspect.isclass(value):
            members = [(member, getattr(v, "__func__", getattr(v, "fget", v))) for member, v in vars(value).items()]
            found += [
                f"{name}:{key}.{member}"
                for member, function in members
                if isinstance(function, FunctionType)
                and not member.startswith("__annotate")  # since Python 3.14, made by the compiler
                and function.__qualname__ == f"{key}.{member}"
                and function.__code__.co_filename == module.__file__
            ]
        if (inspect.isfunction(value) and not key.startswith("__annotate")) or inspect.isclass(value):
            found.append(f"{name}:{key}")
    return found


@pytest.mark.parametrize("target", TARGETS)
def test_text_and_object_have_the_same_fingerprint(target):
    """Each kind of target gives one fingerprint, however it is looked at."""
    assert as_text(target) == at_run_time(target)


@pytest.mark.parametrize("module", MODULES)
def test_whole_modules_agree(module):
    """No definition in these modules is cut differently by the two ways."""
    targets = defined_in(module)

    assert targets
    assert {t: as_text(t) for t in targets} == {t: at_run_time(t) for t in targets}


def write(folder, text):
    """A distribution with the one module `subject`."""
    (folder / "subject.py").write_text(text)
    return [folder]


def test_indentation_and_trailing_space_do_not_count(tmp_path):
    """The same method in another depth, with white space at line ends, is the same source."""
    shallow = write(tmp_path, "class A:\n    def f(self):\n        return 1\n")
    value = sources.fingerprint(shallow, "subject:A.f")
    deep = write(tmp_path, "class B:\n  class A:\n    def f(self):  \n        return 1\t\n\n\nx = 1\n")

    assert sources.fingerprint(deep, "subject:B.A.f") == value


def test_a_changed_decorator_changes_the_fingerprint(tmp_path):
    """Decorators are part of what a patch was written against."""
    plain = sources.fingerprint(write(tmp_path, "def f():\n    pass\n"), "subject:f")

    assert sources.fingerprint(write(tmp_path, "@cache\ndef f():\n    pass\n"), "subject:f") != plain


def test_a_property_is_its_getter(tmp_path):
    """The setter of the same name does not hide the getter that `fingerprint` looks at."""
    getter = "class A:\n    @property\n    def x(self):\n        return 1\n"
    value = sources.fingerprint(write(tmp_path, getter), "subject:A.x")
    both = write(tmp_path, getter + "\n    @x.setter\n    def x(self, value):\n        pass\n")

    assert sources.fingerprint(both, "subject:A.x") == value


def test_the_last_of_two_definitions_counts(tmp_path):
    """A redefinition in the same block replaces the first, as it does when the module runs."""
    twice = write(tmp_path, "def f():\n    return 1\n\n\ndef f():\n    return 2\n")

    assert "return 2" in sources.source(twice, "subject", ["f"])


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("if X:\n    def f(): pass\nelse:\n    def f(): pass\n", "several definitions"),
        ("f = g\n", "no definition"),
        ("from other import f\n", "no module other"),
    ],
)
def test_what_cannot_be_told_is_refused(tmp_path, text, reason):
    """Text that does not settle which source the name has gives a reason and no fingerprint."""
    with pytest.raises(sources.NotFoundError, match=reason):
        sources.fingerprint(write(tmp_path, text), "subject:f")


def test_an_inherited_method_is_that_of_its_base(tmp_path):
    """Also in a second base, and in a base's base."""
    top = "class Top:\n    def f(self):\n        return 4\n\n\nclass Base(Top):\n    pass\n\n\n"
    classes = write(tmp_path, f"import other\n{top}class Own(other.Mixin, Base):\n    def g(self): pass\n")

    assert "return 4" in sources.source(classes, "subject", ["Own", "f"])
    with pytest.raises(sources.NotFoundError, match="no definition of h"):
        sources.fingerprint(classes, "subject:Own.h")


def test_relative_imports_are_followed(tmp_path):
    """A name that a package takes from its own module has the source that it has there."""
    package = tmp_path / "package"
    package.mkdir()
    (package / "__init__.py").write_text("from ._inner import g as f\n")
    (package / "_inner.py").write_text("def g():\n    return 3\n")

    assert "return 3" in sources.source([tmp_path], "package", ["f"])
