"""The status of a running process, asked for through a folder: `otel-fastpath status PID`.

Opt-in. The asking process creates PID.request in the folder that both know; a thread of the asked one looks for it once
a second, and answers with PID.status, whatever the request contains. No signal, no socket, nothing per span.
"""

from __future__ import annotations

import contextlib
import json
import os
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from otel_fastpath.patching import faults
from otel_fastpath.status import exchange, state

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from otel_fastpath.patching.patch import Row

INTERVAL: Final = 1.0
PATIENCE: Final = 10.0
_WIDTH: Final = 100


class _Answering:
    """Answers requests until it is stopped.

    Args:
        folder: Where requests and answers are.
        report: Returns the rows of the instrumentor.
    """

    def __init__(self, folder: str, report: Callable[[], Sequence[Row]]) -> None:
        self._folder = folder
        self._report = report
        self.start()

    def start(self) -> None:
        """Start the thread; in a forked child, another one."""
        self._stopped = threading.Event()
        self._request, self._answer = _places(self._folder, os.getpid())
        threading.Thread(target=self._run, args=(self._stopped,), name="otel-fastpath-status", daemon=True).start()

    def stop(self) -> None:
        """Let the thread end."""
        self._stopped.set()

    def _run(self, stopped: threading.Event) -> None:
        while not stopped.wait(INTERVAL):
            try:
                if exchange.is_there(self._request):
                    self._request.unlink()
                    self._write()
            except Exception as error:  # noqa: PERF203  # the next request may be answered
                faults.report("status", error)

    def _write(self) -> None:
        found = state.collect(self._report())
        answer = {
            "json": state.as_json(found),
            "text": state.as_text(found, _WIDTH),
            "whole": state.as_text(found, _WIDTH, is_whole=True),
        }
        partial = self._answer.with_suffix(".partial")
        # Only this user may read what the process consists of.
        exchange.create(partial, json.dumps(answer))
        partial.replace(self._answer)


_answering: _Answering | None = None


def answer(folder: str, report: Callable[[], Sequence[Row]]) -> None:
    """Answer requests in this folder from now on, also in forked children."""
    global _answering
    stop()
    _answering = _Answering(folder, report)


def stop() -> None:
    """Answer no longer."""
    global _answering
    if _answering is not None:
        _answering.stop()
        _answering = None


def ask(folder: str, process: int) -> dict[str, Any]:
    """The status of a process as "text", as a "whole" text with each patch, and as "json", which are safe to print.

    Raises:
        OSError: The folder cannot be used, or the answer is another user's.
        ValueError: The answer is none.
        TimeoutError: The process does not answer.
    """
    request, answer = _places(folder, process)
    exchange.check_folder(Path(folder))
    answer.unlink(missing_ok=True)
    exchange.create(request, "")
    end = time.monotonic() + PATIENCE
    try:
        while not os.path.lexists(answer):
            if time.monotonic() > end:
                raise TimeoutError(
                    f"process {process} cannot be asked: no answer within {PATIENCE:g} seconds, as where otel-fastpath "
                    "is not instrumented, or OTEL_FASTPATH_STATUS_FOLDER is another folder"
                )
            time.sleep(0.05)
        found = json.loads(exchange.read(answer, exchange.owner_of(process)))
        if not isinstance(found, dict) or "text" not in found or not all(type(each) is str for each in found.values()):
            raise ValueError(f"{answer} is not a status")
        return {form: exchange.printable(text) for form, text in found.items()}
    finally:
        for path in (request, answer):
            with contextlib.suppress(OSError):
                path.unlink(missing_ok=True)


def _places(folder: str, process: int) -> tuple[Path, Path]:
    """The files of the request to a process, and of its answer."""
    return Path(folder, f"{process}.request"), Path(folder, f"{process}.status")


def _after_fork() -> None:
    if _answering is not None:
        try:
            _answering.start()
        except Exception as error:
            faults.report("status", error)


# Not on Windows.
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
