"""Compiles the hot modules so that their lines can be watched; run by an interpreter that has Cython.

    python tracedbuild.py REPOSITORY FOLDER

A copy of the package goes to FOLDER, with compiled modules that report each line to `sys.monitoring` or `sys.settrace`
and fail where the callback raises. What has not changed since the last time is not compiled again.
"""

from __future__ import annotations

import hashlib
import importlib.util
import os
import shutil
import sys
import sysconfig
from pathlib import Path

PACKAGE = "otel_fastpath"
SHARED = (".pxd", ".pxi", ".h")
DIRECTIVES = {"language_level": "3", "annotation_typing": False, "linetrace": True}
MACROS = [("CYTHON_TRACE", "1"), ("CYTHON_TRACE_NOGIL", "1")]
# Not optimised: it is built in a minute, and a line does what it does.
FLAGS = ["-g0", "-O0"]


def build(repository: Path, folder: Path) -> None:
    """Copy the package and compile what changed."""
    hook = _build_hook(repository)
    suffix = sysconfig.get_config_var("EXT_SUFFIX")
    target = folder / PACKAGE
    _copy_sources(repository / PACKAGE, target)
    # Apart from the package: what is compiled is no module that Python can import.
    hook.write_sources(repository, folder / "sources")
    outdated = {}
    for name, source in (hook.EXTENSIONS | hook.ALONE).items():
        if not source:
            # What the modules share is in each of them here.
            continue
        module = Path(folder, *name.split(".")).with_suffix("")
        stamp, made = module.with_name(f"{module.name}.made-from"), module.with_name(module.name + suffix)
        digest = _digest(folder, source)
        if not made.exists() or not stamp.exists() or stamp.read_text() != digest:
            stamp.unlink(missing_ok=True)
            outdated[name] = (source, stamp, digest)
    if outdated:
        _compile({name: source for name, (source, *_) in outdated.items()}, folder)
    for _, stamp, digest in outdated.values():
        stamp.write_text(digest)


def _build_hook(repository: Path) -> object:
    spec = importlib.util.spec_from_file_location("build_hook", repository / PACKAGE / "compiled" / "build_hook.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _copy_sources(package: Path, target: Path) -> None:
    kept = ("*.so", "*.made-from")
    shutil.copytree(package, target, ignore=shutil.ignore_patterns("__pycache__", *kept), dirs_exist_ok=True)
    there = {path.relative_to(package) for path in package.rglob("*")}
    for path in list(target.rglob("*")):
        relative = path.relative_to(target)
        if path.is_file() and relative not in there and path.suffix not in {".so", ".made-from", ".pyc"}:
            path.unlink()


def _digest(folder: Path, source: str) -> str:
    digest = hashlib.sha256(f"{sys.version}{DIRECTIVES}{MACROS}{FLAGS}".encode())
    package = folder / PACKAGE
    for path in sorted({folder / source, *(path for path in package.rglob("*") if path.suffix in SHARED)}):
        digest.update(path.name.encode() + path.read_bytes())
    return digest.hexdigest()


def _compile(sources: dict[str, str], folder: Path) -> None:
    from Cython.Build import build_ext
    from setuptools import Distribution, Extension

    extensions = [
        Extension(name, [source], extra_compile_args=FLAGS, define_macros=MACROS) for name, source in sources.items()
    ]
    command = build_ext(Distribution({"name": "otel-fastpath", "ext_modules": extensions}))
    command.cython_directives = DIRECTIVES
    command.cython_c_in_temp = True
    command.build_lib = str(folder)
    command.build_temp = str(folder / "build")
    command.parallel = 2
    command.force = True
    command.ensure_finalized()
    os.chdir(folder / "sources")
    command.run()


if __name__ == "__main__":
    build(Path(sys.argv[1]).resolve(), Path(sys.argv[2]).resolve())
