"""The summary of a SQL text: its operations and their targets, in the order of the text.

"Generating a summary of the query" of OpenTelemetry's database conventions: `SELECT orders customers`. Plain Python;
compiled as `summary_c`. `sql` reads the text and passes on each word, name, literal and sign in it. There is no parser:
the summary of invalid SQL is useless. A literal is never part of a summary.
"""

from __future__ import annotations

_LONGEST = 255
# Flags for one pair of parentheses: an operation was seen; names of a FROM are expected after commas; names of a WITH
# are expected.
OPERATES, IN_FROM, IN_WITH = 1, 2, 4
# Statements that can have parameters. Others have their values in the text: SET, ALTER ROLE, EXECUTE, DO.
_TAKES_ARGUMENTS = frozenset({"SELECT", "INSERT", "UPDATE", "DELETE", "MERGE", "VALUES", "TABLE", "WITH", "CALL"})
# Operations in any position, unless they follow one of these words: FOR UPDATE, ON DELETE CASCADE, THEN INSERT.
_ANYWHERE = frozenset({"SELECT", "INSERT", "UPDATE", "DELETE", "MERGE"})
_NOT_AFTER = frozenset({"FOR", "DO", "ON", "KEY", "THEN", "BEFORE", "AFTER", "OF", "OR"})
# Operations at the beginning that have one named target.
_WITH_NAME = frozenset(
    {
        *("CALL", "COPY", "LISTEN", "NOTIFY", "UNLISTEN", "SHOW", "SET", "RESET", "VACUUM", "ANALYZE", "LOCK"),
        *("EXECUTE", "DEALLOCATE", "TABLE", "TRUNCATE", "REFRESH", "CLUSTER", "REINDEX"),
    }
)
_ON_OBJECTS = frozenset({"CREATE", "ALTER", "DROP"})
# Operations that are the whole summary, whatever follows.
_ALONE = frozenset({"GRANT", "REVOKE", "COMMENT", "SECURITY", "PREPARE", "DECLARE", "DO"})
# Operations that can contain `SET name = value` or `SET name TO value`; the value can be a word without quotes.
_SETTING = frozenset({"SET", "ALTER", "CREATE"})
_NOISE = frozenset(
    {
        *("ONLY", "LATERAL", "IF", "NOT", "EXISTS", "CONCURRENTLY", "LOCAL", "SESSION", "GLOBAL", "TEMP", "TEMPORARY"),
        *("UNLOGGED", "UNIQUE", "OR", "REPLACE", "RECURSIVE", "TRUSTED", "FULL", "FREEZE", "VERBOSE"),
    }
)
_BEFORE_NAMES = frozenset({"FROM", "JOIN", "INTO", "USING"})
# After these, commas no longer separate tables.
_ENDS_FROM = frozenset(
    {
        *("WHERE", "GROUP", "ORDER", "HAVING", "LIMIT", "WINDOW", "UNION", "INTERSECT", "EXCEPT", "SET", "RETURNING"),
        *("FETCH", "OFFSET", "FOR", "VALUES", "WHEN", "SELECT", "DO"),
    }
)
# Words that are not names but can stand where a name is expected.
_NO_NAME = frozenset({"SELECT", "VALUES", "WITH", "SET", "ON", "WHERE", "AS", "TO", "FROM", "DEFAULT"})
_KINDS_OF_TABLES = frozenset({"TABLE", "VIEW", "MATERIALIZED"})
# The first of two words for the kind of an object: DROP MATERIALIZED VIEW name.
_HALF_OBJECTS = frozenset({"MATERIALIZED", "EVENT", "FOREIGN", "ACCESS"})
_SEQUELS = {"ROLLBACK": "TO", "RELEASE": "SAVEPOINT", "START": "TRANSACTION", "COMMIT": "PREPARED"}


class Summary:
    """Receives a text's tokens in order, except spaces and comments.

    Attributes:
        first: The first word.
        is_value: Whether a word or name at this position is a value: SET name = value.
        last: The last token in upper case, if it was a word.
        operation: The first operation, in upper case.
        procedure: The procedure that CALL calls.
    """

    __slots__ = (
        *("_begins", "_ctes", "_expects", "_found", "_head", "_level", "_levels", "_sets", "_size"),
        *("_wants_object", "first", "is_value", "last", "operation", "procedure"),
    )

    def __init__(self) -> None:
        self.first = self.last = self.operation = self.procedure = ""
        self._found: list[str] = []
        # Including the spaces between.
        self._size = -1
        self._ctes: set[str] = set()
        self._restart()

    def _restart(self) -> None:
        """Begin a statement."""
        self._levels: list[int] = []
        self._level = 0
        self._begins = True
        self._expects = False
        self._head = ""
        self._wants_object = False
        # Whether SET was seen; whether the rest of the statement is values.
        self._sets = self.is_value = False

    def text(self) -> str:
        """The summary; empty if there is no operation in the text."""
        return " ".join(self._found)

    def takes_arguments(self) -> bool:
        """Whether the first statement is of a kind that can have parameters."""
        return self.first.upper() in _TAKES_ARGUMENTS

    def literal(self) -> None:
        """A literal was read."""
        self._expects = False
        self.last = ""

    def comma(self) -> None:
        """A comma was read."""
        self._expects = self._level >= IN_FROM
        self.last = ""

    def open(self) -> None:
        """An opening parenthesis was read: a statement of its own may follow."""
        self._levels.append(self._level)
        self._level = 0
        self._expects = False
        self.last = ""

    def close(self) -> None:
        """A closing parenthesis was read."""
        if self._levels:
            self._level = self._levels.pop()
        self._expects = False
        self.last = ""

    def sign(self, char: str) -> None:
        """An operator, a parameter or another sign was read."""
        self.last = ""
        if char == ";":
            self._restart()
        elif char == "=" and self._sets:
            self.is_value = True

    def name(self, name: str) -> None:
        """A name was read that is not a keyword: quoted, or with dots."""
        self.last = ""
        if self._expects:
            self._add_name(name)

    def word(self, word: str, upper: str) -> None:
        """A word was read, as it is and in upper case: a keyword or a name."""
        if self._begins:
            self._begin(word, upper)
        elif self._head not in _ALONE:
            if upper in _ANYWHERE and self.last not in _NOT_AFTER and not self._wants_object:
                self._level &= OPERATES
                self._operate(word, upper)
            elif self._wants_object and upper not in _NOISE:
                # CREATE TABLE name, DROP MATERIALIZED VIEW name
                self._add(word)
                self._wants_object = upper in _HALF_OBJECTS
                self._expects = not self._wants_object
            elif upper in _BEFORE_NAMES:
                self._expects = bool(self._level & OPERATES) and self.last != "DISTINCT"
                if self._expects and upper in {"FROM", "USING"}:
                    self._level |= IN_FROM
            else:
                self._other(word, upper)
        self.last = upper

    def _other(self, word: str, upper: str) -> None:
        """A word was read that begins nothing."""
        if upper in _ENDS_FROM:
            self._level &= ~IN_FROM
        if upper == "SET" and self._head in _SETTING:
            self._sets = True
        elif upper == "TO" and self._sets:
            self.is_value = True
        if self.last == self._head and _SEQUELS.get(self.last) == upper:
            self._add(word)
            self._expects = False
        elif self._expects:
            if upper in _NOISE or upper in _KINDS_OF_TABLES or upper == self._head:
                # The name is still to come.
                return
            if upper in _NO_NAME and self._head != "SET":
                # CREATE INDEX ON table
                self._expects = upper == "ON" and self._head == "CREATE"
            else:
                self._add_name(word)

    def _begin(self, word: str, upper: str) -> None:
        """The first word of a statement, or of one in parentheses, was read."""
        self._begins = False
        self._head = upper
        if not self.first:
            self.first = word
        if upper == "WITH":
            self._level |= IN_WITH
            self._expects = True
        elif upper == "EXPLAIN":
            self._add_operation(word, upper)
            # The explained statement follows.
            self._head = ""
        elif upper in _ANYWHERE:
            self._operate(word, upper)
        else:
            self._add_operation(word, upper)
            self._sets = upper == "SET"
            self._wants_object = upper in _ON_OBJECTS
            self._expects = upper in _WITH_NAME
            if upper in {"TRUNCATE", "DROP"}:
                self._level |= IN_FROM

    def _operate(self, word: str, upper: str) -> None:
        """An operation on tables was read."""
        self._add_operation(word, upper)
        self._level |= OPERATES
        self._expects = upper == "UPDATE"

    def _add_operation(self, word: str, upper: str) -> None:
        if not self.operation:
            self.operation = upper
        self._add(word)

    def _add_name(self, name: str) -> None:
        """A name was read where one is expected."""
        self._expects = False
        if self._level & IN_WITH:
            self._ctes.add(name.upper())
        elif name.upper() not in self._ctes:
            self._add(name)
            if self._head == "CALL":
                self.procedure = name

    def _add(self, text: str) -> None:
        """Add to the summary if it fits; otherwise, the summary is complete."""
        self._size += 1 + len(text)
        if self._size <= _LONGEST:
            self._found.append(text)
        else:
            self._size = _LONGEST
