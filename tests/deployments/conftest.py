"""Services that are set up as the pages say, and what of their telemetry a receiver gets."""

from __future__ import annotations

import json
import os
import re
import signal
import sys
import time
import urllib.request
from collections import Counter
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "tests")]

from examples.demo.processes import (  # noqa: E402
    Interrupts,
    clean_environment,
    free_port,
    listening,
    running,
    wait_until,
)
from examples.demo.services import start_server  # noqa: E402

BIN = Path(sys.executable).parent
SETTINGS = {
    "OTEL_EXPORTER_OTLP_PROTOCOL": "http/protobuf",
    "OTEL_LOGS_EXPORTER": "none",
    # The broker's own calls, and the receiver's.
    "OTEL_PYTHON_DISABLED_INSTRUMENTATIONS": "redis,requests,urllib3",
    # Nothing is exported before a process ends: what arrives has been exported then.
    "OTEL_BSP_SCHEDULE_DELAY": "600000",
    "OTEL_METRIC_EXPORT_INTERVAL": "600000",
}


def block_of(page, text):
    """The first block of Python of a page that has this text."""
    blocks = re.findall(r"^```python\n(.*?)^```$", (ROOT / "docs" / page).read_text("utf-8"), re.MULTILINE | re.DOTALL)
    return next(block for block in blocks if text in block)


@pytest.fixture(scope="session")
def processes(tmp_path_factory):
    """Starts processes that end with the tests."""
    with running(tmp_path_factory.mktemp("logs"), Interrupts()) as started:
        yield started


@pytest.fixture(scope="session")
def receiver(processes):
    """The address of the OTLP receiver."""
    return start_server(processes, "otlp_receiver")


@pytest.fixture
def deploy(processes, receiver, tmp_path):
    """Starts services of `tmp_path`."""
    started = []

    def start(*words, page="/items/1", **settings):
        started.append(Deployment(processes, receiver, tmp_path, words, page, settings))
        return started[-1]

    yield start
    for each in started:
        each.child.stop()


class Deployment:
    """A service; the words of its command may have `{port}`."""

    def __init__(self, processes, receiver, folder, words, page, settings):
        self.name = f"{folder.name}-{time.monotonic_ns()}"
        self.port = free_port()
        self.environment = clean_environment(
            {
                **SETTINGS,
                "OTEL_EXPORTER_OTLP_ENDPOINT": f"{receiver}/{self.name}",
                "PATH": f"{BIN}{os.pathsep}{os.environ['PATH']}",
                **settings,
            }
        )
        self._summary = f"{receiver}/{self.name}/summary"
        self._url = f"http://127.0.0.1:{self.port}{page}"
        first, *more = (word.format(port=self.port) for word in words)
        self.child = processes.start(
            self.name, [str(BIN / first), *more], stop_signal=signal.SIGTERM, cwd=folder, env=self.environment
        )

    def ask(self, times):
        """Send so many requests, each on a connection of its own; all are answered."""
        wait_until(lambda: listening(self.port), self.child)
        for _ in range(times):
            # A worker that takes no more requests lets the next connection wait for the one after it.
            with urllib.request.urlopen(self._url, timeout=60) as answer:  # noqa: S310  # loopback
                assert answer.status == 200

    def stop(self, number=signal.SIGTERM):
        """Stop it with a signal; how many spans of each name the receiver got in all."""
        self.child.process.send_signal(number)
        self.child.process.wait(60)
        with urllib.request.urlopen(self._summary, timeout=10) as answer:  # noqa: S310  # loopback
            summary = json.load(answer)
        found = Counter()
        for line, count in summary["spans"].items():
            found[json.loads(line)["name"]] += count
        assert summary["faults"] == {}
        return dict(found)

    def log(self):
        """What it has logged so far."""
        return self.child.log.read_text("utf-8")
