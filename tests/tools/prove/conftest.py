"""Runs `otel-fastpath` with a changed SDK."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from disabled_instrumentations import all_but
from opentelemetry.sdk import trace


@pytest.fixture
def changed(tmp_path):
    """`changed(old, new)` changes the source of the SDK's traces for the processes that `run` starts.

    They have few libraries, as to import all takes most of the time.
    """
    folder = tmp_path / "changed/opentelemetry/sdk/trace"
    shutil.copytree(Path(trace.__file__).parent, folder, ignore=shutil.ignore_patterns("__pycache__"))

    for name in ("aiohttp", "botocore", "celery", "django", "fastapi", "flask", "grpc", "openai", "sqlalchemy"):
        (tmp_path / "changed" / f"{name}.py").write_text("raise ImportError", encoding="utf-8")

    def change(old, new):
        file = folder / "__init__.py"
        text = file.read_text(encoding="utf-8")
        assert old in text, "the SDK's source has changed: change the test"
        file.write_text(text.replace(old, new, 1), encoding="utf-8")

    return change


@pytest.fixture
def run(tmp_path):
    """`run("status", NAME="value")`: the command with these arguments and variables in a process."""
    # `status` would import all libraries; `prove` does so itself.
    lean = all_but("fastpath")

    def run(*arguments, **variables):
        environ = {
            name: value for name, value in os.environ.items() if "START_LINE" in name or not name.startswith("OTEL")
        }
        path = os.pathsep.join([str(tmp_path / "changed"), *filter(None, [environ.get("PYTHONPATH")])])
        return subprocess.run(
            [sys.executable, "-m", "otel_fastpath", *map(str, arguments)],
            capture_output=True,
            text=True,
            check=False,
            env={**environ, "OTEL_PYTHON_DISABLED_INSTRUMENTATIONS": lean, "PYTHONPATH": path, **variables},
            cwd=tmp_path,
        )

    return run
