"""The CPU of a request of a small Django site under gunicorn, which connects for each one: what is gone of telemetry.

    python benchmarks/django_site.py [--dsn postgresql://...] [--threads 4] [--rounds 5]

Each round starts gunicorn three times, in random order: without telemetry, with stock's instrumentations, and with
otel-fastpath. The CPU is that of all threads and processes of the server, for each request after the first ones.
Django's CONN_MAX_AGE is 0, its default. Nothing leaves this machine: the spans go to an exporter that drops them.
"""

from __future__ import annotations

import argparse
import http.client
import os
import random
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

KINDS = ("bare", "stock", "ours")
WARM_UP, REQUESTS = 100, 400
QUERIES = 20


def application() -> object:
    """The site, as gunicorn loads it; the environment says with which telemetry."""
    import django  # noqa: PLC0415  # not where requests are made
    from django.conf import settings  # noqa: PLC0415  # likewise

    dsn = os.environ["DJANGO_SITE_DSN"]
    settings.configure(
        ALLOWED_HOSTS=["*"],
        DATABASES={"default": _database(dsn)},
        ROOT_URLCONF=__name__,
        SECRET_KEY="benchmark",  # noqa: S106  # of nothing
        MIDDLEWARE=["django.middleware.common.CommonMiddleware"],
    )
    _instrument(os.environ["DJANGO_SITE_KIND"])
    django.setup()
    from django.core.wsgi import get_wsgi_application  # noqa: PLC0415  # likewise
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
    return get_wsgi_application()


def _database(dsn: str) -> dict[str, object]:
    if not dsn:
        return {"ENGINE": "django.db.backends.sqlite3", "NAME": str(Path(tempfile.gettempdir(), "django_site.sqlite"))}
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


def _get(port: int, times: int) -> None:
    for _ in range(times):
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
        connection.request("GET", "/")
        answer = connection.getresponse()
        body = answer.read()
        connection.close()
        if answer.status != http.client.OK or body != str(sum(range(QUERIES))).encode():
            raise SystemExit(f"the site answered {answer.status}: {body[:200]!r}")


def measured(kind: str, dsn: str, threads: int) -> float:
    """The milliseconds of CPU for a request."""
    port = _free_port()
    worker = ["--worker-class", "gthread", "--threads", str(threads)] if threads else ["--worker-class", "sync"]
    command = [sys.executable, "-m", "gunicorn", *worker, "--workers", "1", "--bind", f"127.0.0.1:{port}"]
    environment = {**os.environ, "DJANGO_SITE_KIND": kind, "DJANGO_SITE_DSN": dsn}
    site = [*command, "--log-level", "error", f"{Path(__file__).stem}:application()"]
    server = subprocess.Popen(site, env=environment, cwd=Path(__file__).parent)
    try:
        for _ in range(600):
            try:
                _get(port, 1)
                break
            except OSError:
                time.sleep(0.1)
        _get(port, WARM_UP)
        before = _cpu(server.pid)
        _get(port, REQUESTS)
        return (_cpu(server.pid) - before) / REQUESTS * 1000
    finally:
        server.send_signal(signal.SIGTERM)
        server.wait()


def main() -> None:
    """Print the CPU of a request, and the share of telemetry's CPU that is gone."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--dsn", default="", help="of a PostgreSQL; without one, the site is on SQLite")
    parser.add_argument("--threads", type=int, default=0, help="of a gthread worker; 0: a sync worker")
    parser.add_argument("--rounds", type=int, default=5)
    given = parser.parse_args()
    found: dict[str, list[float]] = {kind: [] for kind in KINDS}
    for _ in range(given.rounds):
        for kind in random.sample(KINDS, len(KINDS)):
            found[kind].append(measured(kind, given.dsn, given.threads))
    for kind, values in found.items():
        print(f"{kind:6} {statistics.median(values):6.2f} ms a request ({min(values):.2f} to {max(values):.2f})")
    shares = sorted(
        100 * (stock - ours) / (stock - bare)
        for bare, stock, ours in zip(found["bare"], found["stock"], found["ours"], strict=True)
    )
    print(f"of telemetry's CPU, {statistics.median(shares):.0f} % is gone ({shares[0]:.0f} to {shares[-1]:.0f})")


if __name__ == "__main__":
    main()
