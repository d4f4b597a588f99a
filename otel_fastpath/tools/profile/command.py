"""`otel-fastpath profile`: starts a program or asks a running process, reads its recordings and writes the report."""

from __future__ import annotations

import contextlib
import shutil
import signal
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from otel_fastpath import settings
from otel_fastpath.status.exchange import complain
from otel_fastpath.tools.bench import service
from otel_fastpath.tools.budget.outputs import UsageError
from otel_fastpath.tools.common.exit_codes import Exit
from otel_fastpath.tools.common.load import Requests
from otel_fastpath.tools.common.loopback import AllowError, Loopback
from otel_fastpath.tools.common.program import redirected, stop
from otel_fastpath.tools.common.receiver import Receiver
from otel_fastpath.tools.common.render import progress
from otel_fastpath.tools.profile import analysis, outputs, remote
from otel_fastpath.tools.profile.attribution import samples
from otel_fastpath.tools.profile.order import LAUNCHERS, Order, write_injected
from otel_fastpath.tools.profile.profile_file import SUFFIX, Recording
from otel_fastpath.tools.profile.session import FINISH, STARTED

if TYPE_CHECKING:
    import argparse
    import subprocess
    from collections.abc import Callable, Iterator

    from otel_fastpath.tools.common.load import Load

_SIGNALLED: Final = 128
# How many seconds to wait for a program to begin, and for the recordings after the time.
_BEGIN: Final = 60.0
_WRITE: Final = 20.0
_TICK: Final = 0.1


def run(options: argparse.Namespace) -> int:
    """Run the command.

    Returns:
        The exit status: that of the program, if it ended by itself and not with 0; otherwise 0 with a report, 2 without
        one, and 130 if the command was interrupted before there was one.
    """
    try:
        with tempfile.TemporaryDirectory(prefix="otel-fastpath-profile-") as folder, _interrupts() as interrupted:
            outputs.check(options)
            if options.url:
                service.check_url(options.url)
            load = Requests(options.url, options.clients, options.status)
            try:
                recordings, status = _record(options, Path(folder), interrupted, load)
            finally:
                answers = load.stop()
            if not recordings and interrupted():
                sys.stderr.write("otel-fastpath: interrupted before anything was recorded\n")
                return Exit.INTERRUPTED
            if status:
                sys.stderr.write(f"otel-fastpath: the program ended by itself with exit status {status}\n")
            if not recordings:
                sys.stderr.write(f"otel-fastpath: nothing was recorded: {_reason(options, Path(folder))}\n")
                return status or Exit.USAGE
            if failures := _failures(options.url, answers):
                complain(failures)
                if not answers.requests:
                    return Exit.USAGE
            outputs.write(options, analysis.report(recordings), samples.samples(recordings))
            return status
    except (UsageError, AllowError, remote.RemoteError) as error:
        complain(error)
        return Exit.USAGE
    except KeyboardInterrupt:
        # The second one: nobody wants to wait for a report.
        sys.stderr.write("otel-fastpath: interrupted\n")
        return Exit.INTERRUPTED


def _reason(options: argparse.Namespace, folder: Path) -> str:
    """Why there is no recording."""
    if any(folder.glob(f"*{SUFFIX}")):
        return "the program used no CPU time after its imports"
    if any(folder.glob(f"*{STARTED}")):
        return "the program was killed before it could write its recording"
    if any(Path(word).name in LAUNCHERS for word in options.command):
        return (
            "OpenTelemetry was not set up in the program, and there the profile begins; see the message of"
            " opentelemetry-instrument above, or run the program without it"
        )
    return "the program is not Python, or runs without `sitecustomize` (as with python -I or -S)"


def _failures(url: str, answers: Load) -> str:
    """What to say about the requests to `--url`; a profile without any would be one of a service at rest."""
    if not url or (answers.requests and not answers.failed):
        return ""
    kinds = ", ".join(f"{kind} ({number})" for kind, number in answers.failures.most_common())
    every = answers.requests + answers.failed
    return f"--url {url}: {answers.failed} of {every} requests failed: {kinds}" if every else f"--url {url}: no answer"


def _record(
    options: argparse.Namespace, folder: Path, interrupted: Callable[[], bool], load: Requests
) -> tuple[list[Recording], int]:
    """The recordings, and the exit status of a program that ended by itself; of one that was killed, as of a shell."""
    order = Order(str(folder), options.seconds, options.requests, options.rate)
    show = progress.bar(sys.stderr, wanted=not options.no_progress)
    if options.pid is not None:
        remote.ask(options.pid, order)
        _wait(order, folder, show, interrupted, lambda: remote.is_alive(options.pid))
        load.stop()
        wait_for_recordings(folder, lambda: remote.is_alive(options.pid))
        return read_recordings(folder), 0
    with Loopback(options.allow) as loopback, Receiver(is_kept=False) as receiver:
        child = _start(options.command, order, loopback, receiver.endpoint("profile"))
        try:
            _wait(order, folder, show, interrupted, lambda: child.poll() is None)
            load.stop()
            status = child.poll() or 0
            wait_for_recordings(folder, lambda: child.poll() is None)
        finally:
            stop(child)
            sys.stderr.write("".join(f"otel-fastpath: {note}\n" for note in loopback.notes()))
    return read_recordings(folder), _SIGNALLED - status if status < 0 else status


def _start(command: list[str], order: Order, loopback: Loopback, endpoint: str) -> subprocess.Popen[bytes]:
    if command[0] == "-m" or (command[0].endswith(".py") and not shutil.which(command[0])):
        command = [sys.executable, *command]
    program = shutil.which(command[0]) or _beside(command[0])
    if program is None:
        raise UsageError(f"{command[0]}: no such program; expected a script of Python, -m MODULE or a command")
    if command[0] == sys.executable and command[1] != "-m" and not Path(command[1]).is_file():
        raise UsageError(f"{command[1]}: no such file")
    try:
        # Ctrl-C reaches it only through us, after its recording is written.
        return loopback.popen([program, *command[1:]], redirected(environment(order), endpoint), start_new_session=True)
    except OSError as error:
        raise UsageError(f"{command[0]}: {error.strerror}") from None


def environment(order: Order) -> dict[str, str]:
    """This environment for a process that is to carry out an order, whose folder exists."""
    return settings.with_profile_order(order.as_text(), write_injected(Path(order.folder)))


def _beside(name: str) -> str | None:
    """A program of this Python's environment, which may not be on the path."""
    return shutil.which(name, path=str(Path(sys.executable).parent))


def _wait(
    order: Order,
    folder: Path,
    show: Callable[[int, int, str], None],
    interrupted: Callable[[], bool],
    is_alive: Callable[[], bool],
) -> None:
    """Wait until the time is over, everything was recorded or the program has ended, and show how far it is."""
    begun = time.monotonic()
    while is_alive() and not interrupted() and not any(folder.glob(f"*{STARTED}")):
        if time.monotonic() - begun > _BEGIN:
            return
        time.sleep(_TICK)
    begun = time.monotonic()
    whole = order.seconds or 0.0
    while is_alive() and not interrupted():
        past = time.monotonic() - begun
        if order.seconds is not None and past >= whole:
            break
        if order.requests and any(folder.glob(f"*{SUFFIX}")):
            break
        show(round(past), round(whole) or round(past) + 1, "Ctrl-C ends it with a report")
        time.sleep(_TICK)
    show(1, 1, "")


def wait_for_recordings(folder: Path, is_alive: Callable[[], bool]) -> None:
    """Let all processes that have begun write their recordings, and wait for these, but not for those of ended ones."""
    (folder / FINISH).touch()
    end = time.monotonic() + _WRITE
    while time.monotonic() < end:
        missing = [
            path
            for path in folder.glob(f"*{STARTED}")
            if not path.with_suffix(SUFFIX).exists() and remote.is_alive(int(path.stem))
        ]
        if not missing or not is_alive():
            return
        time.sleep(_TICK)


def read_recordings(folder: Path) -> list[Recording]:
    """The recordings that processes have written to the folder of an order; what cannot be read is reported."""
    found = []
    for path in sorted(folder.glob(f"*{SUFFIX}")):
        try:
            recording = Recording.read(path)
        except (OSError, ValueError) as error:
            complain(error)
            continue
        # Without any sample, a share would be one of nothing.
        if recording.samples:
            found.append(recording)
    return found


@contextlib.contextmanager
def _interrupts() -> Iterator[Callable[[], bool]]:
    """Note SIGINT instead of raising KeyboardInterrupt, once: there is still a report to write."""
    count = 0

    def note(_number: int, _frame: Any) -> None:
        nonlocal count
        count += 1
        if count > 1:
            raise KeyboardInterrupt

    previous = signal.signal(signal.SIGINT, note)
    try:
        yield lambda: count > 0
    finally:
        signal.signal(signal.SIGINT, previous)
