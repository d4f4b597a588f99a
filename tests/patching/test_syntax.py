"""A fingerprint is that of what a definition does: however it is written, and whichever Python reads it."""

from __future__ import annotations

import ast
import importlib
import inspect
import json
import linecache
import os
import subprocess
import sys
from pathlib import Path

import pytest
from onepatch import louder

from otel_fastpath.patching.patch import Patch, Patcher
from otel_fastpath.patching.sources import syntax
from otel_fastpath.patching.sources.guard import SkipError, check_sources, fingerprint, text_digest

KNOWN = """\
@staticmethod
def function(a, b=1, *more, key="x", **rest):
    total: int = a + b
    for each in more:
        if each > 1 and key not in rest:
            total += len(f"{each:>{b}} of {key!r}")
    return total
"""
# What does the same.
SAME = {
    "layout": KNOWN.replace("a + b", "(\n        a\n        + b\n    )").replace('"', "'"),
    "comments": KNOWN.replace("    for", "    # What follows\n    for"),
    "a docstring": KNOWN.replace("    total:", '    """Add.\n\n    All of them.\n    """\n    total:'),
    "no annotation of a variable": KNOWN.replace("total: int", "total"),
    "annotations": KNOWN.replace("(a, b=1, *more, ", "(a: int, b: 'int' = 1, *more: int, ").replace(
        "):\n", ") -> int:\n", 1
    ),
    "a pass": KNOWN.replace("    return", "    pass\n    return"),
    "joined strings": KNOWN.replace('!r}"', '!r}" ""').replace('f"{each', '"" f"{each'),
    "deeper indentation": "".join(f"    {line}" for line in KNOWN.splitlines(keepends=True)),
}
# What does something else.
CHANGED = {
    "a default": KNOWN.replace("b=1", "b=2"),
    "a default of a keyword": KNOWN.replace('"x"', '"y"'),
    "no default": KNOWN.replace("b=1", "b"),
    "an operator": KNOWN.replace("a + b", "a - b"),
    "a comparison": KNOWN.replace("> 1", ">= 1"),
    "and is or": KNOWN.replace(" and ", " or "),
    "a decorator": KNOWN.replace("@staticmethod", "@classmethod"),
    "no decorator": KNOWN.replace("@staticmethod\n", ""),
    "a called name": KNOWN.replace("len(", "sum("),
    "an attribute": KNOWN.replace("len(", "key.len("),
    "the name of a parameter": KNOWN.replace("more", "others"),
    "the kind of a parameter": KNOWN.replace("*more, key", "*, key"),
    "the type of a constant": KNOWN.replace("b=1", "b=True"),
    "a format": KNOWN.replace(":>", ":<"),
    "a conversion": KNOWN.replace("!r", "!s"),
    "async": KNOWN.replace("def ", "async def "),
    "one statement more": KNOWN.replace("    return", "    a = b\n    return"),
}
DATACLASS = "@dataclass\nclass Point:\n    x: int = 0\n    y: ClassVar[int] = 0\n"


def digest(text):
    """The fingerprint of the one definition in this text."""
    return syntax.digest(syntax.parse_definition(text))


@pytest.mark.parametrize("text", SAME.values(), ids=SAME)
def test_how_it_is_written_does_not_count(text):
    """Layout, comments, docstrings and annotations are not part of the fingerprint."""
    assert text != KNOWN
    assert digest(text) == digest(KNOWN)


@pytest.mark.parametrize("text", CHANGED.values(), ids=CHANGED)
def test_what_it_does_counts(text):
    """Each of these changes gives another fingerprint."""
    assert text != KNOWN
    assert digest(text) != digest(KNOWN)


def test_what_the_code_reads_counts():
    """Docstrings count where the code reads docstrings, and annotations where it, a decorator or a base reads them."""
    reads = "def f(a: {}):\n    '''{}'''\n    return f.{}\n"

    assert digest(reads.format("int", "A", "__doc__")) != digest(reads.format("int", "B", "__doc__"))
    assert digest(reads.format("int", "A", "__doc__")) == digest(reads.format("str", "A", "__doc__"))
    assert digest(reads.format("int", "A", "__annotations__")) != digest(reads.format("str", "A", "__annotations__"))
    assert digest(DATACLASS) != digest(DATACLASS.replace("ClassVar[int]", "int"))
    assert digest("class A(NamedTuple):\n    x: int\n") != digest("class A(NamedTuple):\n    x: str\n")
    assert digest("class A:\n    x: int = 1\n") == digest("class A:\n    x = 1\n")
    point = "@dataclass\nclass Point:\n    x: {}\n"
    assert digest(point.format("Optional[int]")) == digest(point.format("int | None"))
    assert digest(point.format("typing.Union[int, str]")) == digest(point.format("int | str"))
    assert digest(point.format("Optional[int]")) != digest(point.format("int"))
    assert digest("@f.register\ndef _(a: int): ...\n") != digest("@f.register\ndef _(a: str): ...\n")


@pytest.mark.parametrize(
    ("one", "same", "other"),
    [
        ("return typing.cast(A, x.y)", "return x.y", "return cast(A, x.y)"),
        ("return typing.cast(A, x.y)", "return x.y", "return typing.cast(A)"),
        ("isinstance(x, typing.Iterable)", "isinstance(x, Iterable)", "isinstance(x, abc.Iterable)"),
        ("return tuple(e for e in x)", "return tuple(x)", "return tuple(e for e in x if e)"),
        ("return tuple(e for e in x)", "return tuple(x)", "return tuple(y for e in x)"),
        ("return tuple(e for e in x)", "return tuple(x)", "return any(e for e in x)"),
        ("return tuple(e for e in x)", "return tuple(x)", "return tuple(e async for e in x)"),
    ],
)
def test_what_a_type_checker_or_linter_asks_for_does_not_count(one, same, other):
    """It changes nothing; what is written in a similar way does."""
    known = digest(f"async def f(x):\n    {one}\n")

    assert known == digest(f"async def f(x):\n    {same}\n")
    assert known != digest(f"async def f(x):\n    {other}\n")


def test_the_class_of_a_dataclass_field_does_not_count():
    """`dataclass` reads only whether a field is one, and nothing is known of other decorators and of base classes."""
    point = "@{}\nclass Point{}:\n    x: {}\n"

    assert digest(point.format("dataclass(frozen=True)", "", "Instrument")) == digest(
        point.format("dataclass(frozen=True)", "", "_Instrument")
    )
    assert digest(point.format("dataclass", "", "A")) != digest(point.format("dataclass", "", "KW_ONLY"))
    assert digest(point.format("dataclass", "", "A")) != digest(point.format("dataclass", "", "InitVar[A]"))
    assert digest(point.format("other", "", "A")) != digest(point.format("other", "", "B"))
    assert digest(point.format("dataclass", "(Base)", "A")) != digest(point.format("dataclass", "(Base)", "B"))


def test_a_local_variable_stays_one():
    """An annotation without a value makes a name local to its function, so it counts; its type does not."""
    local = "def f():\n    x: int\n    return x\n"

    assert digest(local) != digest("def f():\n    return x\n")
    assert digest(local) == digest(local.replace("int", "str"))


def test_strings_of_several_lines_are_not_dedented():
    """The text of a method is indented; its strings mean what they mean there."""
    method = "    def f(self):\n        return '''\n        a\n'''\n"

    assert digest(method) != digest("def f(self):\n    return '''\n    a\n'''\n")


@pytest.mark.parametrize("text", ["x = 1\n", "def f(): ...\nx = 1\n", "def f(:\n", "", "    # nothing\n"])
def test_what_is_not_one_definition_has_no_fingerprint(text):
    """Text that was cut in the wrong place is refused."""
    with pytest.raises(SyntaxError):
        digest(text)


PROGRAM = """\
import importlib.util, json, sys
spec = importlib.util.spec_from_file_location("syntax", sys.argv[1])
syntax = importlib.util.module_from_spec(spec)
spec.loader.exec_module(syntax)
print(json.dumps([syntax.digest(syntax.parse_definition(text)) for text in json.load(sys.stdin)]))
"""


def definitions():
    """The definitions in this package, of all kinds, and those above."""
    found = [KNOWN, *SAME.values(), *CHANGED.values(), DATACLASS]
    for file in sorted(Path(syntax.__file__).parents[2].rglob("*.py")):
        text = file.read_text(encoding="utf-8")
        found += [
            ast.get_source_segment(text, node)
            for node in ast.parse(text).body
            if isinstance(node, ast.FunctionDef | ast.ClassDef)
        ]
    return found


def interpreters():
    """The other interpreters that this machine has, by version."""
    versions = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv"), "versions")
    found = {}
    for file in sorted(versions.glob("3.*/bin/python")):
        number = tuple(int(part) for part in file.parents[1].name.split(".")[:2] if part.isdigit())
        if number >= (3, 10) and number != sys.version_info[:2]:
            found[number] = file
    return found


@pytest.mark.slow
@pytest.mark.parametrize(
    "python", [pytest.param(file, id=".".join(map(str, number))) for number, file in interpreters().items()]
)
def test_other_versions_of_python_have_the_same_fingerprints(python):
    """The fingerprints that one version of Python wrote are those that the guards find on another."""
    texts = definitions()
    done = subprocess.run(
        [python, "-I", "-c", PROGRAM, syntax.__file__],
        input=json.dumps(texts),
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )

    assert len(texts) > 300
    assert json.loads(done.stdout) == [digest(text) for text in texts]


STOCK = """\
def first(a):
    return a


def second(a):
    return first(a) + 1


class Class:
    def third(self):
        return 3
"""
RELEASED = """\
def first(a: int) -> int:
    return a or 0

def second(
    a: int,
) -> int:
    return (first(a) + 1)

class Class:
    def third(self):
        \"\"\"New.\"\"\"
        return 3  # as ever
"""


def replace(modules, text):
    """Install another release of the module above; it is not imported yet."""
    sys.modules.pop("release", None)
    modules("release", text)
    linecache.checkcache()


def known_of(module):
    """The fingerprint of each place in the module above."""
    places = {"first": module.first, "second": module.second, "Class.third": module.Class.third}
    return {f"release:{name}": frozenset({fingerprint(value)}) for name, value in places.items()}


def test_a_change_costs_only_the_patches_that_rest_on_it(modules):
    """Of a release that reformats all and changes one function, only the patches that name that function are lost."""
    modules("release", STOCK)
    known = known_of(importlib.import_module("release"))
    replace(modules, RELEASED)
    both = {place: known[place] for place in ("release:first", "release:second")}
    patches = [Patch(name=place, target=place, why="", make=louder, sources={place: known[place]}) for place in known]
    patcher = Patcher(
        [*patches, Patch(name="both", target="release:second", why="", make=louder, sources=both)], lambda _name: []
    )
    importlib.import_module("release")
    patcher.install()
    states = {row.name: row.state.value for row in patcher.status()}
    patcher.uninstall()

    assert states == {
        "release:first": "skipped",
        "release:second": "applied",
        "release:Class.third": "applied",
        "both": "skipped",
    }


def test_text_that_is_not_known_is_parsed(modules):
    """A guard that knows only digests of text refuses the reformatted release; one that knows fingerprints does not."""
    modules("release", STOCK)
    old = importlib.import_module("release")
    known = known_of(old)["release:second"]
    text = frozenset({text_digest(inspect.getsource(old.second))})
    check_sources({"release:second": text}, frozenset())
    replace(modules, RELEASED)
    importlib.import_module("release")

    with pytest.raises(SkipError, match="is not one this patch"):
        check_sources({"release:second": text}, frozenset())
    check_sources({"release:second": text | known}, frozenset())
