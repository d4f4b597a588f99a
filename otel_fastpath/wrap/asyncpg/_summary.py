"""The summary of a query: its operations and what they are applied to, in the order of the text.

"Generating a summary of the query" of OpenTelemetry's database conventions: `SELECT orders customers`. It is read off
the tokens, not parsed: a query that is not valid SQL has a summary that is of no use, and none raises.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from otel_fastpath.wrap.asyncpg._sql import COMMENT, LITERAL, PUNCTUATION, QUOTED, SPACE, WORD

if TYPE_CHECKING:
    from collections.abc import Sequence

    from otel_fastpath.wrap.asyncpg._sql import Token

_LONGEST: Final = 255
# Operations wherever they stand, unless one of these stands before: FOR UPDATE, ON DELETE CASCADE, THEN INSERT.
_ANYWHERE: Final = frozenset({"SELECT", "INSERT", "UPDATE", "DELETE", "MERGE"})
_NOT_AFTER: Final = frozenset({"FOR", "DO", "ON", "KEY", "THEN", "BEFORE", "AFTER", "OF", "OR"})
# Operations at the beginning that are applied to one thing with a name.
_WITH_NAME: Final = frozenset(
    {
        *("CALL", "COPY", "LISTEN", "NOTIFY", "UNLISTEN", "SHOW", "SET", "RESET", "VACUUM", "ANALYZE", "LOCK"),
        *("EXECUTE", "DEALLOCATE", "TABLE", "TRUNCATE", "REFRESH", "CLUSTER", "REINDEX"),
    }
)
_ON_OBJECTS: Final = frozenset({"CREATE", "ALTER", "DROP"})
# Those that say no more than themselves, whatever words follow.
_ALONE: Final = frozenset({"GRANT", "REVOKE", "COMMENT", "SECURITY", "PREPARE", "DECLARE", "DO"})
_NOISE: Final = frozenset(
    {
        *("ONLY", "LATERAL", "IF", "NOT", "EXISTS", "CONCURRENTLY", "LOCAL", "SESSION", "GLOBAL", "TEMP", "TEMPORARY"),
        *("UNLOGGED", "UNIQUE", "OR", "REPLACE", "RECURSIVE", "TRUSTED", "FULL", "FREEZE", "VERBOSE"),
    }
)
# After these, what a comma separates is no table any more.
_ENDS_FROM: Final = frozenset(
    {
        *("WHERE", "GROUP", "ORDER", "HAVING", "LIMIT", "WINDOW", "UNION", "INTERSECT", "EXCEPT", "SET", "RETURNING"),
        *("FETCH", "OFFSET", "FOR", "VALUES", "WHEN", "SELECT", "DO"),
    }
)
# What can stand where a name is expected without being one.
_NO_NAME: Final = frozenset({"SELECT", "VALUES", "WITH", "SET", "ON", "WHERE", "AS", "TO", "FROM", "DEFAULT"})
_SEQUELS: Final = {"ROLLBACK": "TO", "RELEASE": "SAVEPOINT", "START": "TRANSACTION", "COMMIT": "PREPARED"}


@dataclass
class _Level:
    """What is known inside one pair of parentheses."""

    operates: bool = False
    in_from: bool = False
    # Names are expected after WITH and after the commas that follow a CTE's closing parenthesis.
    in_with: bool = False


@dataclass
class _Reader:
    """Goes through the significant tokens of a query."""

    found: list[str] = field(default_factory=list)
    first: str = ""
    procedure: str = ""
    levels: list[_Level] = field(default_factory=lambda: [_Level()])
    begins: bool = True
    expects: bool = False
    head: str = ""
    wants_object: bool = False
    last: str = ""
    ctes: set[str] = field(default_factory=set)

    def read(self, parts: Sequence[Token]) -> None:
        at = 0
        while at < len(parts):
            kind, text = parts[at]
            if kind == PUNCTUATION:
                self._punctuation(text)
            elif kind == WORD and self._keyword(text, text.upper()):
                pass
            elif kind in {WORD, QUOTED} or (kind == LITERAL and text[0] == "'"):
                at = self._name(parts, at)
            at += 1
            self.last = text.upper() if kind == WORD else text

    def _punctuation(self, text: str) -> None:
        if text == "(":
            # COPY (SELECT ...), EXPLAIN (ANALYZE) SELECT ...; a name that is expected may be a subquery.
            self.levels.append(_Level())
            self.expects = False
        elif text == ")":
            if len(self.levels) > 1:
                self.levels.pop()
            self.expects = False
        elif text == ",":
            level = self.levels[-1]
            self.expects = level.in_from or level.in_with
        elif text == ";":
            self.levels = [_Level()]
            self.begins, self.expects, self.head, self.wants_object = True, False, "", False

    def _keyword(self, text: str, word: str) -> bool:
        """Whether the word was one that says what to do, and not a name."""
        level = self.levels[-1]
        if self.begins:
            self._begin(text, word)
            return True
        if self.head in _ALONE:
            return True
        if word in _ANYWHERE and self.last not in _NOT_AFTER and not self.wants_object:
            level.in_from = level.in_with = False
            self._operate(text, word)
            return True
        if self.wants_object and word not in _NOISE:
            # CREATE TABLE name, DROP MATERIALIZED VIEW name
            self.found[-1] += f" {text}"
            self.wants_object = word in {"MATERIALIZED", "EVENT", "FOREIGN", "ACCESS"}
            self.expects = not self.wants_object
            return True
        if word in {"FROM", "JOIN", "INTO", "USING"}:
            self.expects = level.operates and self.last != "DISTINCT"
            level.in_from = level.in_from or (self.expects and word in {"FROM", "USING"})
            return True
        if word in _ENDS_FROM:
            level.in_from = False
        return self._is_no_name(text, word)

    def _is_no_name(self, text: str, word: str) -> bool:
        if _SEQUELS.get(self.last) == word and self.head == self.last:
            self.found[-1] += f" {text}"
            self.expects = False
            return True
        if self.expects and (
            word in _NOISE or (word == self.head == "TRUNCATE") or word in {"TABLE", "VIEW", "MATERIALIZED"}
        ):
            return True
        if word in _NO_NAME and not (self.expects and self.head == "SET"):
            # CREATE INDEX ON table
            self.expects = self.expects and word == "ON" and self.head == "CREATE"
            return True
        return not self.expects

    def _begin(self, text: str, word: str) -> None:
        self.begins = False
        self.head = word
        level = self.levels[-1]
        if word == "WITH":
            level.in_with = self.expects = True
        elif word == "EXPLAIN":
            self._found(text, word)
            # What it explains is a statement of its own.
            self.head = ""
        elif word in _ANYWHERE:
            self._operate(text, word)
        else:
            self._found(text, word)
            self.wants_object = word in _ON_OBJECTS
            self.expects = word in _WITH_NAME
            level.in_from = word in {"TRUNCATE", "DROP"}

    def _operate(self, text: str, word: str) -> None:
        self._found(text, word)
        self.levels[-1].operates = True
        self.expects = word == "UPDATE"

    def _found(self, text: str, word: str) -> None:
        self.first = self.first or word
        self.found.append(text)

    def _name(self, parts: Sequence[Token], at: int) -> int:
        """Read a name with its dots; gives where it ends."""
        if not self.expects:
            return at
        self.expects = False
        name = parts[at].text
        while at + 2 < len(parts) and parts[at + 1].text == "." and parts[at + 2].kind in {WORD, QUOTED}:
            name += f".{parts[at + 2].text}"
            at += 2
        level = self.levels[-1]
        if level.in_with:
            self.ctes.add(name.upper())
        elif name.upper() not in self.ctes:
            self.found.append(name)
            if self.head == "CALL":
                self.procedure = name
        return at


@dataclass(frozen=True)
class Summary:
    """What a query does.

    Attributes:
        text: The summary; empty where there is no operation in the query.
        operation: The first operation, in upper case.
        procedure: What CALL calls.
    """

    text: str
    operation: str
    procedure: str


def summarise(parts: Sequence[Token]) -> Summary:
    """Summarise a query, given all its tokens."""
    reader = _Reader()
    reader.read([part for part in parts if part.kind not in {SPACE, COMMENT}])
    text = ""
    for each in reader.found:
        longer = f"{text} {each}" if text else each
        if len(longer) > _LONGEST:
            break
        text = longer
    return Summary(text, reader.first, reader.procedure)
