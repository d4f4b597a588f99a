"""The statements of changed functions."""

from __future__ import annotations

import inspect
import json
import linecache
import runpy
import textwrap
from pathlib import Path

import pytest

from otel_fastpath.tools.prove.new_statements import FILE, as_text, known_statements, statements_of, unshown_lines

ROOT = Path(__file__).resolve().parents[3]

FUNCTION = """
    def function(value, *, key=None):
        '''Words.'''
        found: list = []
        if value is None:
            raise ValueError("none")
        for each in value:
            try:
                found.append(each)
            except LookupError as error:
                log(error)
        return found
"""


@pytest.fixture
def define(request):
    """Defines the function of a text, which has a file of its own."""
    files = []

    def made(text):
        file = f"<{request.node.name} {len(files)}>"
        text = textwrap.dedent(text)
        files.append(file)
        linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
        names = {}
        exec(compile(text, file, "exec", dont_inherit=True), names)  # noqa: S102  # the text above
        return names["function"]

    yield made
    for file in files:
        del linecache.cache[file]


@pytest.mark.parametrize(
    ("old", "new", "lines"),
    [
        ("", "", []),
        ("'''Words.'''", "'''Other words.'''", []),
        ("found", "result", []),
        ("error", "problem", []),
        ("found: list = []", "found: list = [None]", [4]),
        ("value is None", "not value", [5]),
        ('"none"', '"nothing"', [6]),
        ("in value", "in sorted(value)", [7]),
        ("LookupError", "KeyError", [10]),
        ("log(error)", "log(error, 1)", [11]),
        ("return found", "return (\n            found[1:]\n        )", [12, 13, 14]),
        ("return found", "_spare = 1\n        return found", [12]),
    ],
)
def test_new_statements(define, old, new, lines):
    """The names of local variables do not count, nor does what is executed."""
    known = as_text(statements_of(define(FUNCTION)))
    changed = define(FUNCTION.replace(old, new))
    assert unshown_lines(changed, known, set(range(1, 99))) == lines
    assert unshown_lines(changed, known, set()) == []


@pytest.mark.parametrize(("missed", "lines"), [({6, 7}, [6]), ({8, 9, 10, 11, 12}, [])])
def test_a_statement_less(define, missed, lines):
    """Of the block that it was in, something must be executed."""
    text = FUNCTION.replace("            raise", '            log("none")\n            raise')
    assert unshown_lines(define(FUNCTION), as_text(statements_of(define(text))), missed) == lines


def test_a_block_that_is_empty(define):
    """It cannot be shown that what it had was not needed."""
    known = as_text(statements_of(define(FUNCTION)))
    assert unshown_lines(define(FUNCTION.replace('raise ValueError("none")', "pass")), known, set()) == [5, 6]


def test_a_function_that_is_not_known_is_new():
    """All of it, with the right lines."""

    def function(value):
        if value:
            return 1
        return 2

    _, first = inspect.getsourcelines(function)
    assert unshown_lines(function, "", set(range(999))) == [first + 1, first + 2, first + 3]


def test_the_file_is_read_as_it_is_written():
    """Each statement has a digest, and the one of its block if that is not the function."""
    found = known_statements()
    assert {len(each) for of in found.values() for each in of.split()} == {4, 8}
    assert "opentelemetry.sdk.trace:Tracer.start_span" in found


@pytest.mark.source
def test_the_file_knows_what_is_installed():
    """`make sources NAME=statements` writes it; another release than the locked one has other statements."""
    digests = runpy.run_path(str(ROOT / "tests/others/known_statements.py"))["digests"]
    found = json.loads(FILE.read_text(encoding="utf-8"))
    lacking = {place for place, text in digests().items() if found.get(place) != text}
    assert lacking == set()
