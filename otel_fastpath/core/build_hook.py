"""Build hook: compile the hot modules where a C compiler is there; else leave a pure-Python package.

OTEL_FASTPATH_EXTENSION=auto (default), off, or require. Not part of the wheel.
"""

from __future__ import annotations

import os
import sys
import sysconfig
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

SWITCH = "OTEL_FASTPATH_EXTENSION"
# Compiled name -> its source. A plain .py is also the module's pure twin and is compiled under a second name.
EXTENSIONS = {
    "otel_fastpath.core._api_c": "otel_fastpath/core/_api.py",
    "otel_fastpath.core._attributes_c": "otel_fastpath/core/_attributes.py",
    "otel_fastpath.core._bound_c": "otel_fastpath/core/_bound.py",
    "otel_fastpath.core._call_c": "otel_fastpath/core/_call.py",
    "otel_fastpath.core._collect_c": "otel_fastpath/core/_collect.py",
    "otel_fastpath.core._events_c": "otel_fastpath/core/_events.py",
    "otel_fastpath.core._exemplars_c": "otel_fastpath/core/_exemplars.py",
    "otel_fastpath.core._identity_c": "otel_fastpath/core/_identity.py",
    "otel_fastpath.core._metrics_c": "otel_fastpath/core/_metrics.py",
    "otel_fastpath.core._models_c": "otel_fastpath/core/_models.py",
    "otel_fastpath.core._openai_c": "otel_fastpath/core/_openai.py",
    "otel_fastpath.core._otlp_c": "otel_fastpath/core/_otlp_c.pyx",
    "otel_fastpath.core._plan_c": "otel_fastpath/core/_plan.py",
    "otel_fastpath.core._propagation_c": "otel_fastpath/core/_propagation.py",
    "otel_fastpath.core._reads_c": "otel_fastpath/core/_reads.py",
    "otel_fastpath.core._scope_c": "otel_fastpath/core/_scope.py",
    "otel_fastpath.core._series_c": "otel_fastpath/core/_series.py",
    "otel_fastpath.core._span_c": "otel_fastpath/core/_span.py",
    "otel_fastpath.core._sql_c": "otel_fastpath/core/_sql.py",
    "otel_fastpath.core._start_c": "otel_fastpath/core/_start.py",
    "otel_fastpath.core._summary_c": "otel_fastpath/core/_summary.py",
    "otel_fastpath.core._targets_c": "otel_fastpath/core/_targets.py",
    "otel_fastpath.core._tracer_c": "otel_fastpath/core/_tracer.py",
}
# They take from one another: all or none. What is named here stands alone.
ALONE = {}
if sys.version_info >= (3, 12) and not sysconfig.get_config_var("Py_GIL_DISABLED"):
    # The callback of sys.monitoring, which it calls under the GIL.
    ALONE["otel_fastpath.core._excmon"] = "otel_fastpath/core/_excmon.c"


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
        if version == "editable":
            for target in targets.values():
                # An older compile would be imported in the place of the edited source.
                Path(self.root, target).unlink(missing_ok=True)
        if mode == "off":
            return
        self.scratch = tempfile.TemporaryDirectory()
        built = compile_extensions(self.root, self.scratch.name, required=mode == "require")
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


def compile_extensions(root: str, scratch: str, *, required: bool) -> dict[str, Path]:
    """Compile what can be compiled: the compiled name -> the file."""
    from Cython.Build import build_ext
    from setuptools import Distribution, Extension

    # Plain Extensions handed to Cython's build_ext: cythonize() would drop `optional`.
    extensions = [
        Extension(name, [source], extra_compile_args=["-g0", "-O3"], optional=not required)
        for name, source in (EXTENSIONS | ALONE).items()
    ]
    command = build_ext(Distribution({"name": "otel-fastpath", "ext_modules": extensions}))
    command.cython_directives = {
        "language_level": "3",
        # Annotations are for mypy: as C types they would reject what the pure twin accepts.
        "annotation_typing": False,
    }
    command.cython_c_in_temp = True
    command.build_lib = command.build_temp = scratch
    command.ensure_finalized()
    here = Path.cwd()
    os.chdir(root)
    try:
        command.run()
    finally:
        os.chdir(here)
    return usable({name: Path(command.get_ext_fullpath(name)) for name in EXTENSIONS | ALONE})


def usable(compiled: dict[str, Path]) -> dict[str, Path]:
    """Of what was to be compiled, what is there and not without another that it needs."""
    there = {name: path for name, path in compiled.items() if path.exists()}
    return there if there.keys() >= EXTENSIONS.keys() else {name: there[name] for name in there if name in ALONE}
