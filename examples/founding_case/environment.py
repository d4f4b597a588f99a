"""Environments for the real instrumentations, each with the client library that it was written for.

They are separate from the project's own environment, which has other versions. otel-fastpath is not built again for
them, because that would rewrite compiled modules that other processes use: its package folder is linked, and the
metadata of the installed project is copied.
"""

import contextlib
import fcntl
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path

ROOT = Path(__file__).parents[2]
LOCKS = Path(__file__).with_name("environments")
CACHE = ROOT / ".cache" / "founding-case"
PACKAGE = "otel_fastpath"


class SetupError(RuntimeError):
    """An environment that could not be made; the message is for the user."""


def provide(name: str) -> Path:
    """Make the environment of this name, unless the one in the cache is what would be made.

    Args:
        name: That of a list in the folder `environments`, without its suffix.

    Returns:
        The environment's `bin` folder.

    Raises:
        SetupError: It cannot be made.
    """
    lock = LOCKS / f"{name}.txt"
    folder = CACHE / f"{name}-{sys.version_info.major}.{sys.version_info.minor}"
    stamp = folder / "made-from.txt"
    made_from = f"{sys.version}\n{lock.read_text(encoding='utf-8')}"
    with locked(folder):
        if not stamp.exists() or stamp.read_text(encoding="utf-8") != made_from:
            shutil.rmtree(folder, ignore_errors=True)
            uv("venv", "--no-project", "--python", real_interpreter(), str(folder))
            # The overrides of pyproject.toml would take the place of what the list names.
            uv("pip", "install", "--no-config", "--no-deps", "--python", str(folder), "--requirement", str(lock))
            stamp.write_text(made_from, encoding="utf-8")
        link_package(folder)
    return folder / "bin"


@contextlib.contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Keep other processes away from the environment while it is being made."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    descriptor = os.open(folder.with_name(f"{folder.name}.lock"), os.O_RDWR | os.O_CREAT, 0o666)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def real_interpreter() -> str:
    """The Python under this environment: an environment made from an environment would depend on it."""
    return os.path.realpath(getattr(sys, "_base_executable", sys.executable))


def uv(*arguments: str) -> str:
    """Run uv and return its output.

    Raises:
        SetupError: It failed.
    """
    program = ROOT / ".tools" / "bin" / "uv"
    command = [str(program) if program.exists() else "uv", "--quiet", *arguments]
    # What `uv run` and the Makefile export names the project's own environment and interpreter.
    kept = {key: value for key, value in os.environ.items() if key not in {"UV_PROJECT_ENVIRONMENT", "UV_PYTHON"}}
    try:
        done = subprocess.run(
            command,
            cwd=ROOT,
            env={**kept, "UV_PYTHON_DOWNLOADS": "never", "UV_NO_PROGRESS": "1"},
            capture_output=True,
            text=True,
            check=False,
        )
    except FileNotFoundError:
        raise SetupError("uv is neither in .tools nor on PATH: run `make setup`") from None
    if done.returncode:
        raise SetupError(f"{' '.join(command)}\nfailed with {done.returncode}:\n{done.stderr.strip()[-2000:]}")
    return done.stdout


def link_package(folder: Path) -> None:
    """Put otel-fastpath into the environment as an editable install would, with nothing else of the repository."""
    site = next(folder.glob("lib/python*/site-packages"))
    link = site / PACKAGE
    if not link.is_symlink():
        link.symlink_to(ROOT / PACKAGE, target_is_directory=True)
    ours = metadata.distribution(PACKAGE)
    info = site / f"{PACKAGE}-{ours.version}.dist-info"
    files = {name: ours.read_text(name) or "" for name in ("METADATA", "entry_points.txt")}
    files |= {"INSTALLER": "examples/founding_case\n", "RECORD": ""}
    if info.exists() and all((info / name).read_text(encoding="utf-8") == text for name, text in files.items()):
        return  # other processes may be reading them
    for old in site.glob(f"{PACKAGE}-*.dist-info"):
        shutil.rmtree(old)
    info.mkdir()
    for name, text in files.items():
        (info / name).write_text(text, encoding="utf-8")
