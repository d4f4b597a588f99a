"""A real websocket server in this process, and the sessions that a client can have with it."""

from __future__ import annotations

import inspect
import json
import threading
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import openai
import pytest
from surface import has
from websockets.exceptions import ConnectionClosed
from websockets.sync.server import serve

if TYPE_CHECKING:
    from collections.abc import Iterator

MODEL = "gpt-realtime"
# On the client -> the arguments of `connect`.
_SESSIONS = {
    "realtime": {"model": MODEL},
    "realtime.translations": {"model": MODEL},
    "live": {},
    "live.forks": {"session_id": "live_1"},
    "live.sideband": {"session_id": "live_1"},
    "responses": {},
    "beta.realtime": {"model": MODEL},
    "beta.responses": {},
}
with openai.OpenAI(api_key="none") as _client:
    # Each release of the client adds some.
    RECONNECTS = "on_reconnecting" in inspect.signature(_client.realtime.connect).parameters
    SESSIONS = {name: given for name, given in _SESSIONS.items() if has(_client, f"{name}.connect")}


def needs(name: str) -> Any:
    """Skips a test of such a session where the installed client has none."""
    return pytest.mark.skipif(name not in SESSIONS, reason=f"this release of the client has no {name}.connect")


def connect(client: Any, name: str = "realtime", **kwargs: Any) -> Any:
    """The manager of a new session."""
    found = client
    for part in name.split("."):
        found = getattr(found, part)
    return found.connect(**{**SESSIONS[name], **kwargs})


@dataclass
class Server:
    """What the server does with each connection in turn; the last of it with all further ones.

    Attributes:
        address: Host and port.
        scripts: For each connection what it sends and does: an event, or a close code; then it waits for the client.
        paths: What was asked for.
        heard: What the clients sent.
    """

    address: tuple[str, int] = ("", 0)
    scripts: list[list[Any]] = field(default_factory=lambda: [[]])
    paths: list[str] = field(default_factory=list)
    heard: list[Any] = field(default_factory=list)
    _lock: Any = field(default_factory=threading.Lock)

    def handle(self, connection: Any) -> None:
        """Serve one connection."""
        with self._lock:
            script = self.scripts.pop(0) if len(self.scripts) > 1 else self.scripts[0]
            self.paths.append(connection.request.path)
        try:
            for step in script:
                if isinstance(step, int):
                    connection.close(step, "as told")
                    return
                connection.send(json.dumps(step))
            self.heard.extend(json.loads(message) for message in connection)
        except ConnectionClosed:
            return


@contextmanager
def serving() -> Iterator[Server]:
    """The server, which ends with its block."""
    made = Server()
    with serve(made.handle, "127.0.0.1", 0) as server:
        made.address = server.socket.getsockname()[:2]
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield made
        finally:
            server.shutdown()
            thread.join()


def created(**more: Any) -> dict[str, Any]:
    """The first event of a session."""
    session = {"id": "sess_1", "model": "gpt-realtime-2026", "type": "realtime", "object": "realtime.session", **more}
    return {"type": "session.created", "event_id": "event_1", "session": session}


def delta(text: str) -> dict[str, Any]:
    """A piece of an answer."""
    where = {"response_id": "resp_1", "item_id": "item_1", "output_index": 0, "content_index": 0}
    return {"type": "response.output_text.delta", "event_id": "event_2", **where, "delta": text}


def done(number: int = 1, status: str = "completed", **more: Any) -> dict[str, Any]:
    """The end of a response of the Realtime API."""
    usage = {
        "total_tokens": 30,
        "input_tokens": 20,
        "output_tokens": 10,
        "input_token_details": {"cached_tokens": 4, "text_tokens": 8, "audio_tokens": 12, "image_tokens": 0},
        "output_token_details": {"text_tokens": 3, "audio_tokens": 7},
    }
    said = [{"type": "output_audio", "transcript": "A chair."}]
    item = {"id": "item_1", "type": "message", "role": "assistant", "status": "completed", "content": said}
    response = {"id": f"resp_{number}", "object": "realtime.response", "status": status, "usage": usage}
    return {"type": "response.done", "event_id": "event_3", "response": {**response, "output": [item], **more}}


def completed(number: int = 1) -> dict[str, Any]:
    """The end of a response of the Responses API."""
    said = [{"type": "output_text", "text": "A chair.", "annotations": []}]
    item = {"id": "msg_1", "type": "message", "role": "assistant", "status": "completed", "content": said}
    usage = {
        "input_tokens": 5,
        "output_tokens": 6,
        "total_tokens": 11,
        "input_tokens_details": {"cached_tokens": 2},
        "output_tokens_details": {"reasoning_tokens": 1},
    }
    response = {"id": f"resp_{number}", "object": "response", "model": "gpt-4o-mini-2026", "status": "completed"}
    return {
        "type": "response.completed",
        "sequence_number": number,
        "response": {**response, "output": [item], "usage": usage, "created_at": 1, "tools": []},
    }


def error(code: str = "invalid_value") -> dict[str, Any]:
    """What the server complains of."""
    detail = {"type": "invalid_request_error", "code": code, "message": "No such thing."}
    return {"type": "error", "event_id": "event_4", "error": detail}


EVENTS = [created(), delta("A "), delta("chair."), done()]


@pytest.fixture
def server():
    """A server that says nothing of its own accord."""
    with serving() as made:
        yield made


@pytest.fixture
def settings(server):
    """What a client of the server is made with."""
    host, port = server.address
    return {
        "base_url": f"http://{host}:{port}/v1",
        "websocket_base_url": f"ws://{host}:{port}/v1",
        "api_key": "sk-test",
    }


def only(kept: Any) -> Any:
    """The one span there is."""
    (span,) = kept.spans
    return span


def failure(span: Any) -> tuple[str, Any]:
    """How a span says that it failed."""
    return span.status.status_code.name, span.attributes.get("error.type")
