"""A child for each line: forked where everything is ready, limited in time."""

from __future__ import annotations

import faulthandler
import json
import os
import select
import signal
import time
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

# Beyond its own limit, for a process that does not even come to that.
_GRACE_S = 5.0


class ChildError(Exception):
    """The child hung or died; the message says where it was."""


def in_child(function: Callable[[], Any], limit_s: float) -> Any:
    """What the function gives, called in a forked process: plain data.

    Raises:
        ChildError: It took longer than the limit, or died.
    """
    receiving, sending = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(receiving)
        _be_child(function, limit_s, sending)
    os.close(sending)
    try:
        text = _all_of(receiving, time.monotonic() + limit_s + _GRACE_S)
    finally:
        os.close(receiving)
        # It has said all that it has to say.
        os.kill(pid, signal.SIGKILL)
        _, status = os.waitpid(pid, 0)
    head, newline, _ = text.partition("\n")
    if newline and head.startswith("{"):
        return json.loads(head)["value"]
    raise ChildError(text.strip() or f"the process died: {_why(status)}")


def _be_child(function: Callable[[], Any], limit_s: float, sending: int) -> None:
    try:
        # What is said of each fault, and by each child, is nothing to read.
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
        faulthandler.dump_traceback_later(limit_s, exit=True, file=sending)
        value = function()
        faulthandler.cancel_dump_traceback_later()
        data = (json.dumps({"value": value}) + "\n").encode()
        while data:
            data = data[os.write(sending, data) :]
    except BaseException as error:
        os.write(sending, f"the harness failed in the child: {error!r}".encode())
    finally:
        os._exit(0)


def _all_of(receiving: int, until: float) -> str:
    parts = []
    while (left := until - time.monotonic()) > 0:
        ready, _, _ = select.select([receiving], [], [], left)
        part = os.read(receiving, 1 << 16) if ready else b""
        if not part:
            break
        parts.append(part)
        if part.endswith(b"\n") and parts[0].startswith(b"{"):
            break
    return b"".join(parts).decode(errors="replace")


def _why(status: int) -> str:
    if os.WIFSIGNALED(status):
        return signal.Signals(os.WTERMSIG(status)).name
    return f"status {os.WEXITSTATUS(status)}"
