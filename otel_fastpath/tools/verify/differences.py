"""The list of known differences, `differences.toml`: read by `verify`, the demo, the vendors' checks and the docs."""

from __future__ import annotations

from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Final

from otel_fastpath.tools.budget import declare

FILE: Final = Path(__file__).with_name("differences.toml")


@dataclass(frozen=True)
class Listed:
    """One entry; the file says what its fields are."""

    where: str
    what: str
    test: str
    why: str = ""
    signal: str = ""
    name: str = ""
    field: str = "*"
    vendor: str = ""
    path: str = ""
    ours: str = ""

    def covers(self, signal: str, name: str, field: str) -> bool:
        """Whether a difference that `verify` found in this field is this one."""
        pairs = ((signal, self.signal), (name, self.name), (field, self.field))
        return all(fnmatchcase(value, pattern) for value, pattern in pairs)


def listed(file: Path = FILE) -> list[Listed]:
    """Every entry, in the order of the file."""
    return [Listed(**entry) for entry in declare.load_toml(file)["difference"]]
