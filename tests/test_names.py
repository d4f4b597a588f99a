"""The names in the package: questions only answer, classes and modules have one meaning each, stock is called stock."""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections import defaultdict
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import otel_fastpath
from otel_fastpath.features import LIBRARIES

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

ROOT = Path(otel_fastpath.__file__).parent
FILES = sorted(path for path in ROOT.rglob("*.py") if "__pycache__" not in path.parts)

# These are siblings, whatever they stand below.
LIBRARY_FOLDERS = {"/".join(part.place.split(".")[:2]) for part in LIBRARIES.parts}
DRIVERS, SERVERS = (sorted(each for each in LIBRARY_FOLDERS if each.startswith(place)) for place in ("db/", "http/"))
# Old paths of public modules, and the name by which Python finds a file.
SHARED = {"budget", "gevent", "libraries", "profile", "sitecustomize"}

# Words that only this package used, which a reader had to learn.
GONE = {
    "Face",
    "Installable",
    "Kept",
    "Late",
    "Manner",
    "Part",
    "ReadOnlyFace",
    "ReadableFace",
    "Room",
    "Served",
    "SetUp",
    "ShortWay",
    "SpanFace",
    "Starter",
    "Waiting",
    "Way",
}
_QUESTION = re.compile(r"_?(is|has|are)_")
_OTHER_NAMES = re.compile(r"upstream|official", re.IGNORECASE)
# What is called so elsewhere: addresses, files, commands, and the names of patches, which users set and read.
_ELSEWHERE = re.compile(
    r"https?://\S+|[\w./-]*(?:tests|docs|\.cache)/[\w./-]*|make upstream\S*|upstream-suites\S*|\bofficial\.[\w{}*]*"
)


def functions(tree: ast.Module) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    """All functions and methods of a module."""
    yield from (each for each in ast.walk(tree) if isinstance(each, (ast.FunctionDef, ast.AsyncFunctionDef)))


def changes(function: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    """Whether a function assigns to, or deletes, an attribute or an item of one of its arguments."""
    arguments = function.args
    given = {each.arg for each in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)}
    for node in ast.walk(function):
        if isinstance(node, (ast.Attribute, ast.Subscript)) and isinstance(node.ctx, (ast.Store, ast.Del)):
            owner: ast.expr = node
            while isinstance(owner, (ast.Attribute, ast.Subscript)):
                owner = owner.value
            if isinstance(owner, ast.Name) and owner.id in given:
                return True
    return False


def questions_that_act(source: str) -> list[str]:
    """The functions of a module that are named as a question and change what they are given."""
    found = [each.name for each in functions(ast.parse(source)) if _QUESTION.match(each.name) and changes(each)]
    return sorted(found)


def ambiguous(classes: dict[str, list[Path]]) -> list[str]:
    """The names of classes that stand for several things.

    Counterparts may share one: the same module of sibling folders, such as `db/redis/options.py` and
    `db/psycopg/options.py`.

    Args:
        classes: The files that define each name, without the underscore of private ones.
    """
    return sorted(
        name
        for name, files in classes.items()
        if len({(file.name, file.parent.parent) for file in files}) > 1
        or len({file.parent for file in files}) < len(files)
    )


def ambiguous_modules(paths: Iterable[Path]) -> list[str]:
    """The names of modules, and of folders, that stand for several things.

    Counterparts may share one: modules of sibling folders, or of the folders of libraries, and the module that they
    stand on in the folder above, such as `db/pools.py` for `db/psycopg/pools.py`. A library's folder has its name.
    """
    folders = defaultdict(set)
    for path in paths:
        named = path.parent if path.name == "__init__.py" else path.with_suffix("")
        if named.as_posix() not in LIBRARY_FOLDERS and named.name not in SHARED:
            folders[named.name].add(named.parent)
    return sorted(
        name
        for name, found in folders.items()
        if len({_above(folder) for folder in found - {each.parent for each in found}}) > 1
    )


def _above(folder: Path) -> Path:
    return Path("libraries") if folder.as_posix() in LIBRARY_FOLDERS else folder.parent


def other_names_of_stock(source: str) -> list[str]:
    """The words for stock in a module that are not "stock", each with the line of its name, text or comment."""
    return [
        f"{token.start[0]}: {word}"
        for token in tokenize.generate_tokens(io.StringIO(source).readline)
        for word in _OTHER_NAMES.findall(_ELSEWHERE.sub("", token.string))
    ]


def defined() -> dict[str, list[Path]]:
    """The classes of the package, by name without underscores: the files that define them."""
    classes = defaultdict(list)
    for path in FILES:
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.ClassDef):
                classes[node.name.strip("_")].append(path.relative_to(ROOT))
    return classes


def test_questions_only_answer() -> None:
    """What is named `is_`, `has_` or `are_` changes nothing that it is given."""
    found = {path: questions_that_act(path.read_text(encoding="utf-8")) for path in FILES}
    assert {path: names for path, names in found.items() if names} == {}


def test_stock_is_called_stock() -> None:
    """OpenTelemetry's own code has one name: in the code, the docstrings, the comments and the messages."""
    found = {path: other_names_of_stock(path.read_text(encoding="utf-8")) for path in FILES}
    assert {path: words for path, words in found.items() if words} == {}


def test_a_class_name_has_one_meaning() -> None:
    """But for counterparts in the same module of sibling folders."""
    assert ambiguous(defined()) == []


def test_a_module_name_has_one_meaning() -> None:
    """But for counterparts, see `ambiguous_modules`."""
    modules = (path.relative_to(ROOT) for path in FILES if path.name != "__main__.py")
    assert ambiguous_modules(modules) == []


def test_the_private_words_are_gone() -> None:
    """No class has one of them as its name."""
    assert sorted(GONE & set(defined())) == []


def test_a_question_that_acts_is_found() -> None:
    """Attributes and items, set, changed and deleted; not those of what the function made itself."""
    source = """
class Span:
    def is_ended(self): self.end = 1
    def has_room(self): return self.room > 0
def _is_set(span, key): span.attributes[key] = 1
def is_counted(span): span.count += 1
def are_removed(span): del span.events[0]
def is_known(span):
    made = Span()
    made.name = span.name
    return made
def end(span): span.end = 1
"""
    assert questions_that_act(source) == ["_is_set", "are_removed", "is_counted", "is_ended"]


@pytest.mark.parametrize(
    ("files", "found"),
    [
        (["db/redis/options.py", "db/psycopg/options.py"], []),
        (["db/redis/options.py"], []),
        (["db/redis/options.py", "http/wsgi/options.py"], ["Options"]),
        (["db/redis/options.py", "db/psycopg/query_plans.py"], ["Options"]),
        (["db/redis/options.py", "db/redis/query_plans.py"], ["Options"]),
    ],
)
def test_counterparts_may_share_a_name(files: list[str], found: list[str]) -> None:
    """The same module of sibling folders, and nothing else."""
    assert ambiguous({"Options": [Path(each) for each in files]}) == found


@pytest.mark.parametrize(
    ("paths", "found"),
    [
        ([f"{DRIVERS[0]}/hooks.py", f"{SERVERS[0]}/hooks.py"], []),
        (["db/pools.py", f"{DRIVERS[0]}/pools.py", f"{DRIVERS[1]}/pools.py"], []),
        ([f"{SERVERS[0]}/__init__.py", f"trace/{Path(SERVERS[0]).name}.py"], []),
        (["logs/register.py", "trace/register.py"], []),
        ([f"{DRIVERS[0]}/hooks.py", "trace/hooks.py"], ["hooks"]),
        (["trace/spans/__init__.py", "otlp/altering/spans.py"], ["spans"]),
        (["db/pools.py", f"{SERVERS[0]}/pools.py", "trace/spans/pools.py"], ["pools"]),
    ],
)
def test_modules_that_share_a_name(paths: list[str], found: list[str]) -> None:
    """Counterparts may, in the folders of libraries or in siblings."""
    assert ambiguous_modules(map(Path, paths)) == found


def test_other_names_of_stock_are_found() -> None:
    """In names, docstrings and comments; not in paths, addresses, commands and the names of patches."""
    source = '''
"""Upstream's spans; see tests/upstream/run.py and https://example.org/official/upstream."""
is_official = 1  # as upstream does it
names = "official.command"  # `official.command` and `make upstream-contrib`
'''
    assert other_names_of_stock(source) == ["2: Upstream", "3: official", "3: upstream"]
