"""What the build keeps of what could be compiled."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from types import ModuleType

import pytest

from otel_fastpath import compiled as cores

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

pytestmark = pytest.mark.source
ROOT = Path(__file__).parents[2]


@pytest.fixture
def hook(monkeypatch):
    """The build hook, beside a stand-in for the build tool, which is there while building only."""
    name = "hatchling.builders.hooks.plugin.interface"
    stand_in = ModuleType(name)
    stand_in.BuildHookInterface = object
    monkeypatch.setitem(sys.modules, name, stand_in)
    monkeypatch.delitem(sys.modules, "otel_fastpath.compiled.build_hook", raising=False)
    module = importlib.import_module("otel_fastpath.compiled.build_hook")
    monkeypatch.setattr(module, "ALONE", {"alone": "alone.c"})
    return module


@pytest.mark.parametrize(
    ("missing", "kept"),
    [
        ([], "all"),
        (["alone"], "twins"),
        (["otel_fastpath.trace.spans.span_c"], "alone"),
        (["otel_fastpath.trace.spans.span_c", "alone"], "nothing"),
    ],
)
def test_a_module_that_does_not_compile_takes_no_other_along_that_can_do_without(hook, tmp_path, missing, kept):
    """The twins of the core are all there or none; the callback of the exception counters is there or not."""
    compiled = {name: tmp_path / name for name in [*hook.EXTENSIONS, "alone"]}
    for name, path in compiled.items():
        if name not in missing:
            path.touch()
    expected = {"all": set(compiled), "twins": set(hook.EXTENSIONS), "alone": {"alone"}, "nothing": set()}[kept]
    assert set(hook.usable(compiled)) == expected


def test_the_twins_are_those_that_the_core_looks_for(hook):
    """The chooser of the core and the build name the same modules."""
    assert {f"otel_fastpath.{name}" for name in cores.TWINS} | {hook.SHARED} == set(hook.EXTENSIONS)


def test_a_change_of_what_is_compiled_is_a_reason_to_build(hook):
    """If a file of `cache-keys` has changed, uv builds again; otherwise it keeps the modules as they were."""
    keys = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["uv"]["cache-keys"]
    watched = {path for key in keys if "file" in key for path in ROOT.glob(key["file"])}
    compiled = {ROOT / path for path in [*hook.EXTENSIONS.values(), *hook.HELPERS] if path}

    assert len(compiled) > 50
    assert sorted(compiled - watched) == []


@pytest.fixture
def project(hook, monkeypatch, tmp_path):
    """A project of three modules, whose compiler writes down what it was asked for; `project(change)` builds it."""
    room = tmp_path / "otel_fastpath" / "trace"
    room.mkdir(parents=True)
    (room / "_first.py").write_text("FIRST = 1\n")
    (room / "_first_c.pxd").write_text("cdef class First:\n    pass\n")
    (room / "_second.py").write_text("SECOND = 2\n")
    (room / "_second_c.pxd").write_text("from otel_fastpath.trace._first_c cimport First\n")
    (room / "_fourth.py").write_text("from otel_fastpath.trace._second import (\n    SECOND,\n)\n")
    (room / "_third_c.pyx").write_text('include "_part.pxi"\n')
    (room / "_part.pxi").write_text("PART = 3\n")
    sources = {
        "_first_c": "_first.py",
        "_second_c": "_second.py",
        "_third_c": "_third_c.pyx",
        "_fourth_c": "_fourth.py",
    }
    monkeypatch.setattr(hook, "ALONE", {})
    # Cython is there while building only.
    monkeypatch.setattr(hook, "version_of", lambda name: f"{name} 3")
    monkeypatch.setattr(
        hook,
        "EXTENSIONS",
        {f"otel_fastpath.trace.{name}": f"otel_fastpath/trace/{source}" for name, source in sources.items()},
    )
    asked = []

    def compile_apart(root, wanted):
        assert root == tmp_path
        for name, path in wanted.items():
            asked.append(name.rpartition(".")[2])
            path.write_text(name)
        return ""

    monkeypatch.setattr(hook, "compile_apart", compile_apart)

    def build(change=None):
        asked.clear()
        if change is not None:
            with (room / change).open("a") as file:
                file.write("\n")
        built = hook.compile_extensions(tmp_path, tmp_path / "kept", required=True)
        assert built.keys() == hook.EXTENSIONS.keys()
        assert sorted((tmp_path / "kept").iterdir()) == sorted(built.values())
        return sorted(asked)

    return build


@pytest.mark.parametrize(
    ("changed", "compiled"),
    [
        (None, []),
        ("_first.py", ["_first_c"]),
        ("_second_c.pxd", ["_fourth_c", "_second_c"]),
        ("_first_c.pxd", ["_first_c", "_fourth_c", "_second_c"]),
        ("_part.pxi", ["_third_c"]),
    ],
)
def test_only_what_has_changed_is_compiled_again(project, changed, compiled):
    """A module's own source, its C types, those that it takes from others, and what it includes."""
    assert project() == ["_first_c", "_fourth_c", "_second_c", "_third_c"]
    assert project(changed) == compiled


def test_a_module_that_must_compile_and_does_not_is_an_error_that_names_it(hook, project, monkeypatch):
    """With what the compiler said."""
    monkeypatch.setattr(hook, "compile_apart", lambda root, wanted: "no room left")  # noqa: ARG005
    with pytest.raises(RuntimeError, match=r"otel_fastpath\.trace\._first_c, .* could not be compiled:\nno room left"):
        project()


def test_what_is_compiled_takes_the_twins_line_for_line(hook, tmp_path):
    """An import of a hot module takes its twin; every other line is as it was, where it was."""
    project, folder = tmp_path / "project", tmp_path / "sources"
    first, second = [each for each in hook.EXTENSIONS.values() if each.startswith("otel_fastpath/trace/")][:2]
    (project / first).parent.mkdir(parents=True)
    taken = second.removesuffix(".py").replace("/", ".")
    text = (
        f"import os\nfrom {taken} import (\n    ONE,\n)\n\nfrom otel_fastpath.lazy import lazy\n"
        "if TYPE_CHECKING:\n    import this\n"
    )
    for each in (first, first.replace("trace/", "trace/cold_")):
        (project / each).parent.mkdir(parents=True, exist_ok=True)
        (project / each).write_text(text)
    hook.write_sources(project, folder)

    expected = text.replace(f"from {taken} import", f"from cython.cimports.{taken}_c import")
    assert (folder / first).read_text() == expected.replace("TYPE_CHECKING:", "False:")
    assert (folder / first.replace("trace/", "trace/cold_")).read_text() == text


@pytest.mark.parametrize(
    ("imported", "decorator"),
    [
        ("from otel_fastpath.compiled.sharing import IS_INTERRUPTED_AT_JUMPS, critical_section", "critical_section"),
        ("from otel_fastpath.compiled.sharing import critical_section, _LOCKS", "critical_section  # of one"),
        ("from otel_fastpath.compiled import sharing", "sharing.critical_section"),
    ],
)
def test_a_guard_that_would_not_be_compiled_is_an_error(hook, tmp_path, imported, decorator):
    """Its import is replaced in one form; in another one, the compiled functions would not be guarded."""
    first = next(each for each in hook.EXTENSIONS.values() if each.endswith(".py"))
    (tmp_path / "project" / first).parent.mkdir(parents=True)
    (tmp_path / "project" / first).write_text(f"{imported}\n\n\n@{decorator}\ndef f(one):\n    pass\n")

    with pytest.raises(ValueError, match="expected the line"):
        hook.write_sources(tmp_path / "project", tmp_path / "sources")


def test_what_a_hot_module_imports_is_a_reason_to_build_those_that_use_it(hook, tmp_path, monkeypatch):
    """Its imports are C variables of the compiled module, which those that cimport it expect there."""
    monkeypatch.setattr(hook, "EXTENSIONS", {"otel_fastpath.one_c": "otel_fastpath/one.py"})
    monkeypatch.setattr(hook, "version_of", lambda _name: "3")
    package = tmp_path / "otel_fastpath"
    package.mkdir()
    (package / "one_c.pxd").write_text("cdef int count\n")
    (package / "two.py").write_text("from otel_fastpath.one import count\n")
    digests = set()
    for line in ("import os\n", "import sys\n"):
        (package / "one.py").write_text(line)
        digests.add(hook.digest(tmp_path, "otel_fastpath.two_c", "otel_fastpath/two.py"))

    assert len(digests) == 2
