"""Tasks of Celery and jobs of RQ that query sqlite3 until their time limit; prints what each of them returned.

    python time_limits.py QUEUE CORE FOLDER TIMES

Run by test_time_limits.py, in an environment of its own.
"""
# ruff: noqa: T201  # a program that prints, and that needs one of two packages

from __future__ import annotations

import json
import os
import socket
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

from opentelemetry.instrumentation.sqlite3 import SQLite3Instrumentor
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter, SpanExportResult

from otel_fastpath import FastpathInstrumentor

SOFT_S, HARD_S = 1, 10


class Dropping(SpanExporter):
    """Drops what it gets."""

    def export(self, _spans):
        """Drop it."""
        return SpanExportResult.SUCCESS


def query_for_ever(limit):
    """Query until the limit arrives; what the task returns."""
    connection = sqlite3.connect(":memory:")
    try:
        while True:
            connection.execute("SELECT 1").fetchone()
    except limit:
        return "the limit"


def instrument(core):
    """Set everything up, in a worker."""
    provider = TracerProvider()
    provider.add_span_processor(BatchSpanProcessor(Dropping()))
    FastpathInstrumentor().instrument(core=core, tracer_provider=provider)
    SQLite3Instrumentor().instrument(tracer_provider=provider)


def by_celery(core, folder, times):
    """Through a worker that forks, and files in the place of a broker."""
    from celery import Celery
    from celery.exceptions import SoftTimeLimitExceeded
    from celery.signals import worker_process_init

    queue, results = folder / "queue", folder / "results"
    for each in (queue, results):
        each.mkdir(exist_ok=True)
    app = Celery("limits", broker="filesystem://", backend=f"file://{results}")
    app.conf.broker_transport_options = {
        "data_folder_in": str(queue),
        "data_folder_out": str(queue),
        "control_folder": str(folder),
    }
    app.conf.task_default_queue = "limits"
    worker_process_init.connect(lambda **_: instrument(core), weak=False)

    @app.task(name="limited", soft_time_limit=SOFT_S, time_limit=HARD_S)
    def limited():
        return query_for_ever(SoftTimeLimitExceeded)

    pid = os.fork()
    if pid == 0:
        os.dup2(2, 1)
        app.worker_main(["worker", "--pool=prefork", "--concurrency=2", "--loglevel=WARNING", "--without-mingle"])
        os._exit(0)
    try:
        sent = [app.send_task("limited") for _ in range(times)]
        return [each.get(timeout=120, propagate=False) for each in sent]
    finally:
        os.kill(pid, 15)


def by_rq(core, folder, times):
    """Through a worker that forks for each job, and a redis server of its own."""
    import redis
    import rq

    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = ["redis-server", "--port", str(port), "--bind", "127.0.0.1", "--save", "", "--dir", str(folder)]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL) as server:
        try:
            connection = redis.Redis(port=port)
            for _ in range(100):
                try:
                    connection.ping()
                    break
                except redis.ConnectionError:
                    time.sleep(0.05)
            instrument(core)
            queue = rq.Queue(connection=connection)
            sys.modules["time_limits"] = sys.modules["__main__"]
            jobs = [queue.enqueue("time_limits.job", job_timeout=SOFT_S) for _ in range(times)]
            rq.Worker([queue], connection=connection).work(burst=True, logging_level="WARNING")
            return [each.return_value() for each in jobs]
        finally:
            server.terminate()


def job():
    """A job of RQ."""
    from rq.timeouts import JobTimeoutException

    return query_for_ever(JobTimeoutException)


if __name__ == "__main__":
    _, kind, wanted, where, number = sys.argv
    found = {"celery": by_celery, "rq": by_rq}[kind](wanted, Path(where), int(number))
    print(json.dumps([each if isinstance(each, str) else repr(each) for each in found]))
