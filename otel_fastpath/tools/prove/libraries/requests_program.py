"""Calls of requests."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any, Final

import requests
from opentelemetry import context, trace
from opentelemetry.instrumentation.requests import RequestsInstrumentor
from opentelemetry.util.http.httplib import HttpClientInstrumentor
from requests.adapters import BaseAdapter

from otel_fastpath.tools.prove.libraries.calls_drawn import EXCLUDED, DrawnCall, call_servers, url_served

if TYPE_CHECKING:
    from collections.abc import Callable

    from otel_fastpath.tools.prove.program import ProgramRun

_AGENTS: Final = (b"alwayson", bytearray(b"bytes"), memoryview(b"googlebot"), 5)
_NESTED: Final = "x-nested"
_STATUSES: Final = (200, 99, "odd", 600, 0, -1)


class _OddAdapter(BaseAdapter):
    """Answers with a status that cannot come from a server."""

    def send(self, request: Any, *_args: Any, **_kwargs: Any) -> requests.Response:
        """Answer."""
        answer: Any = requests.Response()
        answer.status_code, answer.url, answer.request = _STATUSES[int(request.url[-1])], request.url, request
        return answer  # type: ignore[no-any-return]  # it was one

    def close(self) -> None:
        """Close nothing."""


class _Agent:
    """Sets the agent of a prepared request: only texts and bytes can be given otherwise.

    Args:
        agent: The agent.
    """

    def __init__(self, agent: Any) -> None:
        self._agent = agent

    def __call__(self, request: Any) -> Any:
        """Set it."""
        request.headers["User-Agent"] = self._agent
        return request


def _ask_in_hook(_span: Any, request: Any) -> None:
    if _NESTED not in request.headers:
        requests.get(f"{url_served()}/200", headers={_NESTED: "yes"}, timeout=5)


def _unsampled(call: Callable[[], Any]) -> Any:
    parent = trace.NonRecordingSpan(trace.SpanContext(1, 1, is_remote=True))
    token = context.attach(trace.set_span_in_context(parent))
    try:
        return call()
    finally:
        context.detach(token)


def _prepare_without_headers(client: requests.Session) -> int:
    request: Any = requests.Request("GET", f"{url_served()}/200").prepare()
    request.headers = None
    return client.send(request).status_code


def run_requests(run: ProgramRun) -> None:
    """Calls of a session."""
    with requests.Session() as client:
        client.trust_env = False
        client.mount("odd://", _OddAdapter())

        def ask(call: DrawnCall) -> tuple[int, bytes]:
            auth = _Agent(run.draw.choice(_AGENTS)) if run.draw.randrange(4) == 0 else None
            answer = client.request(call.method, call.url, headers=call.headers, data=call.body, auth=auth)
            return answer.status_code, answer.content

        def ask_odd(number: int) -> Any:
            request = requests.Request("GET", f"odd://shop/{number}").prepare()
            if number == 0:
                # It cannot be parsed.
                request.url = "odd://[shop/0"
            return client.send(request).status_code

        without: dict[str, Any] = {"User-Agent": None}
        plain = functools.partial(client.get, f"{url_served()}/200", headers=without)
        also = [functools.partial(ask_odd, number) for number in range(len(_STATUSES))]
        also += [plain, functools.partial(_unsampled, plain), functools.partial(_prepare_without_headers, client)]
        options: dict[str, Any] = {"excluded_urls": EXCLUDED} if run.seed % 3 == 1 else {}
        options |= {"request_hook": _ask_in_hook} if run.seed % 4 == 1 else {}
        addresses: Any = HttpClientInstrumentor()
        addresses.instrument()
        try:
            call_servers(run, RequestsInstrumentor(), ask, also=also, **options)
        finally:
            addresses.uninstrument()


PROGRAM: Final = run_requests
