"""The environment of a vendor: the newest releases of its packages, and otel-fastpath from this tree."""

from __future__ import annotations

import hashlib
import shutil
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING

from examples.founding_case.environment import ROOT, SetupError, link_package, locked, real_interpreter, uv

if TYPE_CHECKING:
    from pathlib import Path

CACHE = ROOT / ".cache" / "vendors"
# What otel-fastpath itself needs. The explicit betas let the resolver take those, as in pyproject.toml.
OURS = ("opentelemetry-api>=1.40", "opentelemetry-sdk>=1.40", "opentelemetry-instrumentation>=0.61b0", "packaging>=22")


@dataclass(frozen=True)
class Environment:
    """An environment that is ready.

    Attributes:
        bin: The folder of its programs.
        versions: The installed release of each distribution.
        note: Something that the reader of the results has to know; usually empty.
    """

    bin: Path
    versions: dict[str, str]
    note: str = ""


def provide(requirements: tuple[str, ...]) -> Environment:
    """Make the environment with the newest releases that meet these requirements, unless the cache has it.

    Without a network, the environment of an earlier run is used, and `note` says so.

    Raises:
        SetupError: It cannot be made.
    """
    digest = hashlib.sha256("\n".join(requirements).encode()).hexdigest()[:12]
    folder = CACHE / f"{digest}-{sys.version_info.major}.{sys.version_info.minor}"
    stamp, note = folder / "made-from.txt", ""
    with locked(folder):
        before = stamp.read_text(encoding="utf-8") if stamp.exists() else ""
        try:
            pins = _newest(folder, requirements)
        except SetupError:
            if not before:
                raise
            pins, note = before, "the newest releases could not be looked up: those of an earlier run are used"
        if pins != before:
            shutil.rmtree(folder, ignore_errors=True)
            uv("venv", "--no-project", "--python", real_interpreter(), str(folder))
            listed = folder / "requirements.txt"
            listed.write_text(pins, encoding="utf-8")
            uv("pip", "install", "--no-config", "--no-deps", "--python", str(folder), "--requirement", str(listed))
            stamp.write_text(pins, encoding="utf-8")
        link_package(folder)
    versions = dict(line.split("==", 1) for line in pins.splitlines() if "==" in line)
    return Environment(folder / "bin", versions, note)


def _newest(folder: Path, requirements: tuple[str, ...]) -> str:
    """One release for each distribution, as requirements."""
    asked = folder.with_name(f"{folder.name}.in")
    asked.write_text("\n".join([*requirements, *OURS, ""]), encoding="utf-8")
    plain = ("--no-config", "--no-header", "--no-annotate", "--python", real_interpreter())
    return uv("pip", "compile", *plain, str(asked))
