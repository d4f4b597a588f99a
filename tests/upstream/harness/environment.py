"""The environments in which stock's suites run: one for each interpreter and OpenTelemetry version.

The suites of opentelemetry-python-contrib's packages exclude one another's requirements: each of these suites has an
environment of its own, made from the list of releases that `contrib` writes.

They are not the project's own environment: the suites need other packages, and versions that the lock does not hold.
otel-fastpath is not installed by building it again, which would rewrite the compiled modules under the feet of whoever
is using them. Its package folder is copied, so that all suites run the same code even if somebody edits or compiles it
meanwhile (a compiled module that is overwritten in place crashes the processes that have it loaded); the metadata of
the installed project is copied too.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
import shutil
import sys
import tempfile
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING

from harness.paths import CACHE, REPOSITORY, StockError, downloaded, locked, output_of, tool

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

PACKAGE = "otel_fastpath"
_TEST_UTILS = "opentelemetry-test-utils"
_PINNED_BY_OTEL = ("opentelemetry-sdk", *(f"opentelemetry-exporter-otlp-proto-{kind}" for kind in ("http", "grpc")))
# These follow OpenTelemetry's version: the lock's choice says nothing about another one.
_FOLLOWS_OTEL = re.compile(r"opentelemetry-|protobuf$|googleapis-|importlib-metadata$|grpcio$|zipp$|wrapt$")
_FACTS = """
import json, os, sys, sysconfig
print(json.dumps({
    "executable": os.path.realpath(sys._base_executable if hasattr(sys, "_base_executable") else sys.executable),
    "version": sys.version,
    "short": "%d.%d" % sys.version_info[:2],
    "suffix": sysconfig.get_config_var("EXT_SUFFIX"),
}))
"""


@dataclass(frozen=True)
class Interpreter:
    """A Python that environments can be made from.

    Attributes:
        executable: Its real path. A pyenv shim would be another Python outside of the repository.
        version: `sys.version`, which names the build.
        short: Major and minor version.
        suffix: How the file name of a compiled module ends.
    """

    executable: str
    version: str
    short: str
    suffix: str


@dataclass(frozen=True)
class Environment:
    """An environment that is ready to run suites.

    Attributes:
        folder: The virtual environment.
        package: The folder that holds the copy of our package, for PYTHONPATH.
        otel: The OpenTelemetry version in it.
        contents: The exact versions of everything in it, a line each.
        interpreter: What it was made from.
    """

    folder: Path
    package: Path
    otel: str
    contents: str
    interpreter: Interpreter

    @property
    def python(self) -> Path:
        """Its interpreter."""
        return self.folder / "bin" / "python"

    def version_of(self, distribution: str) -> str:
        """The version of a distribution in it.

        Raises:
            StockError: It is not in it.
        """
        found = re.search(rf"^{re.escape(distribution)}==(\S+)$", self.contents, re.MULTILINE)
        if found is None:
            raise StockError(f"{distribution} is not in {self.folder.name}")
        return found[1]

    def has_compiled_core(self) -> bool:
        """Whether the compiled modules for this interpreter lie beside their sources."""
        return any((self.package / PACKAGE).rglob(f"*{self.interpreter.suffix}"))

    def outdated_core(self) -> list[str]:
        """The compiled modules that are older than what they are compiled from, to go by the time stamps."""
        found = []
        for compiled in (self.package / PACKAGE).rglob(f"*{self.interpreter.suffix}"):
            name = compiled.name.removesuffix(self.interpreter.suffix)
            sources = [compiled.with_name(file) for file in (f"{name[:-2]}.py", f"{name}.pxd", f"{name}.pyx")]
            changed = max((path.stat().st_mtime for path in sources if path.exists()), default=0.0)
            found += [compiled.name] if changed > compiled.stat().st_mtime else []
        return found


def interpreter(name: str | None = None) -> Interpreter:
    """The interpreter of this name or path ("3.12" is python3.12), or the one that runs this.

    Raises:
        StockError: There is none.
    """
    if name is None:
        command = sys.executable
    else:
        command = f"python{name}" if re.fullmatch(r"3\.\d+", name) else name
        if shutil.which(command) is None:
            raise StockError(f"no interpreter {command!r} on PATH")
    return Interpreter(**json.loads(output_of([command, "-c", _FACTS])))


def installed_otel() -> str:
    """The version of opentelemetry-sdk in the environment that runs this."""
    return metadata.version("opentelemetry-sdk")


def locked_otel() -> str:
    """The version of opentelemetry-sdk in the project's lock."""
    name = "opentelemetry-sdk=="
    return next(pin.removeprefix(name) for pin in project_pins() if pin.startswith(name))


@contextlib.contextmanager
def copied_package() -> Iterator[Path]:
    """A folder with a copy of our package as it is now, gone afterwards."""
    CACHE.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="package-", dir=CACHE) as folder:
        leave_out = shutil.ignore_patterns("__pycache__")
        try:
            shutil.copytree(REPOSITORY / PACKAGE, Path(folder, PACKAGE), ignore=leave_out)
        except shutil.Error as error:
            raise StockError(f"{PACKAGE} changed while it was being copied: {error}") from None
        _copy_metadata(Path(folder))
        yield Path(folder)


def provide(base: Interpreter, otel: str, package: Path, lock: Path | None = None) -> Environment:
    """Make the environment, unless the one in the cache is what would be made.

    Args:
        base: The interpreter.
        otel: The OpenTelemetry version.
        package: What `copied_package` gave.
        lock: The list of what it consists of; None: it is the one that stock's core suites share.
    """
    wanted = _requirements(otel) if lock is None else _listed(lock, otel)
    folder = CACHE / f"venv-{base.short}-{otel}{f'-{lock.stem}' if lock else ''}"
    stamp = folder / "made-from.txt"
    made_from = "\n".join([*wanted, base.version, base.executable])
    with locked(folder.name):
        if not stamp.exists() or stamp.read_text() != made_from:
            _make(base, folder, wanted, without=() if lock is None else ("--no-deps",))
            stamp.write_text(made_from)
    contents = uv("pip", "freeze", "--python", str(folder))
    return Environment(folder, package, otel, contents, base)


def uv(*arguments: str) -> str:
    """Run uv, which downloads no interpreter, and return what it printed."""
    variables = {**os.environ, "UV_PYTHON_DOWNLOADS": "never", "UV_NO_PROGRESS": "1"}
    run = downloaded if "install" in arguments else output_of
    return run([tool("uv"), "--quiet", *arguments], variables)


def project_pins() -> list[str]:
    """What the project's own lock holds for stock's core suites."""
    export = "export --frozen --group upstream --no-default-groups --no-emit-project"
    return uv(*export.split(), "--no-hashes", "--no-header", "--no-annotate").splitlines()


def _requirements(otel: str) -> list[str]:
    """The lock's own pins where it holds this OpenTelemetry; else these two free to move and the rest as locked."""
    pins = project_pins()
    if f"opentelemetry-sdk=={otel}" in pins:
        return pins
    kept = [pin for pin in pins if not _FOLLOWS_OTEL.match(re.split(r"[=\s;]", pin, maxsplit=1)[0])]
    # Released as betas only: naming one in the requirement is what lets the resolver take it.
    betas = [f"{_TEST_UTILS}<={_beta(otel)}", "opentelemetry-instrumentation>=0.61b0"]
    # The SDK read configuration files itself until 1.45, and its tests then need what that takes.
    files = ["jsonschema", "pyyaml"]
    return [*kept, *betas, *files, *(f"{name}=={otel}" for name in _PINNED_BY_OTEL)]


def _listed(lock: Path, otel: str) -> list[str]:
    """The lines of a list.

    Raises:
        StockError: There is none, or it is for another OpenTelemetry.
    """
    lines = lock.read_text().splitlines() if lock.exists() else []
    if f"opentelemetry-sdk=={otel}" not in lines:
        name = lock.relative_to(REPOSITORY)
        raise StockError(f"{name} is not for OpenTelemetry {otel}: `make upstream ARGS='--contrib --lock'` writes it")
    return lines


def _beta(otel: str) -> str:
    """The version of what is released as a beta together with this one: 0.61b0 with 1.40.0.

    Raises:
        StockError: This is no OpenTelemetry version.
    """
    numbers = re.fullmatch(r"1\.(\d+)\.(\d+)", otel)
    if numbers is None:
        raise StockError(f"{otel!r} is no OpenTelemetry version: expected something like 1.40.0")
    return f"0.{int(numbers[1]) + 21}b{numbers[2]}"


def _make(base: Interpreter, folder: Path, requirements: list[str], without: Sequence[str]) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    folder.parent.mkdir(parents=True, exist_ok=True)
    uv("--no-config", "venv", "--no-project", "--python", base.executable, str(folder))
    # The test utilities want their own version of the SDK, and have no release for each of them.
    utilities = [line for line in requirements if line.startswith(_TEST_UTILS)]
    others = [line for line in requirements if line not in utilities]
    for lines, options in ((others, without), (utilities, ["--no-deps"])):
        listed = folder / "requirements.txt"
        listed.write_text("\n".join(lines) + "\n")
        uv("--no-config", "pip", "install", "--python", str(folder), *options, "-r", str(listed))


def _copy_metadata(folder: Path) -> None:
    """Let `importlib.metadata` see otel-fastpath and its entry points where this folder is on the path."""
    ours = metadata.distribution(PACKAGE)
    info = folder / f"{PACKAGE}-{ours.version}.dist-info"
    info.mkdir()
    for name in ("METADATA", "entry_points.txt"):
        (info / name).write_text(ours.read_text(name) or "")


def digest(*parts: str) -> str:
    """A short name for these texts together."""
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:16]
