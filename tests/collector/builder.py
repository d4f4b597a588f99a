"""The Collector, made by its own builder; kept in the cache until `builder.yaml` changes."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

HERE = Path(__file__).parent
MANIFEST = HERE / "builder.yaml"
CACHE = HERE.parents[1] / ".cache" / "collector"
_BUILDER = "go.opentelemetry.io/collector/cmd/builder"


class BuildError(RuntimeError):
    """The Collector could not be built; the message is for the user."""


def version() -> str:
    """The version of the Collector: that of the manifest."""
    (found,) = re.findall(r"^  version: (\S+)$", MANIFEST.read_text(encoding="utf-8"), re.MULTILINE)
    return str(found)


def provide() -> Path:
    """The program, built if it is not in the cache. This takes three minutes.

    Raises:
        BuildError: Go is not installed, or the builder fails.
    """
    program, made_from = CACHE / "build" / "otelcol", CACHE / "made-from.yaml"
    manifest = MANIFEST.read_text(encoding="utf-8")
    if program.exists() and made_from.exists() and made_from.read_text(encoding="utf-8") == manifest:
        return program
    if shutil.which("go") is None:
        raise BuildError("Go is not installed: https://go.dev/doc/install")
    CACHE.mkdir(parents=True, exist_ok=True)
    (CACHE / MANIFEST.name).write_text(manifest, encoding="utf-8")
    command = ["go", "run", f"{_BUILDER}@v{version()}", "--config", MANIFEST.name]
    done = subprocess.run(command, cwd=CACHE, capture_output=True, text=True, check=False)
    if done.returncode or not program.exists():
        raise BuildError(f"{' '.join(command)} failed with {done.returncode}:\n{done.stderr[-3000:]}")
    made_from.write_text(manifest, encoding="utf-8")
    return program
