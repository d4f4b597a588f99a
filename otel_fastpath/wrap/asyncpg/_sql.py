"""The tokens of a PostgreSQL query, and its text without literals.

Lexical rules: PostgreSQL's documentation, "Lexical Structure". Any text gives tokens; what is not valid SQL gives
tokens that are of no use, and where it is not certain where a literal ends, it goes on to the end.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator

WORD: Final = "word"
QUOTED: Final = "quoted"
PARAMETER: Final = "parameter"
LITERAL: Final = "literal"
PUNCTUATION: Final = "punctuation"
SPACE: Final = "space"
COMMENT: Final = "comment"

_TOKEN: Final = re.compile(
    r"""
      (?P<space>\s+)
    | (?P<comment>--[^\n]*)
    | (?P<block>/\*)
    | (?P<escaped>[eE]'(?:[^'\\]+|\\.|'')*(?:'|\Z))
    | (?P<string>(?:[bBxXnN]|[uU]&)?'[^']*(?:''[^']*)*(?:'|\Z))
    | (?P<parameter>\$\d+)
    | (?P<dollar>\$(?:[^\W\d]\w*)?\$)
    | (?P<quoted>(?:[uU]&)?"[^"]*(?:""[^"]*)*(?:"|\Z))
    | (?P<number>0[xX][0-9a-fA-F_]+|0[oO][0-7_]+|0[bB][01_]+|(?:\d[\d_]*(?:\.[\d_]*)?|\.\d[\d_]*)(?:[eE][+-]?\d[\d_]*)?)
    | (?P<word>[^\W\d][\w$]*)
    | (?P<punctuation>.)
    """,
    re.VERBOSE | re.DOTALL,
)
_KINDS: Final = {"escaped": LITERAL, "string": LITERAL, "dollar": LITERAL, "number": LITERAL, "block": COMMENT}
_BLOCK_EDGE: Final = re.compile(r"/\*|\*/")
# With standard_conforming_strings off the quote after it does not end the string, with on it does: both are possible.
_AMBIGUOUS: Final = re.compile(r"(?<!\\)(?:\\\\)*\\'")
_LIST: Final = re.compile(r"\b(in\s*\(\s*\?)(?:\s*,\s*\?)+(?=\s*\))", re.IGNORECASE)
_BOOLEANS: Final = frozenset({"TRUE", "FALSE"})


class Token(NamedTuple):
    """One token.

    Attributes:
        kind: One of the names above.
        text: As it stands in the query.
    """

    kind: str
    text: str


def tokens(text: str) -> Iterator[Token]:
    """Every token of a query, spaces and comments included: joined, they are the text."""
    position = 0
    while position < len(text):
        match = _TOKEN.match(text, position)
        if match is None or match.lastgroup is None:  # every character matches something
            return
        end = match.end()
        name = match.lastgroup
        if name == "block":
            end = _block_end(text, end)
        elif name == "dollar":
            closing = text.find(match[0], end)
            end = len(text) if closing < 0 else closing + len(match[0])
        elif name == "string" and _AMBIGUOUS.search(match[0]):
            end = len(text)
        yield Token(_KINDS.get(name, name), text[position:end])
        position = end


def without_literals(parts: list[Token]) -> str:
    """The text with every literal replaced by `?` and without comments, which can hold anything."""
    kept = []
    for kind, text in parts:
        if kind == LITERAL or (kind == WORD and text.upper() in _BOOLEANS):
            kept.append("?")
        elif kind == COMMENT:
            kept.append(" ")
        else:
            kept.append(text)
    return _LIST.sub(r"\1", "".join(kept)).strip()


def _block_end(text: str, position: int) -> int:
    """Where a block comment ends that was opened before this position; they nest."""
    depth = 1
    for match in _BLOCK_EDGE.finditer(text, position):
        depth += 1 if match[0] == "/*" else -1
        if not depth:
            return match.end()
    return len(text)
