"""A handler that Lambda's own runtime client runs, which asks a server on loopback for its events."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from .conftest import PARENT

pytest.importorskip("awslambdaric", reason="Lambda's runtime client is for Linux")
FUNCTION = Path(__file__).with_name("shop_function.py")
ARN = "arn:aws:lambda:eu-west-1:123456789012:function:charge"
MESSAGE = {
    "eventSource": "aws:sqs",
    "messageId": "m",
    "messageAttributes": {"traceparent": {"stringValue": PARENT, "StringValue": PARENT}},
    "eventSourceARN": "arn:aws:sqs:eu-west-1:123456789012:orders",
}
REST = {
    "headers": {"Traceparent": PARENT, "Host": "shop", "User-Agent": "x"},
    "requestContext": {"stage": "prod"},
    "httpMethod": "GET",
    "resource": "/orders/{id}",
    "queryStringParameters": {"full": "1"},
}
EVENTS = [REST, {"items": [1]}, {"fails": True}, {"Records": [MESSAGE, MESSAGE]}, {**REST, "version": "2.0"}]


class _Runtime(BaseHTTPRequestHandler):
    """The runtime interface: hands out events, and takes their results."""

    def do_GET(self):
        """Give the next event; there may be none any more."""
        event = self.server.next_event()
        body = b"" if event is None else json.dumps(event).encode()
        self.send_response(200 if event is not None else 500)
        self.send_header("Lambda-Runtime-Aws-Request-Id", "8476a536-e9f4-11e8-9739-2dfe598c3fcd")
        self.send_header("Lambda-Runtime-Invoked-Function-Arn", ARN)
        self.send_header("Lambda-Runtime-Deadline-Ms", "4000000000000")
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_POST(self):
        """Take a result."""
        self.server.take(self.path.rpartition("/")[2], self.rfile.read(int(self.headers["Content-Length"])))
        self.send_response(202)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_args):
        """Say nothing."""


class _Server(ThreadingHTTPServer):
    """It has all events, and notes how many spans were there when each result came."""

    daemon_threads = True

    def __init__(self, file):
        super().__init__(("127.0.0.1", 0), _Runtime)
        self._events, self._file = iter(EVENTS), file
        self.results = []

    def next_event(self):
        return next(self._events, None)

    def take(self, kind, body):
        result = json.loads(body)
        result.pop("stackTrace", None)
        self.results.append((kind, result, len(self._file.read_text(encoding="utf-8").splitlines())))


def run(core, file):
    """The results of the events, and the spans without ids and times."""
    file.touch()
    server = _Server(file)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    environment = {
        **os.environ,
        "AWS_LAMBDA_RUNTIME_API": f"127.0.0.1:{server.server_port}",
        "AWS_LAMBDA_FUNCTION_NAME": "charge",
        "AWS_LAMBDA_FUNCTION_VERSION": "$LATEST",
        "_HANDLER": "shop_function.handler",
    }
    try:
        # It ends when there is no next event.
        subprocess.run(
            [sys.executable, str(FUNCTION), core, str(file)],
            env=environment,
            timeout=60,
            check=False,
            capture_output=True,
        )
    finally:
        server.shutdown()
        server.server_close()
    spans = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
    names = {span["context"]["span_id"]: span["name"] for span in spans}
    seen = [
        (
            span["name"],
            span["kind"],
            names.get(span["parent_id"], span["parent_id"]),
            span["status"],
            span["attributes"],
            [event["name"] for event in span["events"]],
            re.sub("0x[0-9a-f]+", "id", json.dumps(span["links"])),
        )
        for span in spans
    ]
    return server.results, seen


@pytest.mark.proves("aws_lambda.*")
def test_the_telemetry_is_equal(core, tmp_path):
    """And each invocation's spans are exported before its result is sent."""
    results, spans = run(core, tmp_path / "ours")
    assert [(kind, number) for kind, _, number in results] == [
        ("response", 1),
        ("response", 2),
        ("error", 3),
        ("response", 5),
        ("response", 6),
    ]
    assert (results, spans) == run("stock", tmp_path / "stock")
    assert spans[0][2] == f"0x{PARENT[36:52]}"


def test_it_may_be_instrumented_before_stock_is_imported(core):
    """Stock's package imports its module of messages before it is whole."""
    program = f"""
from otel_fastpath import FastpathInstrumentor
FastpathInstrumentor().instrument(core={core!r})
import opentelemetry.instrumentation.aws_lambda
print([row.reason for row in FastpathInstrumentor().status() if row.name.startswith("aws_lambda.")])
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.stdout == "['', '', '']\n"
