"""What a span records about a command or pipeline: its name and placeholders, never its arguments."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence

PIPELINE: Final = "PIPELINE"
MULTI: Final = "MULTI"
# How many placeholders of a command, and how many commands of a pipeline, are in the text.
MOST_SHOWN: Final = 16
# How much of what should be a command's name is read: an application may pass a whole command there.
_MOST_READ: Final = 64
_NAME: Final = re.compile(r"[A-Za-z][A-Za-z0-9._-]{0,31}")
_SUBCOMMAND: Final = re.compile(r"[A-Za-z][A-Za-z-]{0,23}")
# Their first argument names what they do.
_CONTAINERS: Final = frozenset(
    {
        *("ACL", "CLIENT", "CLUSTER", "COMMAND", "CONFIG", "DEBUG", "FUNCTION", "HIMPORT", "LATENCY", "MEMORY"),
        *("MODULE", "OBJECT", "PUBSUB", "SCRIPT", "SENTINEL", "SLOWLOG", "XGROUP", "XINFO"),
    }
)
# Commands that may have a password among their arguments.
_SECRETS: Final = frozenset({"ACL", "AUTH", "CONFIG", "HELLO", "MIGRATE", "MODULE", "SENTINEL"})


class Command(NamedTuple):
    """A command.

    Attributes:
        given: What was passed for its name.
        arguments: The number of its other arguments.
        name: Its name, with its subcommand if they were passed together; empty if it cannot be one.
        text: The command as on a command line, with placeholders for its arguments.
    """

    given: Any
    arguments: int
    name: str
    text: str


def read(given: Any, arguments: int) -> Command:
    """Read a command: "GET", b"GET", "CONFIG SET" or a whole one, "GET a", and the number of its other arguments."""
    words = _words(given)
    number = _name_words(words)
    name = " ".join(words[:number])
    if not name:
        return Command(given, arguments, "", "")
    hidden = arguments + len(words) - number
    placeholders = " ?" * min(hidden, MOST_SHOWN)
    return Command(given, arguments, name, f"{name}{placeholders}{' ...' if hidden > MOST_SHOWN else ''}")


def is_secret(given: Any) -> bool:
    """Whether a command may have a password among its arguments; so may one whose name cannot be read."""
    words = _words(given)
    return not _name_words(words) or words[0].upper() in _SECRETS


def is_plain(given: Any) -> bool:
    """Whether what was passed for a command's name is no more than that."""
    words = _words(given)
    return bool(words) and len(words) == _name_words(words)


def _words(given: Any) -> list[str]:
    if issubclass(type(given), (bytes, bytearray)):
        given = bytes(given[:_MOST_READ]).decode("ascii", "replace")
    # Whatever its `__class__` says of it.
    return str.split(given[:_MOST_READ]) if issubclass(type(given), str) else []


def _name_words(words: Sequence[str]) -> int:
    """How many of these words are a command's name."""
    if not words or not _NAME.fullmatch(words[0]):
        return 0
    has_subcommand = len(words) > 1 and words[0].upper() in _CONTAINERS and _SUBCOMMAND.fullmatch(words[1])
    return 2 if has_subcommand else 1


class PipelineCommands(NamedTuple):
    """The commands of a pipeline.

    Attributes:
        kind: PIPELINE or MULTI.
        commands: The first of them.
        size: The number of all; above one, it may be that of another pipeline with the same text.
        is_uniform: Whether all have one name.
        is_same: Whether all have one text.
    """

    kind: str
    commands: tuple[Command, ...]
    size: int
    is_uniform: bool
    is_same: bool

    @property
    def name(self) -> str:
        """The name of the operation: a pipeline of one command is that command."""
        if not self.is_uniform or not self.commands:
            return self.kind
        name = self.commands[0].name
        return name if self.size == 1 and self.kind == PIPELINE else f"{self.kind} {name}".strip()

    @property
    def text(self) -> str:
        """Their texts, a line for each, or the one that all have."""
        if self.is_same and self.commands:
            return self.commands[0].text
        texts = [command.text for command in self.commands]
        return "\n".join([*texts, "..."] if self.size > len(texts) else texts)
