"""Reads CQL texts: what CQL has beyond SQL is replaced before the common reader of SQL reads the rest.

Lexical rules: Cassandra's documentation, "Definitions" and "Appendices" of CQL. Each expression below is linear in the
length of the text: a token without an end extends to the end of the text.
"""

from __future__ import annotations

import re
from typing import Any, Final

from otel_fastpath.compiled import hot
from otel_fastpath.db.conventions import BATCH, QueryText

# A longer text is cut here, before the token at the cut.
LONGEST: Final = 8192
_BETWEEN_TOKENS: Final = frozenset(" \t\r\n,()=")
# What quotes anything comes first. A constant is one that SQL does not have: a UUID, or a duration such as 1h30m.
_TOKEN: Final = re.compile(
    r"""
      '[^']*'? | "[^"]*"? | \$\$(?:.*?\$\$|.*) | --[^\r\n]* | /\*(?:.*?\*/|.*)
    | (?P<comment>//[^\r\n]*)
    | (?P<constant>
        (?<![\w$.])(?:
            [0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}
          | [0-9]+[a-zA-Z\u00b5]\w*
          | P[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:]+
          | P(?:[0-9]+[YMWD])+(?:T(?:[0-9]+[HMS])+)?
          | PT(?:[0-9]+[HMS])+
        )(?!\w)
      )
    """,
    re.VERBOSE | re.DOTALL,
)
# Where the driver puts the values of a statement that is not prepared.
_PLACEHOLDER: Final = re.compile(r"%\([^()%]*\)s|%s")
# Words that SQL has elsewhere: what follows them would be read as a table.
_USING: Final = re.compile(r"\bUSING\s+(?=(?:TTL|TIMESTAMP|TIMEOUT)\b)(?:TTL|TIMESTAMP|TIMEOUT)", re.IGNORECASE)
_BEGIN: Final = re.compile(r"\s*BEGIN\s+(?:(?:UNLOGGED|COUNTER)\s+)?BATCH\b", re.IGNORECASE)
_APPLY: Final = re.compile(r"\bAPPLY\s+BATCH\b", re.IGNORECASE)


def read(text: str, *, has_arguments: bool) -> QueryText:
    """Read a text, once. Only if values were passed beside it, it may be recorded unchanged."""
    if type(text) is not str:
        # A subclass may override methods.
        text = str.__str__(text)
    is_cut = len(text) > LONGEST
    head = _cut(text) if is_cut else text
    plain = _TOKEN.sub(_replaced, _PLACEHOLDER.sub("?", head) if has_arguments else head)
    scan: Any = hot.db_queries_sql.scan
    # The scanner handles the last token as one that is cut if the text has one character more than it reads.
    found = scan(f"{plain} " if is_cut else plain, len(plain))
    is_batch = _BEGIN.match(plain)
    named = scan(_USING.sub(" ", _APPLY.sub(" ", _BEGIN.sub(" ", plain, 1) if is_batch else plain)))
    return QueryText(
        text,
        text if has_arguments and found.takes_arguments else found.text,
        first=named.first,
        summary=f"{BATCH if is_batch else ''}{named.summary}".strip(),
        operation=named.operation,
    )


def _cut(text: str) -> str:
    end = LONGEST
    while end and text[end - 1] not in _BETWEEN_TOKENS:
        end -= 1
    return text[:end]


def _replaced(token: re.Match[str]) -> str:
    if token["constant"]:
        return "?"
    return " " if token["comment"] else token[0]
