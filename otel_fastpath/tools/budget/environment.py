"""Facts about the machine, the interpreter and the installed distributions, as recorded in results and calibrations."""

from __future__ import annotations

import os
import platform
import re
import sys
from contextlib import suppress
from fnmatch import fnmatchcase
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from otel_fastpath.tools.budget.counting import native

if TYPE_CHECKING:
    from collections.abc import Iterable

# The version of the measuring method: values that were calibrated with another one are not valid.
HARNESS: Final = 1


def python() -> str:
    """The minor version, which counts are valid for: bytecode changes with each minor version."""
    return f"{sys.version_info[0]}.{sys.version_info[1]}"


def distributions(patterns: Iterable[str]) -> dict[str, str]:
    """Installed versions of the distributions that match."""
    wanted = [normal(pattern) for pattern in patterns]
    found = {}
    for name in wanted:
        with suppress(metadata.PackageNotFoundError):
            found[name] = metadata.version(name)
    # Reading the names of all installed distributions takes some hundred milliseconds.
    loose = [pattern for pattern in wanted if any(special in pattern for special in "*?[")]
    for distribution in metadata.distributions() if loose else ():
        name = normal(distribution.metadata["Name"] or "")
        if any(fnmatchcase(name, pattern) for pattern in loose):
            found[name] = distribution.version
    return dict(sorted(found.items()))


def normal(name: str) -> str:
    """A distribution's name as PEP 503 writes it."""
    return re.sub(r"[-_.]+", "-", name).lower()


def cpu() -> str:
    """The processor's model."""
    try:
        match = re.search(r"^model name\s*:\s*(.*)$", Path("/proc/cpuinfo").read_text(encoding="utf-8"), re.MULTILINE)
    except OSError:
        match = None
    return match[1] if match else platform.processor() or platform.machine()


def facts(patterns: Iterable[str]) -> dict[str, Any]:
    """For a report."""
    return {
        "python": platform.python_version(),
        "implementation": platform.python_implementation(),
        "interpreter": native.interpreter(),
        "tools": native.tools(),
        "platform": platform.platform(),
        "cpu": cpu(),
        "cpus": os.cpu_count(),
        "load": round(os.getloadavg()[0], 2) if hasattr(os, "getloadavg") else None,
        "harness": HARNESS,
        "distributions": distributions(patterns),
    }
