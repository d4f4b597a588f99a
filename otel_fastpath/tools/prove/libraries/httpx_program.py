"""Calls of httpx, and asynchronous ones."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Final

import httpx
from opentelemetry.instrumentation.httpx import HTTPXClientInstrumentor

from otel_fastpath.tools.prove.libraries.calls_drawn import HOOKS, DrawnCall, call_servers

if TYPE_CHECKING:
    from otel_fastpath.tools.prove.program import ProgramRun


async def _ask(call: DrawnCall) -> tuple[int, bytes]:
    async with httpx.AsyncClient(trust_env=False) as client:
        answer = await client.request(call.method, call.url, headers=call.headers, content=call.body)
        return answer.status_code, answer.content


def run_httpx(run: ProgramRun) -> None:
    """Calls of one client, or of asynchronous ones."""
    with httpx.Client(trust_env=False) as client:

        def ask(call: DrawnCall) -> tuple[int, bytes]:
            answer = client.request(call.method, call.url, headers=call.headers, content=call.body)
            return answer.status_code, answer.content

        is_async = run.seed % 4 > 1
        call_servers(
            run,
            HTTPXClientInstrumentor(),
            (lambda call: asyncio.run(_ask(call))) if is_async else ask,
            [f"async_{name}" for name in HOOKS] if is_async else HOOKS,
            is_difficult=False,
        )


PROGRAM: Final = run_httpx
