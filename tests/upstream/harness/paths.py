"""Where things are, locks between processes, and running a program to its end."""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

REPOSITORY = Path(__file__).resolve().parents[3]
HERE = REPOSITORY / "tests" / "upstream"
CACHE = REPOSITORY / ".cache" / "upstream"
PLUGIN = HERE / "plugin"


class StockError(Exception):
    """Something that keeps the suites from being run or compared; the message is for the user."""


class UnavailableError(StockError):
    """A package registry or a repository cannot be reached, or does not have what is needed: the exit status is 69."""


def tool(name: str) -> str:
    """The path of a program of `.tools`, which `make setup` fills, or of the same program on PATH.

    Raises:
        StockError: It is in neither place.
    """
    found = REPOSITORY / ".tools" / "bin" / name
    if found.exists():
        return str(found)
    on_path = shutil.which(name)
    if on_path is None:
        raise StockError(f"{name} is neither in {found.parent} nor on PATH: run `make setup`")
    return on_path


def output_of(command: Sequence[str], env: Mapping[str, str] | None = None) -> str:
    """Run a program in the repository and return what it printed.

    Raises:
        StockError: It failed; the message has its last lines.
    """
    done = subprocess.run(
        list(command),
        cwd=REPOSITORY,
        env=dict(env) if env is not None else None,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        tail = "\n".join((done.stdout + done.stderr).strip().splitlines()[-8:])
        raise StockError(f"{' '.join(command)}\nfailed with {done.returncode}:\n{tail}")
    return done.stdout


def downloaded(command: Sequence[str], env: Mapping[str, str] | None = None) -> str:
    """As `output_of`, of a program that downloads.

    Raises:
        UnavailableError: It failed.
    """
    try:
        return output_of(command, env)
    except StockError as error:
        raise UnavailableError(str(error)) from None


@contextlib.contextmanager
def locked(name: str, *, whole_machine: bool = False) -> Iterator[None]:
    """Hold the lock of this name against other threads and processes using the same cache, or the same machine."""
    folder = Path(tempfile.gettempdir()) if whole_machine else CACHE / "locks"
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"otel-fastpath-{name}.lock"
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)
