"""Hot modules do not know which build they are in, and their C types name the fields that their classes have."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

import otel_fastpath
from otel_fastpath import compiled

pytestmark = pytest.mark.source
ROOT = Path(otel_fastpath.__file__).parent
HOT = sorted(
    path
    for path in (ROOT.joinpath(*name.removesuffix("_c").split(".")).with_suffix(".py") for name in compiled.TWINS)
    if path.exists()
)
# But for what is written in Cython.
TYPED = [
    path
    for path in HOT
    if path.with_name(f"{path.stem}_c.pxd").exists() and not path.with_name(f"{path.stem}_c.pyx").exists()
]
FIELD = re.compile(r"cdef (?:public |readonly )?(?:unsigned )?[\w.]+(?: \w+)? (\w+)$")


def fields(types: str) -> dict[str, set[str]]:
    """What each class of a .pxd declares, but for its methods."""
    found: dict[str, set[str]] = {}
    name = ""
    for line in types.splitlines():
        begun = re.match(r"cdef class (\w+)", line)
        if begun:
            name = begun[1]
            found.setdefault(name, set())
        elif line.startswith("    ") and name:
            field = FIELD.match(line.strip())
            if field:
                found[name].add(field[1])
        elif line:
            name = ""
    return found


def slots(source: str) -> dict[str, set[str]]:
    """The `__slots__` of each class of a module."""
    found = {}
    for node in ast.parse(source).body:
        if not isinstance(node, ast.ClassDef):
            continue
        for each in node.body:
            if isinstance(each, ast.Assign) and getattr(each.targets[0], "id", "") == "__slots__":
                found[node.name] = set(eval(ast.unparse(each.value)))  # noqa: S307  # a tuple of texts
    return found


def annotated(source: str) -> dict[str, set[str]]:
    """The fields that each class of a module annotates; the classes that annotate none are left out."""
    found: dict[str, set[str]] = {}
    for node in ast.parse(source).body:
        if isinstance(node, ast.ClassDef):
            for each in node.body:
                if isinstance(each, ast.AnnAssign):
                    assert each.value is None, "the value of a field does not stand in its class"
                    found.setdefault(node.name, set()).add(each.target.id)
    return found


@pytest.mark.parametrize("path", HOT, ids=lambda path: str(path.relative_to(ROOT)))
def test_no_hot_module_asks_which_build_it_is_in(path):
    """One way through the code: no question after the build, no name that only one of the builds has."""
    tree = ast.parse(path.read_text(encoding="utf-8"))

    names = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    assert not names & {"COMPILED", "PURE", "globals", "cython"}
    stars = [node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) and node.names[0].name == "*"]
    assert not stars


@pytest.mark.parametrize("path", TYPED, ids=lambda path: str(path.relative_to(ROOT)))
def test_the_c_types_name_the_fields_of_the_classes(path):
    """A class of the compiled core has the fields that its `__slots__` name in the pure one, and no other."""
    own = slots(path.read_text(encoding="utf-8"))
    declared = fields(path.with_name(f"{path.stem}_c.pxd").read_text(encoding="utf-8"))

    typed = {name for name in declared if name in own}
    assert {name: declared[name] for name in typed} == {name: own[name] for name in typed}
    assert declared.keys() <= own.keys()


@pytest.mark.parametrize("path", HOT, ids=lambda path: str(path.relative_to(ROOT)))
def test_the_annotations_name_the_fields_of_the_classes(path):
    """A class that says the types of its fields says them of all its `__slots__`, and of nothing else."""
    source = path.read_text(encoding="utf-8")
    own, typed = slots(source), annotated(source)

    assert typed == {name: own[name] for name in typed}


def test_fields_are_annotated():
    """What the test above compares is there: classes without an `__init__` have their types nowhere else."""
    assert any(annotated(path.read_text(encoding="utf-8")) for path in HOT)


def test_every_helper_has_both_forms():
    """A name of `compiled.helpers`, or of a module like it, is one of its .pxd, and the other way round."""
    for name in ("baggage_header", "exponential_buckets", "helpers", "taking_points", "traceparent"):
        folder = ROOT / "compiled"
        tree = ast.parse((folder / f"{name}.py").read_text(encoding="utf-8"))
        pure = {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}
        pure |= {node.targets[0].id for node in tree.body if isinstance(node, ast.Assign)}
        types = (folder / f"{name}_c.pxd").read_text(encoding="utf-8")
        in_c = set(re.findall(r'^    \w+ (\w+) "', types, re.MULTILINE))

        assert {each for each in pure if not each.startswith("_")} == in_c
