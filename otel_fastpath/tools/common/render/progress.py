"""A progress bar of one line, shown on a terminal only."""

from __future__ import annotations

import shutil
import time
from typing import TYPE_CHECKING, Final, TextIO

if TYPE_CHECKING:
    from collections.abc import Callable

_WIDTH: Final = 24


def bar(stream: TextIO, *, wanted: bool = True) -> Callable[[int, int, str], None]:
    """Return a function to call with done, total and a text; it shows nothing unless the stream is a terminal."""
    if not wanted or not stream.isatty():
        return lambda _done, _total, _text: None
    started = time.monotonic()

    def show(done: int, total: int, text: str) -> None:
        share = min(done / max(total, 1), 1.0)
        filled = round(_WIDTH * share)
        passed = time.monotonic() - started
        left = f", {passed / share - passed:.0f} s left" if share > 0.05 else ""  # noqa: PLR2004  # a guess needs some past
        line = f"[{'#' * filled}{'.' * (_WIDTH - filled)}] {done}/{total}{left}  {text}"
        # Return to the start and erase the line, so that later output begins on a clean one.
        stream.write(f"\r\x1b[K{line[: shutil.get_terminal_size().columns - 1]}")
        if done >= total:
            stream.write("\r\x1b[K")
        stream.flush()

    return show
