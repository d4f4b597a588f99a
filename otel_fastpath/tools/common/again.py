"""Runs a command of otel-fastpath again, in a process that is set up as a service is, and confined."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final

from otel_fastpath.tools.common.loopback import Loopback
from otel_fastpath.tools.common.program import LAUNCHER, ProgramError, redirected, stop
from otel_fastpath.tools.common.receiver import Receiver

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

_PACKAGE: Final = __name__.partition(".")[0]


def run(arguments: Sequence[str], allowed: Iterable[str] = (), *, is_as_it_is: bool = False) -> int:
    """Run it under opentelemetry-instrument, and print what was refused to stderr; returns its exit status.

    Args:
        arguments: Those of the command.
        allowed: See `Loopback`.
        is_as_it_is: Whether it is run without opentelemetry-instrument.

    Raises:
        AllowError: See `Loopback`.
        ProgramError: opentelemetry-instrument is not installed.
    """
    folders = os.pathsep.join((str(Path(sys.executable).parent), os.environ.get("PATH", os.defpath)))
    launcher = None if is_as_it_is else shutil.which(LAUNCHER, path=folders)
    if launcher is None and not is_as_it_is:
        raise ProgramError(f"{LAUNCHER} is not installed: pip install opentelemetry-instrumentation")
    command = [*filter(None, [launcher]), sys.executable, "-m", _PACKAGE, *arguments]
    with Loopback(allowed) as loopback, Receiver(is_kept=False) as receiver:
        try:
            process = loopback.popen(command, redirected(os.environ, receiver.endpoint(_PACKAGE)))
        except OSError as error:
            raise ProgramError(f"{command[0]}: {error.strerror}") from None
        try:
            status = process.wait()
        finally:
            stop(process)  # if this command is interrupted
        sys.stderr.write("".join(f"otel-fastpath: {note}\n" for note in loopback.notes()))
        return status
