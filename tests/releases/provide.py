"""Makes the environment in which the suite meets the newest or the lowest releases that the package declares.

    python tests/releases/provide.py newest|lowest

It stands beside the project's own, `.venv-3.13-newest` beside `.venv-3.13`, and is made again when what it consists of
has changed. otel-fastpath is linked in as it is in the project's environment, with the same compiled modules: neither
rests on the releases of anything else. Exit status 1: the environment cannot be made.

Newest: the newest release of everything. Lowest: the lowest of what the package itself and its extras need, and the
newest of the tools of the tests that can be installed beside it; `lowest.txt` says what has to be otherwise.
"""
# ruff: noqa: T201  # a program that prints

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from importlib import metadata
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
LOWEST = Path(__file__).with_name("lowest.txt")
PACKAGE = "otel_fastpath"
# What the tests import; those that lint need none of it. A release is built and checked with the locked tools, so
# tests/releases/test_wheels.py skips what needs them here.
GROUPS = ("test", "example", "exporters", "exceptions", "http", "logs")
_EVERYTHING = ("pyproject.toml", "--all-extras", *(f"--group={name}" for name in GROUPS))


def main() -> int:
    """Make the environment that the command line names."""
    kind = sys.argv[1]
    try:
        requirements = {"newest": newest, "lowest": lowest}[kind]()
        provide(Path(f"{sys.prefix}-{kind}"), requirements)
    except subprocess.CalledProcessError as error:
        print(f"{' '.join(map(str, error.cmd))}\nfailed with {error.returncode}:\n{error.stderr}", file=sys.stderr)
        return 1
    return 0


def newest() -> str:
    """The newest releases, as requirements that name one version each."""
    return resolved(*_EVERYTHING)


def lowest() -> str:
    """The lowest releases of what the package and its extras declare, and what can be installed beside them."""
    declared = re.findall(r'^\s*"([A-Za-z0-9-]+)', _section("dependencies = ["), re.MULTILINE)
    optional = re.findall(r'"([A-Za-z0-9-]+)[>=;]', _section("[project.optional-dependencies]"))
    pins = resolved("pyproject.toml", "--all-extras", "--resolution=lowest-direct").splitlines()
    by_name = {pin.partition("==")[0]: pin for pin in pins}
    constraints = [by_name[name] for name in declared]
    # The groups ask for more of these than the package does, as the examples do.
    overrides = [by_name[name] for name in optional if name in by_name]
    kept = LOWEST.read_text(encoding="utf-8").splitlines()
    # Without the overrides of pyproject.toml: they free what must follow the SDK here.
    return resolved("--no-config", *_EVERYTHING, constraint=constraints, override=[*overrides, *kept])


def _section(beginning: str) -> str:
    """The lines of pyproject.toml between this one and the next empty one."""
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    return text.split(f"\n{beginning}\n", 1)[1].split("\n\n", 1)[0]


def resolved(*arguments: str, **files: list[str]) -> str:
    """What uv makes of these arguments; the lists become files that options name."""
    folder = ROOT / ".cache" / "releases"
    folder.mkdir(parents=True, exist_ok=True)
    options = []
    for option, lines in files.items():
        path = folder / f"{option}.txt"
        path.write_text("\n".join(lines) + "\n", encoding="utf-8")
        options += [f"--{option}", str(path)]
    plain = ("--quiet", "--no-header", "--no-annotate", "--python", sys.executable)
    return _uv("pip", "compile", *plain, *arguments, *options)


def provide(folder: Path, requirements: str) -> None:
    """Make the environment, unless there is one that was made from the same."""
    stamp = folder / "made-from.txt"
    made_from = f"{sys.version}\n{requirements}"
    if not stamp.exists() or stamp.read_text(encoding="utf-8") != made_from:
        shutil.rmtree(folder, ignore_errors=True)
        _uv("venv", "--quiet", "--no-project", "--python", os.path.realpath(sys._base_executable), str(folder))
        listed = folder / "requirements.txt"
        listed.write_text(requirements, encoding="utf-8")
        # The overrides of pyproject.toml would take the place of what the list names.
        _uv(
            "pip",
            "install",
            "--no-config",
            "--quiet",
            "--no-deps",
            "--python",
            str(folder),
            "--requirement",
            str(listed),
        )
        stamp.write_text(made_from, encoding="utf-8")
    _link(folder)
    print(f"{folder.name}:", ", ".join(line for line in requirements.split() if line.startswith(_SHOWN)))


_SHOWN = ("opentelemetry-sdk=", "opentelemetry-instrumentation=", "openai=", "asyncpg=", "fastapi=")


def _link(folder: Path) -> None:
    """Install otel-fastpath as it is installed here: its metadata, the link to its sources, its command."""
    ours = metadata.distribution(PACKAGE)
    here = Path(str(ours.locate_file("")))
    there = next(folder.glob("lib/python*/site-packages"))
    for path in [*here.glob(f"{PACKAGE}-*.dist-info"), *here.glob(f"*{PACKAGE}*.pth")]:
        target = there / path.name
        if path.is_dir():
            shutil.copytree(path, target, dirs_exist_ok=True)
        else:
            shutil.copyfile(path, target)
    _, _, program = Path(sys.executable).with_name("otel-fastpath").read_text(encoding="utf-8").partition("\n")
    command = folder / "bin" / "otel-fastpath"
    command.write_text(f"#!{folder / 'bin' / 'python'}\n{program}", encoding="utf-8")
    command.chmod(0o755)


def _uv(*arguments: str) -> str:
    uv = ROOT / ".tools" / "bin" / "uv"
    # What the Makefile exports names the project's own environment and interpreter.
    kept = {key: value for key, value in os.environ.items() if key not in {"UV_PROJECT_ENVIRONMENT", "UV_PYTHON"}}
    command = [str(uv) if uv.exists() else "uv", *arguments]
    return subprocess.run(command, cwd=ROOT, env=kept, capture_output=True, text=True, check=True).stdout


if __name__ == "__main__":
    sys.exit(main())
