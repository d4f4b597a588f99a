"""Build hook: compile the hot modules where a C compiler is there; else leave a pure-Python package.

OTEL_FASTPATH_EXTENSION=auto (default), off, or require. Not part of the wheel. As many modules are compiled at once as
there are processors; an editable install compiles again only what has changed.

A hot module imports others as any module does. What is compiled is a copy of it, line for line, in which such an import
takes the other's compiled twin, so that a call from one to the other is a call in C.
"""

from __future__ import annotations

import hashlib
import os
import re
import subprocess
import sys
import sysconfig
import tempfile
from importlib.metadata import version as version_of
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

SWITCH = "OTEL_FASTPATH_EXTENSION"
# Compiled name -> its source. A plain .py is also the module's pure twin and is compiled under a second name.
EXTENSIONS = {
    "otel_fastpath.trace.current_span_c": "otel_fastpath/trace/current_span.py",
    "otel_fastpath.trace.attributes_c": "otel_fastpath/trace/attributes.py",
    "otel_fastpath.trace.current_context_c": "otel_fastpath/trace/current_context.py",
    "otel_fastpath.metrics.bound_c": "otel_fastpath/metrics/bound.py",
    "otel_fastpath.libraries.call_span_c": "otel_fastpath/libraries/call_span.py",
    "otel_fastpath.metrics.points_c": "otel_fastpath/metrics/points.py",
    "otel_fastpath.trace.events_c": "otel_fastpath/trace/events.py",
    "otel_fastpath.metrics.exemplars_c": "otel_fastpath/metrics/exemplars.py",
    "otel_fastpath.trace.identity_c": "otel_fastpath/trace/identity.py",
    "otel_fastpath.metrics.recording_c": "otel_fastpath/metrics/recording.py",
    "otel_fastpath.libraries.genai.openai.reading_models_c": "otel_fastpath/libraries/genai/openai/reading_models.py",
    "otel_fastpath.libraries.genai.openai.calls_c": "otel_fastpath/libraries/genai/openai/calls.py",
    "otel_fastpath.otlp.encoder_c": "otel_fastpath/otlp/encoder_c.pyx",
    "otel_fastpath.trace.plan_c": "otel_fastpath/trace/plan.py",
    "otel_fastpath.trace.propagation_c": "otel_fastpath/trace/propagation.py",
    "otel_fastpath.libraries.genai.openai.reading_streams_c": "otel_fastpath/libraries/genai/openai/reading_streams.py",
    "otel_fastpath.trace.scope_c": "otel_fastpath/trace/scope.py",
    "otel_fastpath.metrics.series_c": "otel_fastpath/metrics/series.py",
    "otel_fastpath.trace.span_c": "otel_fastpath/trace/span.py",
    "otel_fastpath.libraries.db.sql_c": "otel_fastpath/libraries/db/sql.py",
    "otel_fastpath.trace.start_c": "otel_fastpath/trace/start.py",
    "otel_fastpath.libraries.db.summary_c": "otel_fastpath/libraries/db/summary.py",
    "otel_fastpath.libraries.genai.openai.prepared_calls_c": "otel_fastpath/libraries/genai/openai/prepared_calls.py",
    "otel_fastpath.trace.tracer_c": "otel_fastpath/trace/tracer.py",
}
# What every module needs of Cython's own code, once: it is written by Cython, and has no source.
SHARED = "otel_fastpath.compiled.shared_c"
EXTENSIONS[SHARED] = ""
# They take from one another: all or none. What is named here stands alone.
ALONE = {}
if sys.version_info >= (3, 12) and not sysconfig.get_config_var("Py_GIL_DISABLED"):
    # The callback of sys.monitoring, which it calls under the GIL.
    ALONE["otel_fastpath.exceptions.callbacks_c"] = "otel_fastpath/exceptions/callbacks_c.c"
# -O3 makes the modules a third larger, and faster only where there are loops. No tables of symbols, and none of frames,
# which exceptions of C++ need. What is linked at the start needs no table to jump by.
FLAGS = [] if sys.platform == "win32" else ["-g0", "-O2", "-fno-asynchronous-unwind-tables"]
LOOPS = {} if sys.platform == "win32" else {"otel_fastpath.otlp.encoder_c": ["-O3"]}
LINKING = []
if sys.platform == "linux":
    FLAGS.append("-fno-plt")
    LINKING.append("-Wl,-s")
# Annotations are for mypy: as C types they would reject what the pure twin accepts. Nothing compiled is pickled as it
# is: what a user may pickle says how.
DIRECTIVES = {"language_level": "3", "annotation_typing": False, "auto_pickle": False}
# What is inlined into the modules that import it: the C forms stand in the .pxd alone.
HELPERS = ("otel_fastpath/compiled/helpers.py", "otel_fastpath/compiled/traceparent.py")
# An import of one hot module by another.
_HOT = "|".join(
    each.removesuffix(".py").replace("/", r"\.") for each in (*EXTENSIONS.values(), *HELPERS) if each.endswith(".py")
)
_HOT_IMPORT = re.compile(rf"^from ({_HOT}) import ", re.MULTILINE)
_SUFFIXES = {".py", ".pyx", ".pxd", ".pxi", ".c", ".h"}
# What a module takes from others when it is compiled.
_TAKEN = re.compile(
    rb"^(?:from (otel_fastpath[\w.]+) c?import|include \"([^\"]+)\"|# ?include \"(\w+\.h)\")", re.MULTILINE
)


class CustomBuildHook(BuildHookInterface):  # type: ignore[misc]
    """Adds the compiled modules to a wheel, or puts them beside their sources for an editable install."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Compile, unless switched off.

        Raises:
            ValueError: The switch has none of its three values.
        """
        mode = os.environ.get(SWITCH, "auto")
        if mode not in {"auto", "off", "require"}:
            raise ValueError(f"{SWITCH}={mode!r}: expected auto, off or require")
        suffix = sysconfig.get_config_var("EXT_SUFFIX")
        targets = {name: Path(*name.split(".")).as_posix() + suffix for name in EXTENSIONS | ALONE}
        kept = Path(self.root, ".cache", "extensions") if version == "editable" else None
        if kept is not None:
            for target in targets.values():
                # An older compile would be imported in the place of the edited source.
                Path(self.root, target).unlink(missing_ok=True)
        if mode == "off":
            return
        self.scratch = tempfile.TemporaryDirectory()
        built = compile_extensions(Path(self.root), kept or Path(self.scratch.name), required=mode == "require")
        missing = ", ".join(sorted(targets.keys() - built.keys()))
        if missing:
            self.app.display_warning(f"Could not be compiled (is there a C compiler?), so it is left out: {missing}.")
        if not built:
            return
        build_data["pure_python"] = False
        build_data["infer_tag"] = True
        for name, path in built.items():
            target = targets[name]
            if version == "editable":
                # A new file, not new bytes in the old one: a running process may have that one mapped.
                fresh = Path(self.root, target + ".new")
                fresh.write_bytes(path.read_bytes())
                fresh.replace(Path(self.root, target))
            else:
                build_data["force_include"][str(path)] = target

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:  # noqa: ARG002  # the hook's interface
        """Remove what compiling left."""
        if hasattr(self, "scratch"):
            self.scratch.cleanup()


def compile_extensions(root: Path, folder: Path, *, required: bool) -> dict[str, Path]:
    """Compile what can be compiled and was not compiled before: the compiled name -> the file.

    Args:
        root: The project.
        folder: Where the compiled modules are put, and found again.
        required: Whether it is an error that a module cannot be compiled.

    Raises:
        RuntimeError: It was required; the message names the module and ends with what the compiler said.
    """
    folder.mkdir(parents=True, exist_ok=True)
    # Where each is or will be: its name has what it was made from.
    paths = {name: folder / f"{name}-{_digest(root, name, source)}.so" for name, source in (EXTENSIONS | ALONE).items()}
    for group in (EXTENSIONS, ALONE):
        outdated = {name: paths[name] for name in group if not paths[name].exists()}
        output = _compile_apart(root, outdated) if outdated else ""
        if output and required:
            raise RuntimeError(f"{', '.join(outdated)} could not be compiled:\n{output}")
    for path in folder.glob("*.so"):
        if path not in paths.values() and path.name.startswith("otel_fastpath."):
            path.unlink()
    return usable(paths)


def _digest(root: Path, name: str, source: str) -> str:
    """What the compiled module is made from: the sources, the compilers and their options."""
    digest = hashlib.sha256(
        f"{sys.version}{version_of('cython')}{FLAGS}{LOOPS.get(name)}{LINKING}{DIRECTIVES}".encode()
    )
    twin = (root / Path(*name.split("."))).with_suffix(".pxd")
    waiting, seen = [root / source, twin] if source else [], set()
    while waiting:
        path = waiting.pop()
        if path in seen or not path.exists():
            continue
        seen.add(path)
        text = path.read_bytes()
        digest.update(path.name.encode() + text)
        for module, *included in _TAKEN.findall(text):
            if module:
                taken = root / Path(*module.decode().removesuffix("_c").split("."))
                # An import takes the twin's types, which a `cimport` names.
                waiting += [taken.with_suffix(".pxd"), taken.with_name(f"{taken.name}_c.pxd")]
            waiting += [path.parent / each.decode() for each in included if each]
    return digest.hexdigest()[:16]


def _compile_apart(root: Path, wanted: dict[str, Path]) -> str:
    """Compile modules in a process of their own; what the compilers said where one of them failed."""
    command = [sys.executable, __file__, *(f"{name}={path.absolute()}" for name, path in wanted.items())]
    ran = subprocess.run(command, cwd=root, capture_output=True, text=True, check=False)
    return "" if ran.returncode == 0 else f"{ran.stdout}{ran.stderr}" or "unknown error"


def write_sources(root: Path, folder: Path) -> None:
    """Write what is compiled to a folder, as the package stands in the project."""
    for path in Path(root, "otel_fastpath").rglob("*"):
        if path.suffix not in _SUFFIXES:
            continue
        target = folder / path.relative_to(root)
        target.parent.mkdir(parents=True, exist_ok=True)
        text = path.read_text(encoding="utf-8")
        if path.relative_to(root).as_posix() in EXTENSIONS.values():
            text = _HOT_IMPORT.sub(r"from cython.cimports.\1_c import ", text)
        target.write_text(text, encoding="utf-8")


def compile_here(wanted: dict[str, Path]) -> None:
    """Compile modules of the project in the current directory, each into its file."""
    from Cython.Build import cythonize
    from setuptools import Distribution, Extension
    from setuptools.command.build_ext import build_ext

    with tempfile.TemporaryDirectory() as scratch:
        write_sources(Path.cwd(), Path(scratch))
        here = Path.cwd()
        os.chdir(scratch)
        extensions = [
            Extension(
                name,
                [(EXTENSIONS | ALONE)[name] or _write_shared()],
                extra_compile_args=FLAGS + LOOPS.get(name, []),
                extra_link_args=LINKING,
            )
            for name in wanted
        ]
        translated = cythonize(
            extensions, compiler_directives=DIRECTIVES, shared_utility_qualified_name=SHARED, quiet=True
        )
        command = build_ext(Distribution({"name": "otel-fastpath", "ext_modules": translated}))
        command.parallel = os.cpu_count()
        command.build_lib = command.build_temp = str(Path(scratch, "built"))
        command.ensure_finalized()
        command.run()
        os.chdir(here)
        for name, path in wanted.items():
            # In one step: another build may be looking for it.
            fresh = path.with_suffix(f".{os.getpid()}")
            fresh.write_bytes(Path(command.get_ext_fullpath(name)).read_bytes())
            fresh.replace(path)


def _write_shared() -> str:
    """Have Cython write what the modules share; its file."""
    path = f"{SHARED.replace('.', '/')}.c"
    # No module has a view of memory.
    command = [sys.executable, "-m", "cython", "generate-shared", "--exclude", "MemoryView", path]
    subprocess.run(command, check=True)
    return path


def usable(compiled: dict[str, Path]) -> dict[str, Path]:
    """Of what was to be compiled, what is there and not without another that it needs."""
    there = {name: path for name, path in compiled.items() if path.exists()}
    return there if there.keys() >= EXTENSIONS.keys() else {name: there[name] for name in there if name in ALONE}


if __name__ == "__main__":
    compile_here({name: Path(path) for name, _, path in (each.partition("=") for each in sys.argv[1:])})
