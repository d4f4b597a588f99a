"""Only our hook around a websocket session of OpenAI's client: the socket returns prepared messages."""

from __future__ import annotations

import json
import os
from typing import Any

import bench_openai

# Scenarios are counted in forks: modules that every set-up imports are imported before the fork.
import openai
import websockets.sync.client  # noqa: F401  # likewise
from bench_openai import CAPTURE
from openai.resources.realtime.realtime import RealtimeConnectionManager

from otel_fastpath import FastpathInstrumentor

MODEL = "gpt-realtime"
WHERE = {"event_id": "event_1", "response_id": "resp_1", "item_id": "item_1", "output_index": 0, "content_index": 0}
DELTA = json.dumps({"type": "response.output_text.delta", **WHERE, "delta": " oak"}).encode()
USAGE = {"input_tokens": 30, "output_tokens": 12, "input_token_details": {"cached_tokens": 4, "audio_tokens": 26}}
RESPONSE = {"id": "resp_1", "object": "realtime.response", "status": "completed", "output": [], "usage": USAGE}
DONE = json.dumps({"type": "response.done", "event_id": "event_2", "response": RESPONSE}).encode()


class Socket:
    """Returns the same message again and again."""

    def __init__(self, message: bytes) -> None:
        self._message = message

    def recv(self, *, decode: bool) -> bytes:  # noqa: ARG002  # the signature of what it stands for
        """The message."""
        return self._message

    def close(self, code: int, reason: str) -> None:
        """Nothing is open."""


class Given:
    """The objects that the callables of this file use.

    Attributes:
        bare: The client's own `enter`.
        enter: The client's `enter` with our hook.
        event_bare: A connection without our hook; each of its messages is a piece of text.
        event: The same with our hook.
    """

    def __init__(self) -> None:
        self._client = openai.OpenAI(api_key="sk-bench", base_url="http://localhost:1/v1")
        self.enter: Any = RealtimeConnectionManager.enter
        self.bare = self.enter.__wrapped__
        self.event_bare = self.bare(self.manager(DELTA))
        self.event = self.enter(self.manager(DELTA))

    def manager(self, message: bytes) -> Any:
        """Return the result of `connect` without connecting."""
        made: Any = self._client.realtime.connect(model=MODEL)
        made._connect_ws = lambda *_: Socket(message)
        return made


def _hooked(core: str) -> Given:
    os.environ[CAPTURE] = "no_content"
    bench_openai.provide(sampled=True)
    FastpathInstrumentor().instrument(core=core, openai="on")
    return Given()


def compiled() -> Given:
    """With the compiled core."""
    return _hooked("c")


def pure() -> Given:
    """With the pure core."""
    return _hooked("py")


def event_bare(given: Given) -> None:
    """Receive a piece of text."""
    given.event_bare.recv()


def event(given: Given) -> None:
    """The same in an instrumented session."""
    given.event.recv()


def session_bare(given: Given) -> None:
    """A session of one response."""
    _session(given, given.bare)


def session(given: Given) -> None:
    """The same in an instrumented session."""
    _session(given, given.enter)


def _session(given: Given, enter: Any) -> None:
    connection = enter(given.manager(DONE))
    connection.recv()
    connection.close()
