"""The servers that the examples need, started once for all tests of the examples."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
# The examples are programs of the repository and not part of the installed package.
sys.path.insert(0, str(ROOT))

from examples.demo.processes import Interrupts, running  # noqa: E402
from examples.demo.services import start_server  # noqa: E402


@pytest.fixture
def output_of():
    """Runs an example with environment variables, and returns what it prints."""

    def run(name, timeout=300, **variables):
        result = subprocess.run(
            [sys.executable, "-m", f"examples.{name}"],
            cwd=ROOT,
            env={**os.environ, **variables},
            capture_output=True,
            text=True,
            check=False,
            timeout=timeout,
        )
        assert result.returncode == 0, result.stderr
        return result.stdout

    return run


@pytest.fixture(scope="session")
def processes(tmp_path_factory):
    """Starts processes that end with the tests."""
    with running(tmp_path_factory.mktemp("logs"), Interrupts()) as started:
        yield started


@pytest.fixture(scope="session")
def openai_url(processes):
    """Our OpenAI server, as the base URL of a client."""
    return f"{start_server(processes, 'openai_server')}/v1"


@pytest.fixture(scope="session")
def receiver(processes):
    """Our OTLP receiver."""
    return start_server(processes, "otlp_receiver")
