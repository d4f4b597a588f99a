"""The paths of `make memcheck` go through each library and each hot module, and are found by their names."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("asyncpg")
sys.path.insert(0, str(Path(__file__).parent))

from hotpaths.choice import chosen
from hotpaths.hosts import HOSTS
from hotpaths.paths import PATHS

import otel_fastpath
from otel_fastpath.compiled import TWINS
from otel_fastpath.features import LIBRARIES

HERE = Path(__file__).parent
PACKAGE = Path(otel_fastpath.__file__).parent
# Pure, these consist of fields, or of functions that are made from texts: every path has some of them.
NO_FUNCTIONS = {"compiled.facts", "logs.records.record"}
# The pure core, which this looks at, leaves stock's functions there; the path "contexts and baggage" goes through them.
ONLY_COMPILED = {"trace.context.baggage_functions", "trace.context.context_functions"}
# Its driver is built with MySQL's headers. It has the wrappers of PyMySQL, and no hot module.
LIKE_PYMYSQL = "db/mysqlclient"


def test_each_library_has_a_host():
    """Those that are folders of the package, and no others."""
    folders = {"/".join(part.place.split(".")[:2]) for part in LIBRARIES.parts} - {"wrapping/gevent"}
    named = {name for names in HOSTS.values() for name in names}
    assert {name for name in named if (PACKAGE / name).is_dir()} == folders


def reached(*names):
    """The modules that paths go through; None if a server that they need is not installed."""
    done = subprocess.run(
        [sys.executable, "-m", "hotpaths.reached", *names],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONPATH": str(HERE)},
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout.splitlines()[-1])
    return None if found is None else set(found)


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_each_hot_module_is_gone_through():
    """By the path of what it is for; and each host goes through the libraries that it names."""
    # This one takes its time.
    found = reached(*(name for name in PATHS if name != "profile, of spans"))
    missing = []
    for name, libraries in HOSTS.items():
        modules = reached(name)
        if modules is None:
            missing += [library.replace("/", ".") for library in libraries]
            continue
        found |= modules
        folders = [library.replace("/", ".") for library in libraries if library != LIKE_PYMYSQL]
        assert [folder for folder in folders if not any(module.startswith(folder) for module in modules)] == []
    assert not list((PACKAGE / LIKE_PYMYSQL).glob("*_c.pxd"))
    expected = {twin.removesuffix("_c") for twin in TWINS} - NO_FUNCTIONS - ONLY_COMPILED
    assert {module for module in expected - found if not module.startswith(tuple(missing))} == set()


def test_a_path_is_found_by_its_name_or_a_part_of_it():
    """In any case; a whole name is that path alone."""
    assert chosen([]) == [*PATHS, *HOSTS]
    assert chosen(["OPENAI, stream", "STRUCTLOG"]) == ["structlog, events", "OpenAI, stream"]
    assert chosen(["REDIS"]) == ["redis"]
    assert chosen(["psycopg"]) == ["psycopg"]
    assert chosen(["wsgi", "Http-Clients"]) == ["http-clients", "wsgi-servers"]


def test_a_name_that_fits_none_is_refused():
    """With the names that there are."""
    with pytest.raises(ValueError, match=r"^no path is called 'mongo': there are .*span, current; .*; wsgi-servers; "):
        chosen(["redis", "mongo"])
