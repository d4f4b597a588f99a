"""The version that head is compared with: a folder, a wheel or a git ref, made importable."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from otel_fastpath.tools.budget.declare import Declaration


class BaseError(Exception):
    """The base cannot be used; the message is one line."""


@dataclass(frozen=True)
class Base:
    """A version to compare head with.

    Attributes:
        name: The name shown in reports.
        folders: The folders that replace the project's `source` on the import path.
    """

    name: str
    folders: tuple[str, ...]


@contextmanager
def make_importable(declaration: Declaration, text: str, *, build: bool = False) -> Iterator[Base]:
    """Make a base importable.

    Args:
        declaration: The project's declaration.
        text: A folder (a checkout, or one made by `pip install --target`), a wheel, or a git ref.
        build: Whether to build a wheel from a checkout or ref first, which projects with compiled modules need.

    Raises:
        BaseError: The text is none of these.
    """
    with tempfile.TemporaryDirectory(prefix="otel-fastpath-base-") as name:
        scratch = Path(name)
        path = Path(text)
        if path.suffix == ".whl" and path.is_file():
            yield Base(path.name, (str(_unpack(path, scratch)),))
        elif path.is_dir():
            yield Base(text, _of_folder(declaration, path.resolve(), scratch, build=build))
        else:
            tree, commit = _export(declaration.folder, text, scratch)
            top = Path(_top(declaration.folder))
            folders = (str(_built(tree, scratch)),) if build else _sources(declaration, tree, top)
            yield Base(f"{text} ({commit[:12]})", folders)


def _of_folder(declaration: Declaration, tree: Path, scratch: Path, *, build: bool) -> tuple[str, ...]:
    if build:
        return (str(_built(tree, scratch)),)
    if (tree / ".git").exists():
        return _sources(declaration, tree, Path(_top(declaration.folder)))
    if (tree / "pyproject.toml").is_file():
        folders = (declaration.folder, *declaration.folder.parents)
        top = next((folder for folder in folders if (folder / "pyproject.toml").is_file()), declaration.folder)
        return _sources(declaration, tree, top)
    return (str(tree),)


def _unpack(wheel: Path, scratch: Path) -> Path:
    folder = scratch / "wheel"
    try:
        with zipfile.ZipFile(wheel) as archive:
            archive.extractall(folder)  # noqa: S202  # a wheel that the user named
    except zipfile.BadZipFile as error:
        raise BaseError(f"{wheel}: {error}") from None
    return folder


def _export(folder: Path, ref: str, scratch: Path) -> tuple[Path, str]:
    commit = _git(folder, "rev-parse", "--verify", "--quiet", "--end-of-options", f"{ref}^{{commit}}", ref=ref).strip()
    archive = scratch / "tree.tar"
    _git(folder, "-C", _top(folder), "archive", f"--output={archive}", commit, ref=ref)
    tree = scratch / "tree"
    with tarfile.open(archive) as tar:
        tar.extractall(tree, filter="data")
    return tree, commit


def _git(folder: Path, *arguments: str, ref: str = "") -> str:
    try:
        git = shutil.which("git") or "git"
        run = subprocess.run([git, *arguments], cwd=folder, capture_output=True, text=True, check=False)
    except OSError as error:
        raise BaseError(
            f"{ref}: expected a folder, a wheel or a git ref; git cannot be run: {error.strerror}"
        ) from None
    if run.returncode:
        why = " ".join(run.stderr.split())
        raise BaseError(f"{ref}: expected a folder, a wheel or a git ref{f'; git says: {why}' if why else ''}")
    return run.stdout


def _top(folder: Path) -> str:
    return _git(folder, "rev-parse", "--show-toplevel", ref=str(folder)).strip()


def _sources(declaration: Declaration, tree: Path, top: Path) -> tuple[str, ...]:
    """The tree's counterparts of the project's source folders."""
    folders = []
    for source in declaration.source:
        try:
            folder = tree / source.relative_to(top.resolve())
        except ValueError:
            raise BaseError(f"{source} is outside {top}, so a base has no such folder") from None
        if not folder.is_dir():
            raise BaseError(f"the base has no folder {source.relative_to(top)}")
        folders.append(str(folder))
    return tuple(folders)


def _built(tree: Path, scratch: Path) -> Path:
    out = scratch / "built"
    uv = shutil.which("uv")
    pip = [sys.executable, "-m", "pip", "wheel", "--no-deps", "--wheel-dir", str(out)]
    # Build for this interpreter: a module compiled for another one is not found, and the pure one is compared instead.
    command = [uv, "build", "--wheel", "--python", sys.executable, "--out-dir", str(out)] if uv else pip
    run = subprocess.run([*command, str(tree)], capture_output=True, text=True, check=False)
    wheels = list(out.glob("*.whl")) if out.is_dir() else []
    if run.returncode or not wheels:
        raise BaseError(f"{' '.join(command)} failed: {' '.join(run.stderr.split())[-300:]}")
    return _unpack(wheels[0], scratch)
