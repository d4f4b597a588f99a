"""The CPU time of a process and of those that it has started."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Final

# Fields of /proc/PID/stat after the command's name: see proc(5).
_GROUP: Final = 2
_TIMES: Final = slice(11, 15)


def why_not() -> str:
    """Why the CPU time of other processes cannot be read here; empty if it can."""
    return "" if sys.platform == "linux" else "the CPU time of other processes is read from /proc, which only Linux has"


def group_seconds(group: int) -> float:
    """The CPU time, user and system, of all processes of a process group, in seconds.

    It includes that of children that have ended and were waited for.
    """
    ticks = 0
    for file in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = file.read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
        except OSError:  # it has ended
            continue
        if int(fields[_GROUP]) == group:
            ticks += sum(map(int, fields[_TIMES]))
    return ticks / os.sysconf("SC_CLK_TCK")
