"""Counts references in a debug build of Python, which knows their total: with the package and without it."""
# ruff: noqa: T201  # part of a program that prints

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Final

from hotpaths.valgrind import HERE, REPOSITORY, MissingToolError

# Installed beside the package itself: what the paths work with.
_PACKAGES: Final = (
    "opentelemetry-exporter-otlp-proto-http",
    *(f"opentelemetry-instrumentation-{name}>=0.61b0" for name in ("asyncpg", "dbapi", "logging", "structlog")),
    "opentelemetry-semantic-conventions>=0.61b0",
    "asyncpg",
    "openai",
    "structlog",
)
# References a round that are no drift: what caches and random values move.
STEADY: Final = 0.25


def count(python: str, core: str, rounds: int, names: list[str]) -> tuple[dict[str, float], dict[str, float]]:
    """References by which the total grew in each round of each path: with the package, and without it.

    Args:
        python: A debug build of Python (Debian: the package python3.14-dbg has python3.14d).
        core: "c" or "py".
        rounds: How often each path is gone through.
        names: The paths.

    Raises:
        MissingToolError: It is no debug build, or it has no place for the package.
    """
    found = shutil.which(python)
    if found is None:
        raise MissingToolError(f"{python} is not there")
    if _output([found, "-c", "import sys; print(hasattr(sys, 'gettotalrefcount'))"]).strip() != "True":
        raise MissingToolError(f"{python} is no debug build: it does not count references")
    environment = _environment(found)
    return _run(environment, core, rounds, names), _run(environment, "", rounds, names)


def _environment(python: str) -> Path:
    """An environment with the package as it is now, compiled."""
    version = _output([python, "-VV"])
    folder = REPOSITORY / ".cache" / f"references-{hashlib.sha256(version.encode()).hexdigest()[:8]}"
    stamp = folder / "made-from.txt"
    interpreter = folder / "bin" / "python"
    if not stamp.exists() or stamp.read_text(encoding="utf-8") != version:
        shutil.rmtree(folder, ignore_errors=True)
        _output([python, "-m", "venv", str(folder)])
        _output([str(interpreter), "-m", "pip", "install", "--quiet", *_PACKAGES])
        stamp.write_text(version, encoding="utf-8")
    with tempfile.TemporaryDirectory() as copy:
        # Built from a copy: a build writes beside the sources.
        for name in ("otel_fastpath", "pyproject.toml", "README.md", "LICENSE"):
            source = REPOSITORY / name
            leave_out = shutil.ignore_patterns("*.so", "__pycache__")
            if source.is_dir():
                shutil.copytree(source, Path(copy, name), ignore=leave_out)
            else:
                shutil.copy2(source, copy)
        os.environ["OTEL_FASTPATH_EXTENSION"] = "require"
        digest = _digest(Path(copy))
        if not (folder / "built-from.txt").exists() or (folder / "built-from.txt").read_text() != digest:
            _output([str(interpreter), "-m", "pip", "install", "--quiet", "--force-reinstall", "--no-deps", copy])
            (folder / "built-from.txt").write_text(digest)
    return interpreter


def _digest(folder: Path) -> str:
    digest = hashlib.sha256()
    for file in sorted(path for path in folder.rglob("*") if path.is_file()):
        digest.update(file.name.encode() + file.read_bytes())
    return digest.hexdigest()


def _run(interpreter: Path, core: str, rounds: int, names: list[str]) -> dict[str, float]:
    with tempfile.TemporaryDirectory() as folder:
        output = Path(folder, "result.json")
        job = {"core": core, "rounds": rounds, "names": names, "output": str(output), "counts_references": True}
        _output([str(interpreter), "-m", "hotpaths.worker", json.dumps(job)], {"PYTHONPATH": str(HERE.parent)}, folder)
        found: dict[str, float] = json.loads(output.read_text(encoding="utf-8"))
        return found


def _output(command: list[str], more: dict[str, str] | None = None, folder: str | None = None) -> str:
    environment = {**os.environ, **(more or {})}
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment, cwd=folder)
    if done.returncode:
        last = "\n".join((done.stdout + done.stderr).strip().splitlines()[-12:])
        raise MissingToolError(f"{' '.join(command)[:200]}\nfailed with {done.returncode}:\n{last}")
    return done.stdout


def show(ours: dict[str, float], stock: dict[str, float]) -> bool:
    """Print the table; gives whether no path loses references that stock does not lose."""
    print(f"{'references a round':42} {'ours':>8} {'stock':>8}")
    fine = True
    for name, each in ours.items():
        bad = each - max(stock[name], 0.0) > STEADY
        fine = fine and not bad
        print(f"{name:42} {each:8.2f} {stock[name]:8.2f}{'   FAILS' if bad else ''}")
    return fine
