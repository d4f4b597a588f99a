"""Applications of Flask."""

from __future__ import annotations

import contextvars
from typing import TYPE_CHECKING, Any, Final

import flask
from opentelemetry import trace
from opentelemetry.instrumentation.flask import FlaskInstrumentor
from opentelemetry.sdk.trace import SpanProcessor
from opentelemetry.trace import SpanKind

from otel_fastpath.tools.prove.libraries.modes import excluded, hooks, in_mode, providers, setting_up
from otel_fastpath.tools.prove.libraries.server_programs.requests_drawn import (
    ALWAYS_SERVED,
    PATHS,
    call_wsgi,
    serve,
    status_of,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from otel_fastpath.tools.prove.program import ProgramRun

_ODD: Final = ("/refused", "/streamed", "/copied", "/held/kept", "/held/odd", "/held/ended", "/ended")
_PATHS: Final = (*PATHS, *_ODD)
_COMMENTS: Final[tuple[dict[str, Any], ...]] = (
    {},
    {"enable_commenter": False},
    {"commenter_options": {"framework": False, "controller": False}},
)


class _EndingProcessor(SpanProcessor):
    """Fails when some spans end."""

    def on_end(self, span: Any) -> None:
        """Fail."""
        if span.name.endswith("ended"):
            raise ValueError(span.name)


class _StreamlessResponse:
    """Cannot be asked for its stream."""

    @property
    def stream(self) -> Any:
        """Fail."""
        raise RuntimeError


def _refuse() -> Any:
    return ("refused", 403) if flask.request.path == "/refused" else None


def _parts() -> Iterator[str]:
    yield "it"
    yield flask.request.path


def _view(**_arguments: Any) -> Any:
    path = flask.request.path
    request: Any = flask.request
    if path == "/streamed":
        return flask.Response(flask.stream_with_context(_parts()))
    if path == "/copied":
        return flask.copy_current_request_context(lambda: "item")()
    # Stock complains if the span is another's child: it detaches a context that it has not attached.
    if path.startswith("/held") and getattr(trace.get_current_span(), "kind", None) is SpanKind.SERVER:
        request.response = _StreamlessResponse() if path == "/held/odd" else flask.Response("item")
    return "item", status_of(path), {"X-Answer": "yes"}


def run_flask(run: ProgramRun) -> None:
    """An application that raises further what a view raises."""
    telemetry = run.telemetry()
    telemetry.tracers.add_span_processor(_EndingProcessor())
    instrumentor: Any = FlaskInstrumentor
    app = flask.Flask("program")
    app.testing = True
    app.before_request(_refuse)
    for rule in ("/items/<number>", "/status/<code>", "/health", "/boom", *_ODD):
        app.add_url_rule(rule, rule, _view, methods=["GET", "POST"])
    given = providers(telemetry, "tracer", "meter") | _COMMENTS[run.seed % len(_COMMENTS)]
    with in_mode(run), setting_up(telemetry):
        instrumentor.instrument_app(app, **given, **hooks(run, ("request_hook", "response_hook")), **excluded(run))
    # Stock leaves the context of a client if the end of a span fails: docs/differences.md.
    serve(run, telemetry, lambda request: contextvars.copy_context().run(call_wsgi, app, request), _PATHS)
    instrumentor.uninstrument_app(app)
    run.attempt(contextvars.copy_context().run, call_wsgi, app, ALWAYS_SERVED)


PROGRAM: Final = run_flask
