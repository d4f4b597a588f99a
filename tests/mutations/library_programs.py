"""Programs of the instrumentations: the hosts of other tests, whose requests, calls and queries come in two halves."""

from __future__ import annotations

import os
import sys
from contextlib import contextmanager
from pathlib import Path
from unittest import mock

TESTS = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(TESTS / name) for name in ("http/outcome", "wrapping/two_users", "genai/openai")]

import connections  # noqa: E402
from client_hosts import CLIENTS  # noqa: E402
from hosts import CLIENT_HOOKS, HOOKS_OF, PARENT  # noqa: E402
from opentelemetry.instrumentation import _semconv  # noqa: E402
from server_hosts import PATHS, SERVERS, WSGI, environ, scope  # noqa: E402

from otel_fastpath.tools.prove.program import Program  # noqa: E402

_CAPTURED = {
    f"OTEL_INSTRUMENTATION_HTTP_CAPTURE_HEADERS_{side}_{message}": "x-.*,host,content-length"
    for side in ("SERVER", "CLIENT")
    for message in ("REQUEST", "RESPONSE")
} | {"OTEL_INSTRUMENTATION_HTTP_CAPTURE_HEADERS_SANITIZE_FIELDS": "x-secret"}
# The name of a way to use the instrumentations, and its environment.
MODES = {
    "": {},
    ", both conventions": {"OTEL_SEMCONV_STABILITY_OPT_IN": "http/dup,database/dup"},
    ", captured": {"OTEL_SEMCONV_STABILITY_OPT_IN": "http", **_CAPTURED},
}
# The only ones that need no server.
_CONNECTIONS = ("sqlite3", "SQLAlchemy", "OpenAI", "OpenAI, async")


@contextmanager
def _in_mode(mode):
    """The conventions are read again, as in a new process."""
    stability = _semconv._OpenTelemetrySemanticConventionStability
    with (
        mock.patch.dict(os.environ, MODES[mode]),
        mock.patch.object(stability, "_initialized", False),  # noqa: FBT003  # a value, not an option
        mock.patch.object(stability, "_OTEL_SEMCONV_STABILITY_SIGNAL_MAPPING", {}),
    ):
        yield


def _in_halves(run, items):
    """These items twice, with the pause in between."""
    yield from items
    run.pause()
    yield from items


def _hook(span, *_args):
    if span is not None and span.is_recording():
        span.set_attribute("hooked", "yes")


async def _async_hook(span, *_args):
    _hook(span)


def _given(name, mode, telemetry):
    names = HOOKS_OF.get(name, CLIENT_HOOKS) if mode == ", captured" else ()
    hooks = {
        each: _async_hook if each.startswith("async_") else _hook for each in names if each != "default_span_details"
    }
    return {
        "tracer_provider": telemetry.tracers,
        "meter_provider": telemetry.meters,
        "logger_provider": telemetry.loggers,
        **hooks,
    }


_HEADERS = {"traceparent": PARENT, "x-user": "ann", "x-secret": "hidden", "user-agent": "tests"}


def _requests(name):
    # Stock records the size of another request's answer for one that failed: docs/differences.md.
    targets = (*(each for each in PATHS if each != "/boom" or name not in {"asgi", "starlette"}), PATHS[0])
    if name == "aiohttp.web":
        return [(f"{target}?a=1", headers) for target in targets for headers in ({}, _HEADERS)]
    if name in WSGI:
        headers = {f"HTTP_{key.upper().replace('-', '_')}": value for key, value in _HEADERS.items()}
        return [environ(target, **more) for target in targets for more in ({}, headers)]
    headers = [(key.encode(), value.encode()) for key, value in _HEADERS.items()]
    return [scope(target, *more) for target in targets for more in ((), headers)]


def _server(name, mode):
    def run(program):
        with _in_mode(mode):
            given = _given(name, mode, program.telemetry())
            program.outcomes.append(repr(SERVERS[name](given, _in_halves(program, _requests(name)))))

    return run


def _client(name, mode, url):
    calls = [
        *[("GET", f"{url}/200?a=1")] * 3,
        ("POST", f"{url}/404"),
        ("GET", f"{url}/500"),
        ("ODD", f"{url}/200"),
    ]

    def run(program):
        with _in_mode(mode):
            given = _given(name, mode, program.telemetry())
            program.outcomes.append(repr(CLIENTS[name](given, url, _in_halves(program, calls))))

    return run


def _connection(name, mode):
    _, place, keywords, _, calls = connections.HOSTS[name]
    module, _, kind = place.partition(":")

    def run(program):
        with _in_mode(mode):
            telemetry = program.telemetry()
            stock = getattr(__import__(f"opentelemetry.instrumentation.{module}", fromlist=["_"]), kind)()
            stock.instrument(
                **keywords,
                tracer_provider=telemetry.tracers,
                meter_provider=telemetry.meters,
                logger_provider=telemetry.loggers,
            )
            try:
                with calls(None) as call:
                    for user in _in_halves(program, ["ann", "bob", "ann"]):
                        program.attempt(call, user)
            finally:
                stock.uninstrument()

    return run


def library_programs(url):
    """One for each instrumentation and mode; its clients call this URL."""
    found = {}
    for mode in MODES:
        found |= {f"{name}{mode}": _server(name, mode) for name in SERVERS}
        found |= {f"{name}{mode}": _client(name, mode, url) for name in CLIENTS}
        if mode != ", captured":
            found |= {f"{name}{mode}": _connection(name, mode) for name in _CONNECTIONS}
    left_out = {"SQLAlchemy": frozenset({"metrics"})}
    return [
        Program(name, number, run, is_exact=False, left_out=left_out.get(name.partition(",")[0], frozenset()))
        for number, (name, run) in enumerate(found.items())
    ]
