"""A setting that is not valid is reported once per process, in the log and in the status."""

from __future__ import annotations

import io
import json
import logging
import logging.handlers
import os
import queue
import subprocess
import sys
from pathlib import Path

import pytest

from otel_fastpath import wrong_settings

SCRIPTS = Path(sys.executable).parent
# A setting of each kind; the beginning of the line that tells of it, and the values that it names as the nearest.
WRONG = {
    "OTEL_FASTPATH_CORE": ("rust", "OTEL_FASTPATH_CORE: 'rust'", "c (compiled) or py (pure Python)"),
    "OTEL_FASTPATH_TELEMETRY": (
        "more",
        "OTEL_FASTPATH_TELEMETRY: 'more'",
        "same (what the service emitted before) or full",
    ),
    "OTEL_FASTPATH_DISABLED": (
        "trace.use-span,tracer.start_span",
        "OTEL_FASTPATH_DISABLED (disabled=): 'trace.use-span'",
        "nearest: trace.use_span, ",
    ),
    "OTEL_FASTPATH_OPENAI": ("yes", "OTEL_FASTPATH_OPENAI: 'yes'", "one of on, off, defer"),
    "OTEL_FASTPATH_OPENAI_OPTIONS": (
        "length=5,content_length=7",
        "OTEL_FASTPATH_OPENAI_OPTIONS (openai_options=): 'length'",
        "content_length=N",
    ),
    "OTEL_FASTPATH_ASYNCPG_OPTIONS": (
        "rows,no-metric",
        "OTEL_FASTPATH_ASYNCPG_OPTIONS (asyncpg_options=): 'no-metric'",
        "nearest: no-metrics, ",
    ),
    "OTEL_FASTPATH_EXCEPTIONS": (
        "handeld,code",
        "OTEL_FASTPATH_EXCEPTIONS (exceptions=): 'handeld'",
        "nearest: handled, ",
    ),
    "OTEL_FASTPATH_EXCEPTIONS_LIMIT": (
        "many",
        "OTEL_FASTPATH_EXCEPTIONS_LIMIT (exceptions_limit=): 'many'",
        "a number from 1 to 10000",
    ),
    "OTEL_FASTPATH_STATUS_FOLDER": (
        "/nowhere",
        "OTEL_FASTPATH_STATUS_FOLDER: '/nowhere'",
        "expected a folder that exists",
    ),
    "OTEL_FASTPATH_PROFILE_SIGNAL": (
        "SIGPROF",
        "OTEL_FASTPATH_PROFILE_SIGNAL: 'SIGPROF'",
        "one of SIGUSR1, SIGUSR2",
    ),
    "OTEL_FASTPATH_EXCEPTION": ("off", "environment: 'OTEL_FASTPATH_EXCEPTION'", "nearest: OTEL_FASTPATH_EXCEPTIONS, "),
    "OTEL_PYTHON_DISABLED_INSTRUMENTATIONS": (
        "otel-fastpath",
        "OTEL_PYTHON_DISABLED_INSTRUMENTATIONS: 'otel-fastpath'",
        "expected fastpath",
    ),
    "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT": (
        "spans",
        "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT: 'spans'",
        "nearest: span_only, ",
    ),
}
# Handlers that OpenTelemetry puts on the root logger are the only ones.
WITHOUT_CONSOLE = {"OTEL_PYTHON_LOGGING_AUTO_INSTRUMENTATION_ENABLED": "true"}


@pytest.fixture
def service(environ, tmp_path):
    """Runs a program under opentelemetry-instrument with these variables; what it wrote to stdout and stderr."""
    for name in [name for name in os.environ if name.startswith("OTEL_") and "START_LINE" not in name]:
        environ.delenv(name)
    settings = {f"OTEL_{signal}_EXPORTER": "none" for signal in ("TRACES", "METRICS", "LOGS")}

    def run(program="", command=None, **variables):
        first, *more = command or ("opentelemetry-instrument", "python", "-c", program)
        result = subprocess.run(
            [SCRIPTS / first, *more],
            cwd=tmp_path,
            env={**os.environ, "PATH": f"{SCRIPTS}{os.pathsep}{os.environ['PATH']}", **settings, **variables},
            capture_output=True,
            text=True,
            check=True,
            timeout=120,
        )
        return result.stdout, result.stderr

    return run


def lines_of(stderr):
    """The lines about settings."""
    return [line for line in stderr.splitlines() if "is not valid" in line]


def values():
    """The variables of every wrong setting."""
    return {name: value for name, (value, *_) in WRONG.items()}


def assert_told_once(lines):
    """Each wrong setting has one line, which names the value and what was expected."""
    for _, beginning, expected in WRONG.values():
        (line,) = [line for line in lines if beginning in line]
        assert expected in line
    assert len(lines) == len(WRONG)


def test_without_a_console_handler_stderr_has_it(service):
    """The root logger has OpenTelemetry's handler only: each is a line on stderr, and what is right beside it holds."""
    program = """
import json, sys
import logging
from otel_fastpath import FastpathInstrumentor, exceptions, status
kinds = [type(handler).__name__ for handler in logging.getLogger().handlers]
found = status.collect(FastpathInstrumentor().status())
FastpathInstrumentor().uninstrument()
FastpathInstrumentor().instrument()
from otel_fastpath.exceptions import monitor
reasons = {row.name: row.reason for row in found.rows}
print(json.dumps([kinds, found.wrong_settings, reasons, monitor.state.settings.code]))
"""
    out, err = service(program, **WITHOUT_CONSOLE, **values())

    kinds, repeated, rows, code = json.loads(out)
    assert kinds == ["LoggingHandler"]
    assert_told_once(lines_of(err))
    assert [f"otel-fastpath: {line}" for line in repeated] == lines_of(err)
    assert rows["tracer.start_span"] == "disabled by setting (tracer.start_span)"
    # Older Pythons cannot count exceptions, so the settings of that are not taken.
    assert code == (sys.version_info >= (3, 12))


@pytest.mark.parametrize("variables", [{}, {"OTEL_PYTHON_LOG_LEVEL": "info"}])
def test_without_any_handler_it_is_there_once(service, variables):
    """Python's own handler of last resort writes it."""
    _, err = service(**values(), **variables)

    assert_told_once(lines_of(err))


@pytest.mark.parametrize("stream", ["stdout", "stderr"])
def test_a_console_handler_is_enough(service, tmp_path, stream):
    """A configuration with a handler on the console, made before: the line is in its format, and there only."""
    (tmp_path / "configured.py").write_text(
        f"import logging, sys\nlogging.basicConfig(stream=sys.{stream}, format='CONSOLE %(message)s')\n"
        "from otel_fastpath import FastpathInstrumentor\nFastpathInstrumentor().instrument()\n"
    )

    out, err = service(command=(Path(sys.executable).name, "configured.py"), **values())

    lines = lines_of(out + err)
    assert_told_once(lines)
    assert all(line.startswith("CONSOLE ") for line in lines)


def test_each_worker_tells_once(service):
    """A process that was forked after its parent told says nothing; one that is started says it once."""
    program = """
import os, subprocess, sys
from otel_fastpath import FastpathInstrumentor
if os.fork() == 0:
    FastpathInstrumentor().uninstrument()
    FastpathInstrumentor().instrument()
    os._exit(0)
os.wait()
# Some releases leave the way to their sitecustomize in the environment: the command would be a process of its own.
environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
subprocess.run(["opentelemetry-instrument", "python", "-c", ""], check=True, env=environment)
"""
    _, err = service(program, OTEL_FASTPATH_CORE="rust", **WITHOUT_CONSOLE)

    assert len(lines_of(err)) == 2


def test_the_command_repeats_it(service):
    """As a line of the table and in the JSON."""
    table, err = service(command=("otel-fastpath", "status"), OTEL_FASTPATH_CORE="rust", COLUMNS="200")
    document = json.loads(service(command=("otel-fastpath", "status", "--json"), OTEL_FASTPATH_CORE="rust")[0])

    (line,) = document["wrong_settings"]
    assert line.startswith("OTEL_FASTPATH_CORE: 'rust' is not valid; expected c (compiled) or py (pure Python).")
    assert f"Wrong setting: {line}" in table.splitlines()
    assert lines_of(err) == [f"otel-fastpath: {line}"]


def test_what_was_corrected_is_not_repeated(instrumentor, environ):
    """The status is about the settings of the last `instrument()`."""
    environ.setenv("OTEL_FASTPATH_CORE", "rust")
    instrumentor.instrument()
    assert len(wrong_settings.found()) == 1

    instrumentor.uninstrument()
    environ.setenv("OTEL_FASTPATH_CORE", "py")
    instrumentor.instrument()
    assert wrong_settings.found() == ()


@pytest.fixture
def handlers():
    """Puts these handlers on the root logger, in the place of those that are there."""
    root = logging.getLogger()
    before = root.handlers[:]

    def put(*new):
        root.handlers[:] = new

    yield put
    root.handlers[:] = before


def rich_handler():
    """One that has a console, as rich's."""
    rich = pytest.importorskip("rich.logging")
    return rich.RichHandler()


def queued(handler):
    """One that hands its records to another thread, whose listener has the handler."""
    made = logging.handlers.QueueHandler(queue.SimpleQueue())
    made.listener = logging.handlers.QueueListener(made.queue, handler)
    return made


@pytest.mark.parametrize(
    ("make", "is_console"),
    [
        (logging.StreamHandler, True),
        (lambda: logging.StreamHandler(sys.stdout), True),
        (lambda: logging.FileHandler("/dev/fd/2"), True),
        (rich_handler, True),
        (lambda: logging.handlers.MemoryHandler(10, target=logging.StreamHandler()), True),
        (lambda: queued(logging.StreamHandler()), True),
        (lambda: logging.StreamHandler(io.StringIO()), False),
        (logging.NullHandler, False),
        (lambda: logging.handlers.MemoryHandler(10), False),
        (lambda: queued(logging.NullHandler()), False),
    ],
)
def test_what_is_a_console_handler(handlers, capfd, make, is_console):
    """Who writes to stdout or stderr, directly or through another; for all others the line is written to stderr."""
    made = make()
    handlers(made)

    wrong_settings.report("A", 1, "2")
    handlers()
    made.close()

    told = "otel-fastpath: A: 1 is not valid; expected 2. It is ignored."
    assert (told in capfd.readouterr().err.splitlines()) != is_console


@pytest.mark.parametrize("quiet", ["handler", "logger", "disabled"])
def test_a_console_handler_that_does_not_take_it_is_none(handlers, monkeypatch, capsys, quiet):
    """A level above that of the line, on the handler or a logger, or a logger that a configuration disabled."""
    handler = logging.StreamHandler()
    handlers(handler)
    if quiet == "handler":
        handler.setLevel(logging.ERROR)
    else:
        logger = logging.getLogger(wrong_settings.__name__)
        monkeypatch.setattr(logger, "disabled", quiet == "disabled")
        monkeypatch.setattr(logger, "level", logging.ERROR if quiet == "logger" else logging.NOTSET)
        logger.manager._clear_cache()

    wrong_settings.report("A", 1, "2")
    logging.getLogger().manager._clear_cache()

    assert capsys.readouterr().err == "otel-fastpath: A: 1 is not valid; expected 2. It is ignored.\n"


def test_telling_never_raises(handlers, monkeypatch):
    """Neither a handler that raises, nor a stderr that is closed or not there, nor a value that cannot be shown."""

    class Raises(logging.Handler):
        def emit(self, record):  # noqa: ARG002  # its interface
            raise RuntimeError

    class Unshown:
        def __repr__(self):
            raise RuntimeError

        __str__ = __repr__

    handlers(Raises())
    closed = io.StringIO()
    closed.close()
    value = Unshown()
    for stderr in (None, closed):
        monkeypatch.setattr(sys, "stderr", stderr)
        wrong_settings.report("A", value, "2", allowed="abcdef")

    (line,) = wrong_settings.found()
    assert line.startswith("A: <Unshown instance at")


def test_a_long_value_is_cut(capsys, handlers):
    """A text of any length is a line of a length that can be read."""
    handlers()
    wrong_settings.report("A", "x" * 100_000, "2", allowed="abcdef")

    assert len(capsys.readouterr().err) < 400


@pytest.mark.parametrize(
    ("value", "near"),
    [("TRACE.use-span", "trace.use_span"), ("start_span", "tracer.start_span"), ("versions", "versions.openai")],
)
def test_the_nearest_come_first(value, near):
    """Three, in whatever letters."""
    found = wrong_settings.nearest(value, ("trace.use_span", "tracer.start_span", "versions.openai", "metrics.bind"))

    assert (len(found), found[0]) == (3, near)
