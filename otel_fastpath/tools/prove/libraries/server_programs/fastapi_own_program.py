"""Applications of FastAPI with its own telemetry."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import fastapi.telemetry  # noqa: F401  # not in every release
from fastapi import FastAPI

from otel_fastpath.tools.prove.libraries.modes import in_mode, providers
from otel_fastpath.tools.prove.libraries.server_programs.asgi_program import call_asgi
from otel_fastpath.tools.prove.libraries.server_programs.fastapi_program import INCLUDED, add_operations
from otel_fastpath.tools.prove.libraries.server_programs.requests_drawn import PATHS, serve

if TYPE_CHECKING:
    from otel_fastpath.tools.prove.program import ProgramRun


def run_fastapi_own(run: ProgramRun) -> None:
    """An application with the providers of this run."""
    telemetry = run.telemetry()
    with in_mode(run):
        given: Any = providers(telemetry)
        app = FastAPI(openapi_url=None, telemetry=given)
    add_operations(app)
    serve(run, telemetry, lambda request: call_asgi(app, request), (*PATHS, *INCLUDED))


PROGRAM: Final = run_fastapi_own
