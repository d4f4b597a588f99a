"""Build hook: compiles the hot modules if a C compiler is available; otherwise the package is pure Python.

OTEL_FASTPATH_EXTENSION=auto (default), off, or require. Not part of the wheel. Modules are compiled in parallel, one
per processor; an editable install compiles only modules that have changed.

Hot modules import each other with ordinary imports. The build compiles a copy of each module, with the same lines, in
which these imports are replaced by cimports of the compiled twins, so that calls between modules are calls in C.
A .pxd need not name what its module imports from elsewhere, nor its private constants: these become C variables.
"""

from __future__ import annotations

import ast
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
# The C forms of these are in their .pxd files only, to be inlined.
INLINED = frozenset(
    f"otel_fastpath.compiled.{name}_c"
    for name in ("baggage_header", "exponential_buckets", "helpers", "sharing", "taking_points", "traceparent")
)


def _extensions() -> dict[str, str]:
    """Each compiled name and its source: the modules with C types, `*_c.pxd`, and those in Cython, `*_c.pyx`.

    A plain .py is also the module's pure twin and is compiled under a second name.
    """
    root = Path(__file__).parents[2]
    found: dict[str, str] = {}
    for path in sorted([*root.glob("otel_fastpath/**/*_c.pxd"), *root.glob("otel_fastpath/**/*_c.pyx")]):
        name = ".".join(path.relative_to(root).with_suffix("").parts)
        source = path.with_suffix(".pyx")
        if not source.is_file():
            source = path.with_name(f"{path.stem.removesuffix('_c')}.py")
        if name not in INLINED:
            found[name] = source.relative_to(root).as_posix()
    return found


EXTENSIONS = _extensions()
# Cython's own code that all modules need, compiled once. Cython generates it, so it has no source.
SHARED = "otel_fastpath.compiled.shared_c"
EXTENSIONS[SHARED] = ""
# The modules above import each other, so all or none are used. Those named here are independent.
ALONE = {"otel_fastpath.shedding.layer_c": "otel_fastpath/shedding/layer_c.c"}
if sys.version_info >= (3, 12):
    # The callback of sys.monitoring.
    ALONE["otel_fastpath.exceptions.callbacks_c"] = "otel_fastpath/exceptions/callbacks_c.c"
if sys.platform != "win32":
    # Sees compiled code in samples of the process.
    ALONE["otel_fastpath.tools.profile.compiled_code_c"] = "otel_fastpath/tools/profile/compiled_code_c.c"
# -O3 makes the modules a third larger, and only loops faster. Debug symbols and unwind tables (which C++ exceptions
# need) are left out. Functions that are bound at load time need no procedure linkage table.
FLAGS = [] if sys.platform == "win32" else ["-g0", "-O2", "-fno-asynchronous-unwind-tables"]
LOOPS = {} if sys.platform == "win32" else {"otel_fastpath.otlp.encoder_c": ["-O3"]}
LINKING = []
if sys.platform == "linux":
    FLAGS.append("-fno-plt")
    LINKING.append("-Wl,-s")
# Annotations are for mypy: as C types they would reject values that the pure twin accepts. Compiled classes need no
# generated pickle support: those that users may pickle have their own.
DIRECTIVES = {
    "language_level": "3",
    "annotation_typing": False,
    "auto_pickle": False,
    "freethreading_compatible": True,
}
# Modules whose C forms are written in Cython or C. Most are in the .pxd files only, to be inlined.
HELPERS = (
    "otel_fastpath/compiled/baggage_header.py",
    "otel_fastpath/compiled/exponential_buckets.py",
    "otel_fastpath/compiled/facts.py",
    "otel_fastpath/compiled/helpers.py",
    "otel_fastpath/compiled/taking_points.py",
    "otel_fastpath/compiled/traceparent.py",
)
# The guard of objects that threads share is a decorator of Cython's own in compiled code.
_GUARD = "from otel_fastpath.compiled.sharing import critical_section\n"
_COMPILED_GUARD = "from cython import critical_section\n"
_GUARDED = re.compile(r"^ *@(?:\w+\.)*critical_section\b", re.MULTILINE)
# Matches the import of one hot module by another.
_HOT = "|".join(
    each.removesuffix(".py").replace("/", r"\.") for each in (*EXTENSIONS.values(), *HELPERS) if each.endswith(".py")
)
_HOT_IMPORT = re.compile(rf"^from ({_HOT}) import ", re.MULTILINE)
_NO_OBJECTS = re.compile(rf"from (?:{_HOT}|__future__|otel_fastpath\.compiled\.sharing) import ")
_SUFFIXES = {".py", ".pyx", ".pxd", ".pxi", ".c", ".h"}
# Matches the imports and includes of other sources in a module that is compiled.
_TAKEN = re.compile(
    rb"^(?:from (otel_fastpath[\w.]+) c?import|include \"([^\"]+)\"|# ?include \"(\w+\.h)\")", re.MULTILINE
)


class CustomBuildHook(BuildHookInterface):  # type: ignore[misc]
    """Adds the compiled modules and the changelog to a wheel; for an editable install, the modules to their sources."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Compile the modules, unless switched off.

        Raises:
            ValueError: The value of OTEL_FASTPATH_EXTENSION is invalid.
        """
        mode = os.environ.get(SWITCH, "auto")
        if mode not in {"auto", "off", "require"}:
            raise ValueError(f"{SWITCH}={mode!r}: expected auto, off or require")
        suffix = sysconfig.get_config_var("EXT_SUFFIX")
        targets = {name: Path(*name.split(".")).as_posix() + suffix for name in EXTENSIONS | ALONE}
        kept = Path(self.root, ".cache", "extensions") if version == "editable" else None
        if kept is not None:
            for target in targets.values():
                # An outdated compiled module would be used instead of the edited source.
                Path(self.root, target).unlink(missing_ok=True)
        else:
            # One of the pages of `otel-fastpath docs`.
            build_data["force_include"]["CHANGELOG.md"] = "otel_fastpath/docs/changelog.md"
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
                # Replace the file instead of writing to it: a running process may have mapped the old one.
                fresh = Path(self.root, target + ".new")
                fresh.write_bytes(path.read_bytes())
                fresh.replace(Path(self.root, target))
            else:
                build_data["force_include"][str(path)] = target

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:  # noqa: ARG002  # the hook's interface
        """Remove temporary files."""
        if hasattr(self, "scratch"):
            self.scratch.cleanup()


def compile_extensions(root: Path, folder: Path, *, required: bool) -> dict[str, Path]:
    """Compile the modules that are not in the folder yet.

    Args:
        root: The folder of the project.
        folder: The folder for the compiled modules, which are reused by later builds.
        required: Whether it is an error if a module cannot be compiled.

    Returns:
        The usable modules: compiled name -> file.

    Raises:
        RuntimeError: A required module cannot be compiled. The message has the modules' names and the output.
    """
    folder.mkdir(parents=True, exist_ok=True)
    # The name of each file contains a digest of the sources.
    paths = {name: folder / f"{name}-{digest(root, name, source)}.so" for name, source in (EXTENSIONS | ALONE).items()}
    for group in (EXTENSIONS, ALONE):
        outdated = {name: paths[name] for name in group if not paths[name].exists()}
        output = compile_apart(root, outdated) if outdated else ""
        if output and required:
            raise RuntimeError(f"{', '.join(outdated)} could not be compiled:\n{output}")
    for path in folder.glob("*.so"):
        if path not in paths.values() and path.name.startswith("otel_fastpath."):
            path.unlink()
    return usable(paths)


def digest(root: Path, name: str, source: str) -> str:
    """A digest of everything that the compiled module depends on: sources, Python, Cython and this hook."""
    found = hashlib.sha256(f"{sys.version}{version_of('cython')}{name}".encode() + Path(__file__).read_bytes())
    twin = (root / Path(*name.split("."))).with_suffix(".pxd")
    waiting, seen = [root / source, twin] if source else [], set()
    while waiting:
        path = waiting.pop()
        if path in seen or not path.exists():
            continue
        seen.add(path)
        text = path.read_bytes()
        found.update(path.name.encode() + text + _derived(root, path).encode())
        for module, *included in _TAKEN.findall(text):
            if module:
                taken = root / Path(*module.decode().removesuffix("_c").split("."))
                # An import becomes a cimport of the twin, which reads the types in its .pxd.
                waiting += [taken.with_suffix(".pxd"), taken.with_name(f"{taken.name}_c.pxd")]
            waiting += [path.parent / each.decode() for each in included if each]
    return found.hexdigest()[:16]


def compile_apart(root: Path, wanted: dict[str, Path]) -> str:
    """Compile modules in a separate process. Returns the output if that fails, otherwise an empty string."""
    command = [sys.executable, __file__, *(f"{name}={path.absolute()}" for name, path in wanted.items())]
    ran = subprocess.run(command, cwd=root, capture_output=True, text=True, check=False)
    return "" if ran.returncode == 0 else f"{ran.stdout}{ran.stderr}" or "unknown error"


def write_sources(root: Path, folder: Path) -> None:
    """Write copies of the sources to a folder, with the imports of hot modules replaced by cimports.

    Raises:
        ValueError: A hot module imports the guard of shared objects in another form.
    """
    for path in Path(root, "otel_fastpath").rglob("*"):
        if path.suffix not in _SUFFIXES:
            continue
        target = folder / path.relative_to(root)
        target.parent.mkdir(parents=True, exist_ok=True)
        text = path.read_text(encoding="utf-8")
        if path.relative_to(root).as_posix() in EXTENSIONS.values():
            text = _HOT_IMPORT.sub(r"from cython.cimports.\1_c import ", text).replace(_GUARD, _COMPILED_GUARD)
            if path.suffix == ".py" and _GUARDED.search(text) and _COMPILED_GUARD not in text:
                # Without it, nothing would be guarded, which no compiler says.
                raise ValueError(f"{path}: expected the line {_GUARD.rstrip()!r}")
            # What only mypy reads is not compiled.
            text = text.replace("\nif TYPE_CHECKING:\n", "\nif False:\n")
        target.write_text(text + _derived(root, path), encoding="utf-8")


def _derived(root: Path, path: Path) -> str:
    """What the build adds to the .pxd of a hot module, which others that cimport it depend on."""
    source = path.with_name(f"{path.stem.removesuffix('_c')}.py")
    if path.suffix != ".pxd" or source.relative_to(root).as_posix() not in EXTENSIONS.values():
        return ""
    return variables(source.read_text(encoding="utf-8"), path.read_text(encoding="utf-8"))


def variables(source: str, types: str) -> str:
    """The declarations of a hot module's imports and private constants as C variables: reading them is no look-up.

    Args:
        source: The module.
        types: Its .pxd, whose own declarations, such as of an integer, are kept.
    """
    found: set[str] = set()
    for each in ast.parse(source).body:
        if isinstance(each, (ast.Import, ast.ImportFrom)):
            # What comes from a hot module is cimported.
            if not _NO_OBJECTS.match(ast.unparse(each)):
                found.update(alias.asname or alias.name for alias in each.names)
        elif isinstance(each, (ast.Assign, ast.AnnAssign)):
            stored = [each for each in ast.walk(each) if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Store)]
            found.update(name.id for name in stored if name.id.startswith("_"))
    declared = set(re.findall(r"^cdef .*?(\w+)$", types, re.MULTILINE))
    return "".join(f"\ncdef object {name}" for name in sorted(found - declared))


def compile_here(wanted: dict[str, Path]) -> None:
    """Compile modules of the project in the current directory, and write each to the given file."""
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
            # Atomic: another build may be reading the file.
            fresh = path.with_suffix(f".{os.getpid()}")
            fresh.write_bytes(Path(command.get_ext_fullpath(name)).read_bytes())
            fresh.replace(path)


def _write_shared() -> str:
    """Generate Cython's shared code, and return its file."""
    path = f"{SHARED.replace('.', '/')}.c"
    # No module uses memoryviews.
    command = [sys.executable, "-m", "cython", "generate-shared", "--exclude", "MemoryView", path]
    subprocess.run(command, check=True)
    return path


def usable(compiled: dict[str, Path]) -> dict[str, Path]:
    """The compiled modules that exist, without those that need a missing one."""
    there = {name: path for name, path in compiled.items() if path.exists()}
    return there if there.keys() >= EXTENSIONS.keys() else {name: there[name] for name in there if name in ALONE}


if __name__ == "__main__":
    compile_here({name: Path(path) for name, _, path in (each.partition("=") for each in sys.argv[1:])})
