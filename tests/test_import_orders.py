"""The patches of the SDK are applied whichever of its modules is imported first, before or after `instrument()`."""

import subprocess
import sys
from itertools import permutations

import pytest
from newer_releases import older

MODULES = (
    "opentelemetry.sdk.trace",
    "opentelemetry.sdk.metrics.export",
    "opentelemetry.sdk._logs",
    "opentelemetry.sdk._logs.export",
    "opentelemetry.exporter.otlp.proto.http._log_exporter",
)
# Each module is once the first and once the last one.
USUAL = [(MODULES[at - 1], MODULES[at]) for at in range(len(MODULES))]
PROGRAM = """
import importlib
import sys
import threading

from otel_fastpath import FastpathInstrumentor

# While another thread runs, patches are not applied in the middle of an import, see `Patcher`.
end = threading.Event()
thread = threading.Thread(target=end.wait, daemon=True)
thread.start()
first, last = sys.argv[1:]
importlib.import_module(first)
FastpathInstrumentor().instrument()
importlib.import_module(last)
end.set()
thread.join()
for row in FastpathInstrumentor().status():
    if row.state.value == "skipped":
        print(row.name, row.reason)
"""


@pytest.mark.parametrize(
    ("first", "last"),
    [
        ("threading", MODULES[-1]),
        *USUAL,
        *(pytest.param(*pair, marks=pytest.mark.slow) for pair in permutations(MODULES, 2) if pair not in USUAL),
    ],
)
def test_each_order_of_imports(first, last):
    """Nothing is logged, and no patch of the SDK or of OTLP is skipped."""
    result = subprocess.run(
        [sys.executable, "-c", PROGRAM, first, last], capture_output=True, text=True, check=False, timeout=60
    )

    skipped = result.stdout.splitlines()
    if older("opentelemetry-sdk", "1.45"):
        # Not all patches are for these releases.
        skipped = [line for line in skipped if not line.endswith("is needed")]
    assert (result.returncode, skipped, result.stderr) == (0, [], "")


INSIDE = """
import sys

import wrapt

from otel_fastpath import FastpathInstrumentor


class Finder:
    asked = set()

    def find_spec(self, name, path=None, target=None):
        if name == sys.argv[1] and name not in self.asked:
            self.asked.add(name)
            FastpathInstrumentor().instrument(redis="on")


if sys.argv[2] == "find":
    sys.meta_path.insert(0, Finder())
else:
    wrapt.register_post_import_hook(lambda _module: FastpathInstrumentor().instrument(redis="on"), sys.argv[1])
import redis
# Any other module.
import colorsys

print(hasattr(redis.Redis.execute_command, "__wrapped__"))
for row in FastpathInstrumentor().status():
    if row.name == "redis.command":
        print(row.state.value)
"""


@pytest.mark.parametrize("way", ["find", "hook"])
@pytest.mark.parametrize("name", ["redis", "redis.client", "redis.connection", "redis.asyncio.client"])
def test_instrumented_while_the_library_is_imported(name, way):
    """By another import hook, in the same thread: the next import notices that this one is complete."""
    pytest.importorskip("redis")
    pytest.importorskip("otel_fastpath.db.redis")
    result = subprocess.run(
        [sys.executable, "-c", INSIDE, name, way], capture_output=True, text=True, check=False, timeout=60
    )

    assert (result.returncode, result.stdout, result.stderr) == (0, "True\napplied\n", "")
