"""Calls of urllib3."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import urllib3
from opentelemetry.instrumentation.urllib3 import URLLib3Instrumentor

from otel_fastpath.tools.prove.libraries.calls_drawn import DrawnCall, call_servers

if TYPE_CHECKING:
    from otel_fastpath.tools.prove.program import ProgramRun


def run_urllib3(run: ProgramRun) -> None:
    """Calls of a pool manager."""
    with urllib3.PoolManager(retries=False) as client:

        def ask(call: DrawnCall) -> tuple[int, bytes]:
            answer = client.request(call.method, call.url, headers=call.headers, body=call.body)
            return answer.status, answer.data

        call_servers(run, URLLib3Instrumentor(), ask, is_difficult=False)


PROGRAM: Final = run_urllib3
