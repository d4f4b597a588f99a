"""Annotations for GitHub: lines that GitHub Actions shows at a file's line in a pull request.

Source: "Workflow commands for GitHub Actions", `::error file={name},line={line},title={title}::{message}`.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

_ESCAPED: Final = {"%": "%25", "\r": "%0D", "\n": "%0A"}
_ESCAPED_IN_PROPERTY: Final = {**_ESCAPED, ":": "%3A", ",": "%2C"}


def is_workflow() -> bool:
    """Whether this process runs in a GitHub workflow."""
    return os.environ.get("GITHUB_ACTIONS") == "true"


def error_line(file: Path | str, line: int, title: str, message: str) -> str:
    """The line that annotates a line of a file, without its end.

    Args:
        file: The file; one in the workspace is named relative to it.
        line: The line's number, from 1.
        title: The title.
        message: The message.
    """
    workspace = os.environ.get("GITHUB_WORKSPACE", "")
    path = Path(file).absolute()
    name = path.relative_to(workspace).as_posix() if workspace and path.is_relative_to(workspace) else str(file)
    properties = {"file": name, "line": str(line), "title": title}
    listed = ",".join(f"{key}={_escape(value, _ESCAPED_IN_PROPERTY)}" for key, value in properties.items())
    return f"::error {listed}::{_escape(message, _ESCAPED)}"


def _escape(text: str, escaped: dict[str, str]) -> str:
    return "".join(escaped.get(character, character) for character in text)
