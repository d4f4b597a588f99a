"""`otel-fastpath status APP` says of an application what its running process says, however the service is set up."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
import urllib.error
import urllib.request
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from disabled_instrumentations import all_but

from examples.demo.processes import free_port
from otel_fastpath.tools.common.program import stop

FASTAPI = """
import asyncpg
from fastapi import FastAPI

app = FastAPI()

@app.get("/")
async def root():
    return {}
"""
IN_LIFESPAN = """
from contextlib import asynccontextmanager
from fastapi import FastAPI

@asynccontextmanager
async def lifespan(app):
    from opentelemetry import trace
    from opentelemetry.instrumentation.fastapi import FastAPIInstrumentor
    from opentelemetry.sdk.trace import TracerProvider
    from otel_fastpath import FastpathInstrumentor

    trace.set_tracer_provider(TracerProvider())
    FastpathInstrumentor().instrument(disabled="trace.use_span")
    FastAPIInstrumentor.instrument_app(app)
    import asyncpg, openai
    app.state.pool = asyncpg
    yield
    FastpathInstrumentor().uninstrument()

app = FastAPI(lifespan=lifespan)
"""
FLASK = """
import flask, redis, sqlalchemy

def create_app():
    app = flask.Flask("shop")
    app.add_url_rule("/", view_func=lambda: "hello")
    return app
"""
DJANGO = """
import os
from django.conf import settings
from django.core.wsgi import get_wsgi_application
from django.http import HttpResponse
from django.urls import path

urlpatterns = [path("", lambda request: HttpResponse("hello"))]
application = get_wsgi_application()
"""
DJANGO_SETTINGS = """
SECRET_KEY = "x"
ROOT_URLCONF = "service"
ALLOWED_HOSTS = ["*"]
DATABASES = {"default": {"ENGINE": "django.db.backends.sqlite3", "NAME": ":memory:"}}
"""
UVICORN = ("uvicorn", "service:app", "--port", "{port}", "--no-access-log")
GUNICORN = ("gunicorn", "--bind", "127.0.0.1:{port}", "--workers", "1")


@dataclass(frozen=True)
class SetUp:
    """A service, how it is run, and what `status` is asked about it."""

    source: str
    command: tuple[str, ...]
    asked: tuple[str, ...]
    variables: dict[str, str] = field(default_factory=dict)
    launcher: tuple[str, ...] = ("opentelemetry-instrument",)
    needs: tuple[str, ...] = ()


SET_UPS = {
    "fastapi": SetUp(FASTAPI, UVICORN, ("service",), needs=("fastapi", "asyncpg")),
    "lifespan": SetUp(IN_LIFESPAN, UVICORN, ("--as-is", "service:app"), launcher=(), needs=("fastapi", "openai")),
    "lifespan, launched": SetUp(
        IN_LIFESPAN, UVICORN, ("uvicorn", "service:app", "--port", "1"), needs=("fastapi", "openai")
    ),
    "flask": SetUp(
        FLASK, (*GUNICORN, "service:create_app()"), ("service:create_app()",), needs=("flask", "sqlalchemy")
    ),
    "django": SetUp(
        DJANGO,
        (*GUNICORN, "service:application"),
        ("service:application",),
        {"DJANGO_SETTINGS_MODULE": "settings_of_service"},
        needs=("django",),
    ),
    "disabled": SetUp(
        FASTAPI,
        UVICORN,
        ("service:app",),
        {"OTEL_PYTHON_DISABLED_INSTRUMENTATIONS": "asyncpg, fastapi"},
        needs=("fastapi", "asyncpg"),
    ),
    "SDK disabled": SetUp(FASTAPI, UVICORN, ("service:app",), {"OTEL_SDK_DISABLED": "true"}, needs=("fastapi",)),
    "settings": SetUp(
        FASTAPI,
        UVICORN,
        ("service:app",),
        {"OTEL_FASTPATH_DISABLED": "tracer.*", "OTEL_FASTPATH_ASYNCPG": "off", "OTEL_FASTPATH_CORE": "py"},
        needs=("fastapi", "asyncpg"),
    ),
}
# The others take as long, and differ less.
QUICK = {"fastapi", "lifespan", "django"}


@pytest.mark.skipif(sys.platform == "win32", reason="gunicorn is POSIX's")
@pytest.mark.parametrize(
    "name",
    [each if each in QUICK else pytest.param(each, marks=pytest.mark.slow) for each in SET_UPS],
)
def test_the_status_is_that_of_the_running_process(tmp_path, name):
    """Each patch has the same state, for the same reason, in both; in the process after its first request."""
    set_up = SET_UPS[name]
    for module in (*set_up.needs, set_up.command[0]):
        pytest.importorskip(module)
    (tmp_path / "service.py").write_text(set_up.source, encoding="utf-8")
    (tmp_path / "settings_of_service.py").write_text(DJANGO_SETTINGS, encoding="utf-8")
    folder = tmp_path / "status"
    folder.mkdir(mode=0o700)
    environment = {
        **{name: value for name, value in os.environ.items() if "START_LINE" in name or not name.startswith("OTEL")},
        **{f"OTEL_{signal}_EXPORTER": "none" for signal in ("TRACES", "METRICS", "LOGS")},
        **set_up.variables,
        "OTEL_FASTPATH_STATUS_FOLDER": str(folder),
        "PATH": os.pathsep.join((str(Path(sys.executable).parent), os.environ["PATH"])),
    }
    port = free_port()
    command = [*set_up.launcher, *(word.format(port=port) for word in set_up.command)]
    with (tmp_path / "printed").open("wb") as printed:
        process = subprocess.Popen(
            command, cwd=tmp_path, env=environment, stdout=printed, stderr=printed, start_new_session=True
        )
    try:
        wait_for(f"http://127.0.0.1:{port}/", process)
        running = states(tmp_path, environment, str(serving(process.pid)))
    finally:
        stop(process)

    asked = states(tmp_path, environment, *set_up.asked)

    differing = sorted(dict.fromkeys([*running, *asked]), key=str)
    differing = [(key, running.get(key), asked.get(key)) for key in differing if running.get(key) != asked.get(key)]
    assert differing == []
    applied = sum(state == "applied" for state, _ in running.values())
    assert (applied > 10) == (name != "SDK disabled")


@pytest.mark.skipif(sys.platform == "win32", reason="a broken pipe is another error there")
def test_a_reader_that_stops_early_gets_no_traceback(environ):
    """As `head` does: the exit status is that of a broken pipe."""
    environ.delenv("COLUMNS", raising=False)
    environ.setenv("OTEL_PYTHON_DISABLED_INSTRUMENTATIONS", all_but("fastpath"))
    command = [sys.executable, "-m", "otel_fastpath", "status", "--all"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        process.stdout.close()
        errors = process.stderr.read()

    assert (process.returncode, errors) == (141, "")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no file that is always full")
@pytest.mark.parametrize(
    ("command", "unbuffered"),
    [
        *((name, "") for name in ("status", "bench --list", "budget schema", "budget explain", "--version", "--help")),
        # The first line cannot be written, rather than what is left at the end.
        ("bench --list", "1"),
    ],
)
def test_output_that_cannot_be_written_is_one_error(environ, command, unbuffered):
    """Each command says it in one line, without a traceback."""
    environ.setenv("PYTHONUNBUFFERED", unbuffered)
    environ.setenv("OTEL_PYTHON_DISABLED_INSTRUMENTATIONS", all_but("fastpath"))
    with Path("/dev/full").open("w") as full:
        process = subprocess.run(
            [sys.executable, "-m", "otel_fastpath", *command.split()],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )

    assert process.returncode == 2
    assert process.stderr == "otel-fastpath: the output cannot be written: No space left on device\n"


def states(folder, environment, *arguments):
    """The state and reason of each patch, as the command prints them."""
    done = subprocess.run(
        [sys.executable, "-m", "otel_fastpath", "status", "--json", *arguments],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return {row["name"]: (row["state"], row["reason"]) for row in json.loads(done.stdout)["patches"]}


def wait_for(url, process):
    """Until the service answers."""
    end = time.monotonic() + 60
    while not answers(url):
        assert process.poll() is None
        assert time.monotonic() < end
        time.sleep(0.1)


def answers(url):
    """Whether it does, whatever it says."""
    try:
        with urllib.request.urlopen(url, timeout=5):  # noqa: S310  # a service of the test
            return True
    except urllib.error.HTTPError as error:
        error.close()
        return True
    except OSError:
        return False


def serving(pid):
    """The process that serves: a worker of gunicorn, or the process itself."""
    try:
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text(encoding="utf-8").split()
    except OSError:
        children = []
    return int(children[0]) if children else pid
