"""Applications of Flask."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import flask
from opentelemetry.instrumentation.flask import FlaskInstrumentor

from otel_fastpath.tools.prove.libraries.modes import excluded, hooks, in_mode, providers
from otel_fastpath.tools.prove.libraries.server_programs.requests_drawn import call_wsgi, serve, status_of

if TYPE_CHECKING:
    from otel_fastpath.tools.prove.program import ProgramRun


def run_flask(run: ProgramRun) -> None:
    """An application that raises further what a view raises."""
    telemetry = run.telemetry()
    instrumentor: Any = FlaskInstrumentor
    app = flask.Flask("program")
    app.testing = True
    for rule in ("/items/<number>", "/status/<code>", "/health", "/boom"):
        app.add_url_rule(rule, rule, _view, methods=["GET", "POST"])
    given = providers(telemetry, "tracer", "meter")
    with in_mode(run):
        instrumentor.instrument_app(app, **given, **hooks(run, ("request_hook", "response_hook")), **excluded(run))
    serve(run, telemetry, lambda request: call_wsgi(app, request))


def _view(**_arguments: Any) -> Any:
    return "item", status_of(flask.request.path), {"X-Answer": "yes"}


PROGRAM: Final = run_flask
