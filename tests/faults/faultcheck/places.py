"""Where things are, and the package whose lines fail: as it is for the pure core, compiled anew for the other."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

REPOSITORY = Path(__file__).resolve().parents[3]
CACHE = REPOSITORY / ".cache" / "faults"
CORES = ("py", "c")
_SHORT = f"{sys.version_info[0]}.{sys.version_info[1]}"


class FaultsError(Exception):
    """Nothing could be shown; the message is for the user."""


class UnavailableError(FaultsError):
    """The package registry did not give what compiles the core."""


def provide(core: str) -> Path:
    """The folder that holds the package for this core.

    Raises:
        FaultsError: The hot modules could not be compiled.
    """
    if core == "py":
        return REPOSITORY
    folder = _traced()
    script = Path(__file__).with_name("tracedbuild.py")
    _output([str(_compiler(CACHE / f"compiler-{_SHORT}")), str(script), str(REPOSITORY), str(folder)])
    return folder


def is_provided(core: str) -> bool:
    """Whether the package is there for this core, but for what has changed since."""
    return core == "py" or _traced().exists()


def _traced() -> Path:
    return CACHE / f"traced-{_SHORT}"


def _compiler(folder: Path) -> Path:
    """The interpreter of an environment that holds what the build needs."""
    python = folder / "bin" / "python"
    stamp = folder / "made-from.txt"
    with (REPOSITORY / "pyproject.toml").open("rb") as file:
        wanted = tomllib.load(file)["build-system"]["requires"]
    made_from = "\n".join([sys.version, *wanted])
    if not stamp.exists() or stamp.read_text(encoding="utf-8") != made_from:
        uv = _uv()
        _output([uv, "--quiet", "venv", "--clear", "--no-project", "--python", sys.executable, str(folder)])
        try:
            _output([uv, "--quiet", "pip", "install", "--python", str(python), *wanted])
        except FaultsError as error:
            raise UnavailableError(str(error)) from None
        stamp.write_text(made_from, encoding="utf-8")
    return python


def _uv() -> str:
    own = REPOSITORY / ".tools" / "bin" / "uv"
    found = str(own) if own.exists() else shutil.which("uv")
    if found is None:
        raise FaultsError(f"uv is neither in {own.parent} nor on PATH: run `make setup`")
    return found


def _output(command: list[str]) -> None:
    # Where the project's own environment is, is no business of the one that compiles.
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("UV_PROJECT", "VIRTUAL_"))}
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment, cwd=REPOSITORY)
    if done.returncode:
        last = "\n".join((done.stdout + done.stderr).strip().splitlines()[-12:])
        raise FaultsError(f"{' '.join(command)}\nfailed with {done.returncode}:\n{last}")
