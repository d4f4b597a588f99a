"""Fetches released distributions through pip, which only `.tools` is sure to have, and unpacks them in the cache."""

from __future__ import annotations

import re
import shutil
import tarfile
import tempfile
import zipfile
from pathlib import Path

from packaging.version import Version

from harness.paths import CACHE, UnavailableError, downloaded, locked, tool

_PIP = ("-m", "pip", "--disable-pip-version-check")


def versions(distribution: str, oldest: str, *, pre: bool = False) -> list[str]:
    """The released versions from `oldest` on, ascending.

    Raises:
        UnavailableError: The index does not answer or knows none.
    """
    command = [tool("python"), *_PIP, "index", "versions", distribution, *(["--pre"] if pre else [])]
    listed = re.search(r"^Available versions: (.*)$", downloaded(command), re.MULTILINE)
    found = sorted({Version(text) for text in listed[1].split(", ")} if listed else set())
    chosen = [str(version) for version in found if version >= Version(oldest)]
    if not chosen:
        raise UnavailableError(f"no release of {distribution} from {oldest} on")
    return chosen


def sdist(distribution: str, version: str) -> Path:
    """The folder of an unpacked source distribution, downloaded unless it is in the cache."""
    return _fetched(distribution, version, CACHE / "sdists", "--no-binary")


def wheel(distribution: str, version: str) -> Path:
    """The folder of an unpacked wheel, downloaded unless it is in the cache."""
    return _fetched(distribution, version, CACHE / "wheels", "--only-binary")


def _fetched(distribution: str, version: str, folder: Path, binary_option: str) -> Path:
    target = folder / f"{distribution}-{version}"
    with locked(f"fetch-{target.name}"):
        if target.exists():
            return target
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder) as scratch:
            _download(distribution, version, scratch, binary_option)
            archive = next(path for path in Path(scratch).iterdir() if path.is_file())
            unpacked = Path(scratch, "unpacked")
            root = _unpack(archive, unpacked)
            # Moved into place whole: an interrupted download leaves nothing that looks complete.
            shutil.move(root, target)
    return target


def _download(distribution: str, version: str, folder: str, binary_option: str) -> None:
    # Only of this distribution: pip asks it for its metadata, and else would build whatever builds it, such as Cython.
    options = ["--quiet", "--no-deps", binary_option, distribution, "--dest", folder]
    downloaded([tool("python"), *_PIP, "download", *options, f"{distribution}=={version}"])


def _unpack(archive: Path, target: Path) -> Path:
    """Unpack, and return the folder that holds the project: a source archive has one folder at its top."""
    target.mkdir()
    if archive.suffix == ".whl":
        with zipfile.ZipFile(archive) as wheel_file:
            wheel_file.extractall(target)  # noqa: S202  # zipfile itself keeps members inside of the target
        return target
    with tarfile.open(archive) as tar:
        if hasattr(tarfile, "data_filter"):
            tar.extractall(target, filter="data")
        else:  # Python 3.11.3 and older
            tar.extractall(target)  # noqa: S202  # a release that we are about to run anyway
    return next(target.iterdir())
