"""Files through which processes of one user talk to each other, and text of others that is safe to print.

Others may write to the folder of temporary files, so no file there is believed because of its name: a link is not
followed, and a file of another user's, or one that others may write to, is refused.
"""

from __future__ import annotations

import os
import stat
import sys
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from pathlib import Path

_BY_OTHERS: Final = stat.S_IWGRP | stat.S_IWOTH
_NO_LINK: Final = getattr(os, "O_NOFOLLOW", 0)
_ROOT: Final = 0


class ForeignError(OSError):
    """A file or folder is not of the user that it must be of, or others may write to it."""


def check_folder(folder: Path) -> None:
    """Check a folder: it must belong to this user or to root, and others must not be able to replace files in it.

    Raises:
        ForeignError: It does not, or they can.
        OSError: There is none.
    """
    found = folder.stat()
    users = _users()
    is_open = found.st_mode & _BY_OTHERS and not found.st_mode & stat.S_ISVTX
    if not stat.S_ISDIR(found.st_mode) or (users and (found.st_uid not in users or is_open)):
        raise ForeignError(f"{folder} is not a folder that only this user can write to")


def check_own_folder(folder: Path) -> None:
    """Check a folder that this user has made: it must be no link, and nobody else may write to it.

    Raises:
        ForeignError: It is not so.
        OSError: There is none.
    """
    found = folder.lstat()
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.getuid() or found.st_mode & _BY_OTHERS:
        raise ForeignError(f"{folder} is not a folder that only this user can write to")


def is_there(path: Path) -> bool:
    """Whether there is a file of this user's or of root's at this path, and no link."""
    try:
        found = path.lstat()
    except OSError:
        return False
    return _is_right(found, _users())


def create(path: Path, text: str) -> None:
    """Write a new file that only this user can read, in the place of one that is there.

    Raises:
        OSError: It cannot be written, or another user has put something there meanwhile.
    """
    path.unlink(missing_ok=True)
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | _NO_LINK
    with os.fdopen(os.open(path, flags, 0o600), "w", encoding="utf-8") as file:
        file.write(text)


def read(path: Path, owner: int | None = None) -> str:
    """Read a file of this user's or of root's.

    Args:
        path: The file.
        owner: A further user that it may be of.

    Raises:
        ForeignError: It is of another user, or others may write to it.
        OSError: It cannot be read, or is a link.
    """
    with os.fdopen(os.open(path, os.O_RDONLY | _NO_LINK | getattr(os, "O_NONBLOCK", 0)), encoding="utf-8") as file:
        if not _is_right(os.fstat(file.fileno()), _users() if owner is None else {*_users(), owner}):
            raise ForeignError(f"{path} is not of this user, or others can write to it: it is not read")
        return file.read()


def owner_of(process: int) -> int | None:
    """The user of a running process; None: that is not known."""
    try:
        return os.stat(f"/proc/{process}").st_uid  # noqa: PTH116  # no path of a file
    except OSError:
        return None


def printable(text: str) -> str:
    """A text of others without what a terminal acts upon; lines stay lines."""
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() or char == "\n" else _escaped(char) for char in text)


def complain(message: object) -> None:
    """Write what is wrong to stderr; arguments and answers of others are in it."""
    sys.stderr.write(f"otel-fastpath: {printable(str(message))}\n")


def printable_in(value: Any) -> Any:
    """The same for each text in what was read from JSON, where a line's end is escaped, too."""
    if isinstance(value, str):
        return printable(value).replace("\n", "\\n")
    if isinstance(value, list):
        return [printable_in(each) for each in value]
    if isinstance(value, dict):
        return {printable_in(key): printable_in(each) for key, each in value.items()}
    return value


def _escaped(char: str) -> str:
    return char.encode("unicode_escape").decode("ascii")


def _users() -> set[int]:
    return {os.getuid(), _ROOT} if hasattr(os, "getuid") else set()


def _is_right(found: os.stat_result, users: set[int]) -> bool:
    # On Windows, files have no such owner and mode.
    is_right = not users or (found.st_uid in users and not found.st_mode & _BY_OTHERS)
    return stat.S_ISREG(found.st_mode) and is_right
