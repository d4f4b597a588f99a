"""Every block of Python and TOML of the pages works as it stands there."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from otel_fastpath.tools.budget import declare

pytestmark = pytest.mark.source
ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
APPLIED = 'assert "applied" in {row.state.value for row in FastpathInstrumentor().status()}'
# Text of a block -> what is done after it, where running it proves little.
AFTER = {
    # What stock's handler does at exit needs a new thread, which Python 3.12.1 does not start then.
    "addHandler(LoggingHandler(": "logging.getLogger().handlers[-1].flush = lambda: None\n",
    "            provider.shutdown()": """
import asyncio
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.trace import TracerProvider

async def service():
    async with lifespan(app):
        metrics.set_meter_provider(MeterProvider())
        trace.set_tracer_provider(TracerProvider())

asyncio.run(service())
""",
    "FastpathInstrumentor().instrument()\n    yield": """
import asyncio

async def service():
    async with lifespan(app):
        assert "applied" in {row.state.value for row in FastpathInstrumentor().status()}
    assert "applied" not in {row.state.value for row in FastpathInstrumentor().status()}

asyncio.run(service())
""",
    "def post_fork": f"""
from types import SimpleNamespace
post_fork(None, SimpleNamespace(pid=1))
assert trace.get_tracer_provider() is not None
{APPLIED}
trace.get_tracer("shop").start_span("span")
""",
    "def set_up_telemetry": f"""
set_up_telemetry(sender=None)
{APPLIED}
""",
    "get_wsgi_application": f"""
import django.core.handlers.base
from django.conf import settings
assert len(settings.MIDDLEWARE) == 1
{APPLIED}
""",
    "def handler": f"""
assert handler({{"items": [1, 2]}}, None) == {{"statusCode": 200}}
{APPLIED}
""",
}
# Text of a block -> what it needs besides what is installed.
BEFORE = {
    "shop.settings": """
import sys, types
settings = types.ModuleType("shop.settings")
settings.SECRET_KEY, settings.ROOT_URLCONF, settings.MIDDLEWARE = "key", "shop.settings", []
sys.modules |= {"shop": types.ModuleType("shop"), "shop.settings": settings}
""",
}
# Text of a block -> the server that it calls.
SERVERS = {
    "chat.completions": """
import os
from examples.openai_calls import serve
os.environ |= {"OPENAI_BASE_URL": serve(), "OPENAI_API_KEY": "sk-example"}
""",
    "realtime.connect": """
import functools, openai, threading
from examples.openai_realtime import answer
from websockets.sync.server import serve
server = serve(answer, "127.0.0.1", 0)
threading.Thread(target=server.serve_forever, daemon=True).start()
url = f"ws://127.0.0.1:{server.socket.getsockname()[1]}/v1"
openai.OpenAI = functools.partial(openai.OpenAI, websocket_base_url=url, api_key="sk-example")
""",
}


def blocks(language):
    """A test's parameter for each block in this language."""
    for page in PAGES:
        found = re.findall(rf"^```{language}\n(.*?)^```$", page.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
        for number, block in enumerate(found, 1):
            yield pytest.param(block, id=f"{page.relative_to(ROOT).as_posix()}-{number}")


def chosen(parts, block):
    """The parts whose text is in the block."""
    return "".join(part for text, part in parts.items() if text in block)


@pytest.mark.parametrize("block", [*blocks("python")])
def test_python(block, tmp_path):
    """It runs, and prints what its last comment says. A block of tests is run by pytest."""
    if "exceptions.start(" in block and sys.version_info < (3, 12):
        pytest.skip("needs sys.monitoring")
    # A file of its own: lines are counted as on the page.
    file = tmp_path / "test_block.py"
    file.write_text(block, encoding="utf-8")
    program = f"import runpy\n{chosen(BEFORE | SERVERS, block)}\nglobals().update(runpy.run_path({str(file)!r}))\n"
    command = ["-c", program + chosen(AFTER, block)]
    if "def test_" in block:
        command = ["-m", "pytest", "-q", "--overhead-processes=1", "--benchmark-max-time=0.01", str(file)]
    run = subprocess.run(
        [sys.executable, *command],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )

    assert run.returncode == 0, run.stdout + run.stderr
    assert "Traceback" not in run.stderr
    if printed := re.search(r"\n# (.*)\n\Z", block):
        assert run.stdout == f"{printed[1]}\n"


@pytest.mark.parametrize("block", [*blocks("toml")])
def test_toml(block, tmp_path):
    """It declares budgets without a mistake."""
    file = tmp_path / "pyproject.toml"
    file.write_text(block, encoding="utf-8")

    assert declare.read(file).scenarios


def test_the_blocks_are_found():
    """Those that the README and the pages had when this test was written."""
    assert len(list(blocks("python"))) >= 8
    assert len(list(blocks("toml"))) >= 1
