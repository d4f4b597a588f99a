"""Compiles the hot modules with ThreadSanitizer; run by an interpreter that has Cython and the same headers.

    python sanitizedbuild.py REPOSITORY FOLDER

A copy of the package goes to FOLDER. What has not changed since the last time is not compiled again.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "faults" / "faultcheck"))

import tracedbuild


def main(repository: Path, folder: Path) -> None:
    """Compile them as they are shipped, but for the sanitizer and with the names and lines of functions."""
    tracedbuild.DIRECTIVES = tracedbuild._build_hook(repository).DIRECTIVES
    tracedbuild.MACROS = []
    tracedbuild.FLAGS = ["-g", "-O1", "-fsanitize=thread"]
    os.environ["LDFLAGS"] = "-fsanitize=thread"
    folder.mkdir(parents=True, exist_ok=True)
    tracedbuild.build(repository, folder)


if __name__ == "__main__":
    main(Path(sys.argv[1]).resolve(), Path(sys.argv[2]).resolve())
