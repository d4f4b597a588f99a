"""Starts the processes in which lines fail, and gathers what they found."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from faultcheck.job import Job
from faultcheck.places import CACHE, FaultsError

if TYPE_CHECKING:
    from collections.abc import Mapping

_HERE = Path(__file__).resolve().parents[1]


def run(roots: Mapping[str, Path], options: Any, servers: dict[str, str]) -> list[dict[str, Any]]:
    """Check each workload with each core; gives a row for each fault.

    Raises:
        FaultsError: A workload could not be checked.
    """
    with tempfile.TemporaryDirectory() as folder:
        for core, root in roots.items():
            job = Job(
                core,
                list(options.workload),
                str(root),
                servers,
                options.part,
                options.parts,
                options.line,
                options.limit,
                folder,
                options.jobs,
            )
            if not _run(job):
                raise FaultsError("not every workload could be checked: see above")
        return [row for file in sorted(Path(folder).iterdir()) for row in _rows(file)]


def _run(job: Job) -> bool:
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join((job.root, str(_HERE))),
        # Each child imports modules of ours; they are compiled once.
        "PYTHONPYCACHEPREFIX": str(CACHE / "bytecode"),
        "PYTHONDONTWRITEBYTECODE": "",
    }
    for name in [name for name in environment if name.startswith(("OTEL_", "DATABASE_URL"))]:
        del environment[name]
    command = [sys.executable, "-m", "faultcheck.process", json.dumps(asdict(job))]
    # The root is the current folder: that is where modules are looked for first.
    done = subprocess.run(command, env=environment, cwd=job.root, stdout=sys.stderr, check=False)
    return done.returncode == 0


def _rows(file: Path) -> list[dict[str, Any]]:
    core, _, workload = file.stem.partition("-")
    lines = file.read_text(encoding="utf-8").splitlines()
    return [{"core": core, "workload": workload, **json.loads(line)} for line in lines]
