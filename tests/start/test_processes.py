"""A program has the same telemetry as without this package, whenever it imports its libraries."""

from __future__ import annotations

import json
import sys

import pytest
from newer_releases import needs
from start_ways import WAYS, spans

from otel_fastpath.features import LIBRARIES

pytest.importorskip("fastapi")
pytest.importorskip("httpx")
pytest.importorskip("opentelemetry.instrumentation.fastapi")

APPLICATION = """
import asyncio

import httpx
from fastapi import FastAPI
from starlette.applications import Starlette
from starlette.responses import PlainTextResponse
from starlette.routing import Route

fast = FastAPI()

@fast.get("/items/{item}")
def read(item: int):
    return {"item": item}

plain = Starlette(routes=[Route("/plain", lambda request: PlainTextResponse("plain"))])

async def call(app, path):
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app=app), base_url="http://local") as client:
        return (await client.get(path)).status_code

def handle():
    return [asyncio.run(call(fast, "/items/1")), asyncio.run(call(plain, "/plain")), asyncio.run(call(fast, "/no"))]
"""
PROGRAMS = {
    # Imports at the top of the program.
    "at the top": APPLICATION + "print(handle())\n",
    # Imports in a function, as of a rarely used part.
    "in a function": "def work():\n"
    + "".join(f"    {line}\n" for line in [*APPLICATION.splitlines(), "print(handle())"])
    + "work()\n",
    # A serverless runtime loads the handler's file by its path; some do so again for a new version, or reload it.
    "by a handler's loader": """
import importlib.util, sys

def load():
    spec = importlib.util.spec_from_file_location("handler", "handler.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module

print(load().handle())
print(load().handle())
sys.path.insert(0, ".")
import handler
handler.handle()
print(importlib.reload(handler).handle())
""",
    # The first import is in a thread, or in several.
    "in two threads": """
import importlib, sys, threading
sys.path.insert(0, ".")
barrier = threading.Barrier(2)

def work(name):
    barrier.wait()
    importlib.import_module(name)

threads = [threading.Thread(target=work, args=(name,)) for name in ("starlette.applications", "fastapi")]
for thread in threads: thread.start()
for thread in threads: thread.join()
import handler
print(handler.handle())
""",
    "in a forked child": """
import os, sys
sys.path.insert(0, ".")
child = os.fork()
if not child:
    import handler
    print(handler.handle(), flush=True)
    from opentelemetry import trace
    trace.get_tracer_provider().force_flush()
    sys.stdout.flush()
    os._exit(0)
os.waitpid(child, 0)
""",
}
# What OpenTelemetry alone does, whenever it imports its libraries.
STOCK = []


@pytest.fixture
def program(tmp_path):
    """Writes a program, and the handler that some of them load."""
    (tmp_path / "handler.py").write_text(APPLICATION)

    def write(text):
        path = tmp_path / "program.py"
        path.write_text(text)
        return path

    return write


@pytest.mark.parametrize(
    ("when", "way"),
    [
        # `make test` has each moment of an import in one of the ways that load lazily, and each way at one moment.
        pytest.param(when, way, marks=[pytest.mark.slow] if way != "lazy" and when != "at the top" else [])
        for when in PROGRAMS
        for way in WAYS
        if way != "stock"
    ],
)
def test_the_telemetry_is_the_same(start, program, when, way):
    """Spans with their names, attributes and parents are those of OpenTelemetry alone, and stderr is as empty."""
    if not STOCK:
        STOCK.append(start("stock", sys.executable, program(PROGRAMS["at the top"])))
    (stock,) = STOCK
    ours = start(way, sys.executable, program(PROGRAMS[when]))

    assert "[200, 200, 404]" in ours.stdout
    assert spans(ours.stdout) == spans(stock.stdout * (4 if when == "by a handler's loader" else 1))
    assert {span["name"] for span in spans(ours.stdout)} >= {"GET", "GET /items/{item}", "GET /plain"}
    assert ours.stderr == stock.stderr


USES = """
import json, sys
{imports}
names = ("fastapi", "starlette", "httpx", "requests", "urllib3", "flask")
print(json.dumps([name for name in names if name in sys.modules]))
"""


@pytest.mark.parametrize("way", ["lazy", "run"])
@pytest.mark.parametrize(
    ("imports", "expected"),
    [("", []), ("import urllib3", ["urllib3"]), ("import starlette.routing", ["starlette"])],
)
def test_what_a_program_does_not_import_is_not_imported(start, program, imports, expected, way):
    """Nor are the instrumentations of other libraries."""
    result = start(way, sys.executable, program(USES.format(imports=imports)))

    assert json.loads(result.stdout) == expected
    assert result.stderr == ""


def test_switched_off_all_are_imported(start, program):
    """By OTEL_FASTPATH_LAZY_INSTRUMENTATIONS."""
    result = start("eager", sys.executable, program(USES.format(imports="")))

    assert json.loads(result.stdout) == ["fastapi", "starlette", "httpx", "requests", "urllib3", "flask"]


def test_a_wrong_value_of_the_switch_is_one_line(start, program):
    """It is on."""
    result = start("lazy", sys.executable, program("print()"), OTEL_FASTPATH_LAZY_INSTRUMENTATIONS="perhaps")

    (line,) = result.stderr.splitlines()
    assert line.startswith("OTEL_FASTPATH_LAZY_INSTRUMENTATIONS: 'perhaps' is not valid; expected one of on, off.")


@needs("opentelemetry-instrumentation", "0.66b0", "the first that reports it to all")
@pytest.mark.parametrize("way", list(WAYS))
def test_a_conflict_is_reported_as_without_this_package(start, program, tmp_path, way):
    """At the start, with the same message; the library stays as it is."""
    info = tmp_path / "requests-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: requests\nVersion: 1.0\n")
    text = "import requests; print(hasattr(requests.Session.send, '__wrapped__'))"
    result = start(way, sys.executable, program(text), PYTHONPATH=str(tmp_path))

    assert result.stdout == "False\n"
    (line,) = result.stderr.splitlines()
    assert line.startswith('requests only instruments "requests~=2.0; extra == ')
    assert '("requests 1.0") falls outside of that range' in line


TAKES_OVER = """
import {library}
from otel_fastpath import FastpathInstrumentor
states = {{row.name: row.state.value for row in FastpathInstrumentor().status()}}
print(states["{patch}"], states["{library}.stock.instrument"])
"""


def replaced_from(release, library, patch, *marks):
    """A library whose stock instrumentation ours replaces from this release on."""
    first = needs(f"opentelemetry-instrumentation-{library}", release, "the first that ours replaces")
    return pytest.param(library, patch, marks=[first, *marks])


@pytest.mark.parametrize(
    ("library", "patch"),
    [
        replaced_from("0.65b0", "asyncpg", "asyncpg.execute"),
        ("openai", "openai.request"),
        replaced_from("0.64b0", "psycopg", "psycopg.cursor.execute", pytest.mark.slow),
        replaced_from("0.64b0", "redis", "redis.command", pytest.mark.slow),
        replaced_from("0.65b0", "sqlalchemy", "sqlalchemy.execute", pytest.mark.slow),
    ],
)
def test_a_wrapper_takes_the_place_of_an_instrumentation_that_is_loaded_late(start, program, library, patch):
    """The library is patched while its import ends: by the instrumentation, in whose place our wrapper is."""
    if library not in {each.name for each in LIBRARIES.wrappers}:
        pytest.skip("this feature is not there")
    pytest.importorskip(library)
    pytest.importorskip(f"opentelemetry.instrumentation.{'genai.' if library == 'openai' else ''}{library}")
    text = TAKES_OVER.format(library=library, patch=patch)
    result = start("lazy", sys.executable, program(text), OTEL_PYTHON_DISABLED_INSTRUMENTATIONS="django")

    assert (result.stdout, result.stderr) == ("applied applied\n", "")


@pytest.mark.slow
@pytest.mark.parametrize("attempt", range(20))
def test_threads_never_lose_an_instrumentation(start, program, attempt):
    """Two threads that import Starlette and FastAPI for the first time, twenty times."""
    result = start("lazy" if attempt % 2 else "run", sys.executable, program(PROGRAMS["in two threads"]))

    assert {span["name"] for span in spans(result.stdout)} >= {"GET /items/{item}", "GET /plain"}
    assert result.stderr == ""
