"""Reads a PostgreSQL text once, from left to right: its summary, and the text without its literals.

Plain Python; compiled as `sql_c`. Lexical rules: PostgreSQL's documentation, "Lexical Structure". Any text can be
read, and none raises. Each step moves forward and reads a character at most a fixed number of times, so that the time
is linear in the length of the text. If the end of a literal is uncertain, the rest of the text is treated as part of
it.
"""

from __future__ import annotations

from otel_fastpath.db.queries.summary import Summary

# A longer text is cut here before it is read.
LONGEST = 8192
# Returned by the functions below if the text ends before the token does.
UNFINISHED = -1

# What a character can begin. Characters that are not in KINDS, all those beyond ASCII, are letters, as in PostgreSQL.
OTHER, SPACE, DIGIT, DOT, COMMA, OPEN, CLOSE, SEMICOLON, QUOTE, NAME, DOLLAR, MINUS, SLASH, LETTER = range(14)
_SPACES = " \t\r\n\f\v"
_BETWEEN = f";{_SPACES}"
KINDS = {
    **{chr(code): OTHER for code in range(128)},
    **dict.fromkeys(_SPACES, SPACE),
    **dict.fromkeys("0123456789", DIGIT),
    **dict.fromkeys("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_", LETTER),
    **dict(zip(".,();'\"$-/", (DOT, COMMA, OPEN, CLOSE, SEMICOLON, QUOTE, NAME, DOLLAR, MINUS, SLASH), strict=True)),
}
_BOOLEANS = frozenset({"TRUE", "FALSE"})


class Scan:
    """What was read.

    Attributes:
        text: The text with `?` for each literal, and without comments, which may contain anything. A list of literals
            after IN is one `?`.
        takes_arguments: Whether the text is one statement, of a kind that can have parameters, and was read to its end.
        summary: Operations and their targets; at most 255 characters, never a literal.
        operation: The first operation, in upper case.
        procedure: The procedure that CALL calls.
        first: The first word.
    """

    __slots__ = ("first", "operation", "procedure", "summary", "takes_arguments", "text")

    def __init__(self, text: str, is_one_statement: bool, summary: Summary) -> None:
        self.text = text
        self.takes_arguments = is_one_statement and summary.takes_arguments()
        self.summary = summary.text()
        self.operation = summary.operation
        self.procedure = summary.procedure
        self.first = summary.first


def scan(text: str, most: int = LONGEST) -> Scan:
    """Read a text.

    Args:
        text: Any `str`.
        most: A text with more characters is cut before it is read; a token that is open at the cut is left out.

    Returns:
        A `Scan`.
    """
    scanner = Scanner(text[:most], len(text) > most)
    scanner.read()
    return Scan(scanner.without_literals(), scanner.is_one_statement(), scanner.summary)


def without_quoted(text: str, names: str) -> str:
    """A text that was read, with `?` for what is in double quotes and is not among the names."""
    pieces: list[str] = []
    copied, length, at = 0, len(text), text.find('"')
    while at >= 0:
        end = quoted_end(text, at + 1, length)
        if end == UNFINISHED:
            break
        if text[at:end] not in names:
            pieces += (text[copied:at], "?")
            copied = end
        at = text.find('"', end)
    pieces.append(text[copied:])
    return "".join(pieces)


class Scanner:
    """Reads one text. Each method takes the position where a token begins, and returns where the next one begins."""

    __slots__ = (
        *("copied", "is_cut", "is_whole", "length", "list_size", "list_start", "pieces", "semicolon", "stop"),
        *("summary", "tail", "text"),
    )

    def __init__(self, text: str, is_cut: bool) -> None:
        self.text = text
        self.length = self.stop = len(text)
        # Whether every token has an end; `stop` is the end of the last one that has, and the tail replaces the rest.
        self.is_cut, self.is_whole, self.tail = is_cut, not is_cut, ""
        # The position of the first semicolon.
        self.semicolon = self.length
        # The result, and the position in the text up to which it is complete; the index of the first piece of a list
        # after IN that so far has only literals; and the number of literals.
        self.pieces: list[str] = []
        self.copied, self.list_start, self.list_size = 0, -1, 0
        self.summary = Summary()

    def read(self) -> None:
        """Read everything."""
        text, length, summary = self.text, self.length, self.summary
        at = 0
        while at < length:
            kind = KINDS.get(text[at], LETTER)
            if kind == SPACE:
                at += 1
            elif kind == COMMA:
                summary.comma()
                at += 1
            elif kind == DIGIT:
                at = self.literal(at, number_end(text, at, length))
            elif kind == QUOTE:
                at = self.literal(at, string_end(text, at + 1, length))
            elif kind == LETTER:
                at = self.word(at, word_end(text, at + 1, length))
            elif kind == OPEN:
                at = self.open(at)
            elif kind == CLOSE:
                at = self.close(at)
            elif kind == NAME:
                at = self.name(at, quoted_end(text, at + 1, length))
            elif kind == DOLLAR:
                at = self.dollar(at)
            elif kind == MINUS and text.startswith("--", at):
                at = self.comment(at, line_end(text, at + 2, length))
            elif kind == SLASH and text.startswith("/*", at):
                at = self.comment(at, block_end(text, at + 2, length))
            elif kind == DOT and at + 1 < length and KINDS.get(text[at + 1]) == DIGIT:
                at = self.literal(at, number_end(text, at, length))
            else:
                at = self.sign(at)

    def stop_at(self, at: int, tail: str) -> int:
        """Handle a token without an end: none of it is kept, and it is the last one."""
        self.is_whole = False
        self.stop = at
        self.tail = tail
        return self.length

    def is_open(self, end: int) -> bool:
        """Whether the token has no end, or ends where the text was cut, so that it may continue."""
        return end == UNFINISHED or (self.is_cut and end == self.length)

    def literal(self, at: int, end: int) -> int:
        """A literal."""
        if self.is_open(end):
            return self.stop_at(at, "?")
        self.pieces.append(self.text[self.copied : at])
        self.pieces.append("?")
        self.copied = end
        self.list_size += 1
        self.summary.literal()
        return end

    def comment(self, at: int, end: int) -> int:
        """A comment."""
        if self.is_open(end):
            return self.stop_at(at, "")
        self.pieces.append(self.text[self.copied : at])
        self.pieces.append(" ")
        self.copied = end
        return end

    def word(self, at: int, end: int) -> int:
        """A keyword, a name, or the prefix of a quoted literal or name."""
        text, length = self.text, self.length
        char = text[end] if end < length else " "
        if char == "'" and end - at == 1 and text[at] in "eE":
            return self.literal(at, escaped_end(text, end + 1, length))
        if char == "'" and end - at == 1 and text[at] in "bBxXnN":
            return self.literal(at, string_end(text, end + 1, length))
        if char == "&" and end - at == 1 and text[at] in "uU":
            if text.startswith("'", end + 1):
                return self.literal(at, string_end(text, end + 2, length))
            if text.startswith('"', end + 1):
                return self.name(at, quoted_end(text, end + 2, length))
        if self.is_open(end):
            return self.stop_at(at, "")
        if char == "." and name_end(text, end, length) != end:
            return self.name(at, end)
        word = text[at:end]
        upper = word.upper()
        if upper in _BOOLEANS or self.summary.is_value:
            return self.literal(at, end)
        self.list_start = -1
        self.summary.word(word, upper)
        return end

    def name(self, at: int, end: int) -> int:
        """A name that is quoted or continues after a dot: "a".b."c"."""
        end = name_end(self.text, end, self.length)
        if self.is_open(end):
            return self.stop_at(at, "" if self.is_cut else "?")
        if self.summary.is_value:
            return self.literal(at, end)
        self.list_start = -1
        self.summary.name(self.text[at:end])
        return end

    def dollar(self, at: int) -> int:
        """A parameter, a literal between dollar tags, or a dollar sign."""
        text, length = self.text, self.length
        end = at + 1
        if end < length and text[end] in "0123456789":
            while end < length and text[end] in "0123456789":
                end += 1
            if self.is_open(end):
                return self.stop_at(at, "")
            self.sign(at)
            return end
        end = tag_end(text, end, length)
        if self.is_open(end):
            return self.stop_at(at, "")
        if end == length or text[end] != "$":
            return self.sign(at)
        tag = text[at : end + 1]
        closing = text.find(tag, end + 1)
        return self.literal(at, UNFINISHED if closing < 0 else closing + len(tag))

    def sign(self, at: int) -> int:
        """An operator's character, a parameter, or another sign."""
        char = self.text[at]
        if char == ";" and self.semicolon == self.length:
            self.semicolon = at
        self.list_start = -1
        self.summary.sign(char)
        return at + 1

    def open(self, at: int) -> int:
        """An opening parenthesis."""
        self.list_start = -1
        if self.summary.last == "IN":
            self.pieces.append(self.text[self.copied : at + 1])
            self.copied = at + 1
            self.list_start = len(self.pieces)
            self.list_size = 0
        self.summary.open()
        return at + 1

    def close(self, at: int) -> int:
        """A closing parenthesis: if it ends a list of literals, the list becomes one literal."""
        if self.list_start >= 0 and self.list_size > 1:
            del self.pieces[self.list_start :]
            self.pieces.append("?")
            self.copied = at
        self.list_start = -1
        self.summary.close()
        return at + 1

    def is_one_statement(self) -> bool:
        """Whether the text was read to its end, and nothing follows a semicolon."""
        return self.is_whole and not self.text[self.semicolon :].strip(_BETWEEN)

    def without_literals(self) -> str:
        """The text with `?` for each literal."""
        self.pieces.append(self.text[self.copied : self.stop])
        self.pieces.append(self.tail)
        return "".join(self.pieces).strip(_SPACES)


def string_end(text: str, at: int, length: int) -> int:
    """Where a string ends that was opened before this position: at a quote that is not doubled.

    A backslash before the quote is an ordinary character, or, with standard_conforming_strings off, escapes the quote.
    Both are possible, so such a string has no certain end.
    """
    while True:
        quote = text.find("'", at)
        if quote < 0:
            return UNFINISHED
        before = quote
        while before > at and text[before - 1] == "\\":
            before -= 1
        if (quote - before) % 2:
            return UNFINISHED
        at = quote + 1
        if at == length or text[at] != "'":
            return at
        at += 1


def escaped_end(text: str, at: int, length: int) -> int:
    r"""Where a string ends in which a backslash escapes the next character: E'it\'s'."""
    while at < length:
        char = text[at]
        if char == "\\":
            at += 2
        elif char != "'":
            at += 1
        elif at + 1 < length and text[at + 1] == "'":
            at += 2
        else:
            return at + 1
    return UNFINISHED


def quoted_end(text: str, at: int, length: int) -> int:
    """Where a quoted name ends that was opened before this position."""
    while True:
        at = text.find('"', at) + 1
        if not at:
            return UNFINISHED
        if at == length or text[at] != '"':
            return at
        at += 1


def word_end(text: str, at: int, length: int) -> int:
    """Where a word ends that continues at this position: letters, digits, underscores and dollar signs."""
    while at < length:
        char = text[at]
        if char not in "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_$" and char < "\x80":
            return at
        at += 1
    return at


def name_end(text: str, at: int, length: int) -> int:
    """Where a name ends whose first part ended at this position: another part may follow after each dot."""
    while at != UNFINISHED and at < length and text[at] == ".":
        if at + 1 == length:
            return length
        kind = KINDS.get(text[at + 1], LETTER)
        if kind == NAME:
            at = quoted_end(text, at + 2, length)
        elif kind == LETTER:
            at = word_end(text, at + 2, length)
        else:
            return at
    return at


def tag_end(text: str, at: int, length: int) -> int:
    """Where the tag of a dollar-quoted literal ends: letters and digits."""
    while at < length:
        kind = KINDS.get(text[at], LETTER)
        if kind not in (LETTER, DIGIT):
            return at
        at += 1
    return at


def number_end(text: str, at: int, length: int) -> int:
    """Where a number ends that begins at this position.

    The meaning of a dollar sign right after it depends on PostgreSQL's version: such a number has no certain end.
    """
    if text[at] == "0" and at + 1 < length and text[at + 1] in "xXoObB":
        at = tag_end(text, at + 2, length)
    else:
        at = digits_end(text, at, length)
        if at < length and text[at] == ".":
            at = digits_end(text, at + 1, length)
        if at + 1 < length and text[at] in "eE":
            exponent = at + 2 if text[at + 1] in "+-" else at + 1
            if exponent < length and text[exponent] in "0123456789":
                at = digits_end(text, exponent, length)
    return UNFINISHED if at < length and text[at] == "$" else at


def digits_end(text: str, at: int, length: int) -> int:
    """Where a run of digits and underscores ends."""
    while at < length and text[at] in "0123456789_":
        at += 1
    return at


def line_end(text: str, at: int, length: int) -> int:
    """Where a line comment ends; the line break is not part of it."""
    while at < length and text[at] != "\n" and text[at] != "\r":
        at += 1
    return at


def block_end(text: str, at: int, length: int) -> int:
    """Where a block comment ends that was opened before this position; they nest."""
    depth = 1
    while at + 1 < length:
        char = text[at]
        if char == "*" and text[at + 1] == "/":
            at += 2
            depth -= 1
            if not depth:
                return at
        elif char == "/" and text[at + 1] == "*":
            at += 2
            depth += 1
        else:
            at += 1
    return UNFINISHED
