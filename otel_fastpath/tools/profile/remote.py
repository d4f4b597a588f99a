"""Begins a profile in a process that is running: by `sys.remote_exec`, or by a signal that the process answers.

From Python 3.14 on, an interpreter can run a script in another one of the same version. Before, a process that has a
`OTEL_FASTPATH_PROFILE_SIGNAL` reads its order from a folder of the same user when that signal comes.
"""

from __future__ import annotations

import os
import signal
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from otel_fastpath import settings
from otel_fastpath.patching import faults
from otel_fastpath.status import exchange

if TYPE_CHECKING:
    from otel_fastpath.tools.profile.order import Order

_SCRIPT: Final = """\
import sys
try:
    from otel_fastpath.tools.profile import order
except ImportError:
    sys.path.append({root!r})
    from otel_fastpath.tools.profile import order
order.carry_out({order!r})
"""


class RemoteError(Exception):
    """A process cannot be profiled; the message is one line."""


def is_alive(process: int) -> bool:
    """Whether there is a process of this id."""
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def ask(process: int, order: Order) -> None:
    """Let a process profile itself.

    Raises:
        RemoteError: There is no such process, or it cannot be asked.
    """
    if not is_alive(process):
        raise RemoteError(f"there is no process {process}")
    name = settings.profile_signal()
    if name:
        _send(process, order, name)
        return
    execute = getattr(sys, "remote_exec", None)
    if execute is None:
        raise RemoteError(
            "before Python 3.14, --pid needs OTEL_FASTPATH_PROFILE_SIGNAL, as SIGUSR2, here and in the process"
        )
    root = str(Path(__file__).resolve().parents[3])
    script = Path(order.folder, "begin.py")
    script.write_text(_SCRIPT.format(root=root, order=order.as_text()), encoding="utf-8")
    try:
        execute(process, str(script))
    except (OSError, RuntimeError, ValueError) as error:
        raise RemoteError(f"process {process} cannot be profiled: {error}") from None


def _send(process: int, order: Order, name: str) -> None:
    place = _folder() / f"{process}.order"
    try:
        exchange.create(place, order.as_text())
        os.kill(process, getattr(signal, name))
    except OSError as error:
        raise RemoteError(f"process {process} cannot be asked: {error.strerror}") from None


def _folder() -> Path:
    """The folder of orders, which belongs to this user alone.

    Raises:
        RemoteError: It belongs to someone else, or others may write to it.
    """
    folder = Path(tempfile.gettempdir(), f"otel-fastpath-profile-{os.getuid()}")
    folder.mkdir(mode=0o700, exist_ok=True)
    try:
        exchange.check_own_folder(folder)
    except exchange.ForeignError as error:
        raise RemoteError(str(error)) from None
    return folder


def answer(name: str) -> str:
    """Answer this signal from now on, with a profile; for the main thread.

    Returns:
        Why it is not answered; empty if it is.
    """
    number = getattr(signal, name)
    if signal.getsignal(number) not in {signal.SIG_DFL, signal.SIG_IGN, _answer}:
        return f"this process has a handler for {name} already"
    try:
        signal.signal(number, _answer)
    except ValueError:
        return "otel-fastpath was instrumented outside of the main thread, where signals cannot be handled"
    return ""


def _answer(_number: int, _frame: Any) -> None:
    try:
        from otel_fastpath.tools.profile import order  # noqa: PLC0415  # only where it is asked for

        place = _folder() / f"{os.getpid()}.order"
        text = exchange.read(place)
        place.unlink()
        order.carry_out(text)
    except Exception as error:
        faults.report("profile", error)
