"""The services of `truth.py` that are not examples: one handler, served in each way that profiles have to understand.

    gunicorn kinds_app:django         uvicorn kinds_app:asgi          celery -A kinds_app:tasks worker

`SERVICE_KIND` names the kind; only its own framework is imported.
"""

from __future__ import annotations

import json
import os
import sqlite3

DATA = {f"key {number}": [number, str(number), {"a": number}] for number in range(120)}
KIND = os.environ.get("SERVICE_KIND", "")
BACKEND = os.environ.get("BACKEND_URL", "")

# Django's settings are this module, too.
SECRET_KEY = "for a benchmark"  # noqa: S105  # nothing is protected by it
ALLOWED_HOSTS = ["*"]
ROOT_URLCONF = "kinds_app"
DATABASES: dict[str, dict[str, str]] = {}
MIDDLEWARE = ["django.middleware.common.CommonMiddleware", "django.middleware.security.SecurityMiddleware"]
urlpatterns = []


def work() -> bytes:
    """About three milliseconds of CPU time."""
    text = ""
    for _ in range(8):
        text = json.dumps(json.loads(json.dumps(DATA)), sort_keys=True)
    return text.encode()


def plain(_environ, start_response):
    """A WSGI application."""
    body = work()
    start_response("200 OK", [("Content-Type", "application/json"), ("Content-Length", str(len(body)))])
    return [body]


def around(inner):
    """A WSGI application that does something else before it answers."""

    def application(environ, start_response):
        inner()
        return plain(environ, start_response)

    return application


if KIND.startswith("django"):
    from django.core.wsgi import get_wsgi_application
    from django.http import HttpResponse
    from django.urls import path

    def view(_request, number):
        """Three queries and the work."""
        with sqlite3.connect(":memory:") as connection:
            for each in range(3):
                connection.cursor().execute("select ?", (number + each,)).fetchone()
        return HttpResponse(work(), content_type="application/json")

    urlpatterns = [path("orders/<int:number>", view)]

    def application():
        """What gunicorn calls."""
        return get_wsgi_application()

elif KIND in {"flask", "asgi-wsgi"}:
    from flask import Flask

    site = Flask("kinds")

    @site.get("/orders/<int:_number>")
    def order(_number):
        """A route."""
        return work()

    if KIND == "flask":

        def application():
            """What gunicorn calls."""
            return site

    else:
        from a2wsgi import WSGIMiddleware
        from fastapi import FastAPI

        asgi = FastAPI()
        asgi.mount("/", WSGIMiddleware(site, workers=4))

elif KIND == "wsgi":

    def application():
        """With OpenTelemetry's middleware where that is loaded: nothing puts it around a plain application."""
        if os.environ.get("OTEL_TRACES_EXPORTER"):
            from opentelemetry.instrumentation.wsgi import OpenTelemetryMiddleware

            return OpenTelemetryMiddleware(plain)
        return plain

elif KIND == "backend":

    def application():
        """What the client of the kind `requests` talks to."""

        def answer(_environ, start_response):
            start_response("200 OK", [("Content-Length", "2")])
            return [b"ok"]

        return answer

elif KIND == "pool":
    from concurrent.futures import ThreadPoolExecutor

    pool = None

    def inner():
        """Four pieces of work in threads."""
        global pool
        pool = pool or ThreadPoolExecutor(4)
        list(pool.map(lambda _: work(), range(4)))

    def application():
        """What gunicorn calls."""
        return around(inner)

elif KIND == "requests":
    import requests

    def inner():
        """Four requests with a session."""
        with requests.Session() as session:
            for _ in range(4):
                session.get(BACKEND, timeout=10).raise_for_status()

    def application():
        """What gunicorn calls."""
        return around(inner)

elif KIND.startswith("celery"):
    from celery import Celery

    tasks = Celery("kinds", broker=BACKEND, backend=BACKEND)

    @tasks.task(name="kinds.work")
    def task():
        """The work."""
        return len(work())
