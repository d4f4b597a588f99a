"""Calls of requests."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import requests
from opentelemetry.instrumentation.requests import RequestsInstrumentor

from otel_fastpath.tools.prove.libraries.calls_drawn import DrawnCall, call_servers

if TYPE_CHECKING:
    from otel_fastpath.tools.prove.program import ProgramRun


def run_requests(run: ProgramRun) -> None:
    """Calls of a session."""
    with requests.Session() as client:
        client.trust_env = False

        def ask(call: DrawnCall) -> tuple[int, bytes]:
            answer = client.request(call.method, call.url, headers=call.headers, data=call.body)
            return answer.status_code, answer.content

        instrumentor: Any = RequestsInstrumentor()
        call_servers(run, instrumentor, ask)


PROGRAM: Final = run_requests
