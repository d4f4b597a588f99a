"""The function that runs for each call, in the place of stock's. Plain Python; compiled as `hooks_c`."""

from __future__ import annotations

import functools
from inspect import getclosurevars
from typing import TYPE_CHECKING, Any

from opentelemetry.instrumentation import _semconv as semconv
from opentelemetry.instrumentation import requests as stock
from opentelemetry.semconv._incubating.attributes.user_agent_attributes import USER_AGENT_SYNTHETIC_TYPE
from opentelemetry.semconv.attributes.user_agent_attributes import USER_AGENT_ORIGINAL
from opentelemetry.util.http import detect_synthetic_user_agent, normalize_user_agent
from requests.models import Response
from requests.structures import CaseInsensitiveDict

from otel_fastpath.http.client import ClientInstrumentation
from otel_fastpath.http.clients.outgoing import CallShape, ClientCall, redact

if TYPE_CHECKING:
    from collections.abc import Callable

    from otel_fastpath.http.clients.kinds import Seen

_HTTP_1_1 = 11
# A longer header is examined for each call.
_LONGEST = 512


class RequestsInstrumentation(ClientInstrumentation):
    """One call of stock's `_instrument`.

    Args:
        original: The function with its options, as `Session.send` is wrapped; its closure is read.
    """

    __slots__ = ("_original", "_wrapped")

    def __init__(self, original: Callable[..., Any]) -> None:
        given = getclosurevars(original).nonlocals
        super().__init__("opentelemetry.instrumentation.requests:_instrument", given, Response)
        self.is_suppressing = self.shows_peer = True
        self._original = original
        self._wrapped = given["wrapped_send"]

    def send(self, session: Any, /, request: Any, **kwargs: Any) -> Any:
        """Send a request, in the place of stock's wrapper of `Session.send`."""
        begun = self.begin(request, (session, request), kwargs)
        if begun is NotImplemented:
            return self._original(session, request, **kwargs)
        return self.call(begun, self._wrapped, (session, request), kwargs)

    def prepare(self, subject: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """See `ClientInstrumentation`."""
        url, headers = subject.url, subject.headers
        if self.excluded is not None and self.excluded(url):
            return None
        if type(headers) is not CaseInsensitiveDict or type(url) is not str:
            return NotImplemented
        url = redact(url)
        shape: CallShape = self.shapes.find(subject.method, url)  # type: ignore[assignment]  # see below
        if shape is None:
            return NotImplemented
        agent = headers.get("User-Agent")
        is_kept = type(agent) is str and len(agent) <= _LONGEST
        captured = _agent_kept(agent) if is_kept else _agent(agent)
        further = self.captured_of_request(headers)
        if further is not None:
            captured = {**captured, **further}
        begun: ClientCall = self.new_call(shape, args, kwargs)
        begun.attributes = self.shapes.attributes(shape, url, captured)
        begun.headers, begun.hooked = headers, (subject,)
        return begun

    def key_of(self, response: Any) -> Any:
        """Status and version of a response."""
        if not isinstance(response, Response):
            return None
        status, version = response.status_code, _version(response)
        return (status, version) if type(status) is int and (version is None or type(version) is int) else None

    def describe(self, response: Any, seen: Seen, metric: dict[str, Any]) -> None:
        """See `ClientInstrumentation`."""
        set_status: Any = stock._set_http_status_code_attribute
        set_status(seen, response.status_code, metric, self.mode)
        version = _version(response)
        if version:
            text = "1.1" if version == _HTTP_1_1 else "1.0"
            semconv._set_http_network_protocol_version(metric, text, self.mode)
            if self.is_new:
                attributes: dict[str, Any] = {}
                semconv._set_http_network_protocol_version(attributes, text, self.mode)
                seen.set_attributes(attributes)


def _version(response: Any) -> Any:
    raw = response.raw
    return None if raw is None else getattr(raw, "version", None)


def _agent(value: Any) -> dict[str, Any]:
    """The attributes of a user agent."""
    text = normalize_user_agent(value)
    kind = detect_synthetic_user_agent(text)
    made: dict[str, Any] = {USER_AGENT_SYNTHETIC_TYPE: kind} if kind else {}
    return {**made, USER_AGENT_ORIGINAL: text} if text else made


_agent_kept = functools.lru_cache(maxsize=64)(_agent)


def make_send(original: Callable[..., Any]) -> Callable[..., Any]:
    """Make the replacement for stock's wrapper of `Session.send`."""
    return RequestsInstrumentation(original).send
