"""Any text at all is read as a query: nothing raises, no literal leaves, and the work grows with the length."""

from __future__ import annotations

import sys

from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from otel_fastpath.compiled import load
from otel_fastpath.db.queries import sql
from otel_fastpath.db.queries import summary as _summary

# How long it takes to make a text says how busy the machine is.
unhurried = settings(
    deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture], print_blob=True
)
# What begins, ends, and hides literals, names and comments.
pieces = st.sampled_from(
    [
        *(
            "'",
            "''",
            '"',
            '""',
            "\\",
            "\\'",
            "E'",
            "e'\\",
            "U&'",
            'U&"',
            "N'",
            "B'",
            "X'",
            "$",
            "$$",
            "$1",
            "$a$",
            "$é_1$",
        ),
        *("--", "\n", "\r", "/*", "*/", "/", "*", "-", ".", ",", ";", "(", ")", "=", "::", "->>", " ", "\xa0", "\x00"),
        *("1", "0x1F", "1e", "1.5", "_", "a", "é", "\ud800", "𝄞", "IN (", "IN (1,", "a.b", 'a."b"', "true"),
        *(
            "SELECT",
            "FROM ",
            "INSERT INTO ",
            "UPDATE ",
            "SET ",
            "WITH ",
            "AS ",
            "CREATE TABLE ",
            "DROP ",
            "MATERIALIZED ",
        ),
        *("COPY ", "EXPLAIN ", "PREPARE ", "CALL ", "ALTER ROLE ", " TO "),
    ]
)
hostile = st.lists(st.one_of(pieces, st.text(max_size=3)), max_size=40).map("".join)


@unhurried
@given(hostile)
def test_any_text_can_be_read(core, text):
    """Nothing raises; both cores find the same; a text without literals is left as it is."""
    found = load("db.queries.sql", core).scan(text)
    same = sql.scan(text)

    for name in sql.Scan.__slots__:
        assert getattr(found, name) == getattr(same, name)
    assert len(found.summary) <= 255
    assert load("db.queries.sql", core).scan(found.text).text == found.text


@unhurried
@given(hostile, st.integers(0, 60))
def test_a_cut_text_can_be_read(scan, text, most):
    """And what is left of it is not altered by another look."""
    found = scan(text, most)

    assert len(found.text) <= most + 1
    assert scan(found.text).text == found.text


MARK = "zq7"
secrets = st.text(alphabet="abcxyz'\"\\$;-/* \n0189", max_size=12).map(lambda text: f"{MARK}{text}{MARK}")


def _quoted(text):
    return "'{}'".format(text.replace("'", "''").replace("\\", "\\\\"))


FORMS = {
    "string": _quoted,
    "escapes": lambda text: "E'{}'".format(text.replace("\\", "\\\\").replace("'", "\\'")),
    "escapes, doubled": lambda text: f"e{_quoted(text)}",
    "national": lambda text: f"N{_quoted(text)}",
    "unicode": lambda text: f"U&{_quoted(text)}",
    "dollars": lambda text: f"$${text.replace('$', '')}$$",
    "tag": lambda text: f"$tag${text.replace('$tag$', '')}$tag$",
    "tag beyond ASCII": lambda text: f"$été_1${text}$été_1$",
    "comment": lambda text: f"/* {text.replace('*', '')} */",
    "nested comment": lambda text: f"/* /* {text.replace('*', '')} */ {text.replace('*', '')} */",
    "rest of a line": lambda text: "--{}\n".format(text.replace("\n", "")),
    "continued": lambda text: f"'a'\n{_quoted(text)}",
    "open": lambda text: f"'{text.replace(chr(39), '')}",
    "open, escapes": lambda text: f"E'{text.replace(chr(39), '')}",
    "open, dollars": lambda text: f"$q$ {text}",
    "open comment": lambda text: f"/* {text.replace('*', '')}",
}


@unhurried
@given(
    secrets,
    st.sampled_from(sorted(FORMS)),
    st.sampled_from(["", "FROM ", "IN (", "SET x = ", "COPY t FROM ", "x"]),
    hostile,
)
def test_no_literal_leaves(scan, secret, form, before, after):
    """Whatever is in it, quoted as PostgreSQL wants it, behind and in front of whatever text."""
    space = " " if before == "x" else ""
    for text in (
        f"SELECT a, {before}{space}{FORMS[form](secret)} , {after}",
        f"{before}{space}{FORMS[form](secret)}",
        f"PREPARE p AS SELECT $1, {FORMS[form](secret)}; {after}",
    ):
        for most in (8192, len(text) // 2, max(0, len(text) - 3)):
            found = scan(text, most)
            for told in (found.text, found.summary, found.operation, found.procedure, found.first):
                assert MARK not in told


def _steps(text):
    """The number of lines of ours that are executed to read a text in plain Python."""
    files = {sql.__file__, _summary.__file__}
    count = 0

    def local(_frame, event, _argument):
        nonlocal count
        count += event == "line"
        return local

    before = sys.gettrace()
    sys.settrace(lambda frame, _event, _argument: local if frame.f_code.co_filename in files else None)
    try:
        sql.scan(text, len(text))
    finally:
        sys.settrace(before)
    return count


@unhurried
@given(hostile)
@example("'" * 999)
@example("IN (1," * 300)
@example("$a" * 500)
def test_the_steps_grow_with_the_length(text):
    """No text needs more than a fixed number of lines for each of its characters."""
    assert _steps(text) <= 50 * len(text) + 100


class Counting(str):
    """A text that counts how many of its characters are looked at at once, by a search or a slice."""

    __slots__ = ("looked_at",)

    def __init__(self, _text):
        self.looked_at = 0

    def find(self, part, start):
        """Count up to what is found."""
        found = super().find(part, start)
        self.looked_at += (len(self) if found < 0 else found) - start + len(part)
        return found

    def __getitem__(self, key):
        """Count what is copied."""
        found = super().__getitem__(key)
        self.looked_at += len(found)
        return found


@unhurried
@given(hostile, st.integers(1, 20))
@example("$a$$", 99)
@example("/*", 99)
@example('a."', 99)
def test_what_c_looks_at_grows_with_the_length(text, times):
    """Searches and copies look at each character a fixed number of times, too."""
    counting = Counting(text * times)

    sql.Scanner(counting, False).read()  # noqa: FBT003  # the hot module takes no keywords

    assert counting.looked_at <= 8 * len(counting) + 100
