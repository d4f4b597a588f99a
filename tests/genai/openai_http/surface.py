"""Every kind of call that a client can make, as data: what to call, with what, and what the server is asked."""

from __future__ import annotations

import operator
from dataclasses import dataclass, field
from typing import Any

import openai

MODEL = "gpt-4o-mini"
MESSAGES = [{"role": "system", "content": "You sell furniture."}, {"role": "user", "content": "What about item 17?"}]
TOOL = {
    "type": "function",
    "function": {"name": "find_item", "parameters": {"type": "object", "properties": {"item": {"type": "integer"}}}},
}
FORMAT = {
    "type": "json_schema",
    "json_schema": {
        "name": "item",
        "schema": {"type": "object", "properties": {"item": {"type": "integer"}}, "required": ["item"]},
    },
}
FILE = ("sound.wav", b"RIFF0000", "audio/wav")
IMAGE = ("image.png", b"\x89PNG0000", "image/png")
CHAT = {"model": MODEL, "messages": MESSAGES}
RESPONSE = {"model": MODEL, "input": "What about item 17?", "instructions": "You sell furniture."}


def has(client: Any, path: str) -> bool:
    """Whether the client has this, e.g. "chat.completions.create"."""
    try:
        operator.attrgetter(path)(client)
    except AttributeError:
        return False
    return True


@dataclass(frozen=True)
class Call:
    """One kind of call.

    Attributes:
        method: Where it is on the client, e.g. "chat.completions.create".
        kwargs: Its arguments.
        args: Likewise, by position.
        streams: It answers with a stream when `stream=True` is passed.
        raw: It has a form with a raw response.
    """

    method: str
    kwargs: dict[str, Any] = field(default_factory=dict)
    args: tuple[Any, ...] = ()
    streams: bool = False
    raw: bool = True

    def on(self, client: Any, form: str = "") -> Any:
        """The bound method; `form` is "", "with_raw_response" or "with_streaming_response"."""
        *path, name = self.method.split(".")
        found = client
        for part in path:
            found = getattr(found, part)
        return getattr(getattr(found, form) if form else found, name)


# What the stock instrumentation covers.
SHARED = (
    Call("chat.completions.create", CHAT, streams=True),
    Call("responses.create", RESPONSE, streams=True),
    Call("responses.retrieve", {}, ("resp_1",)),
    Call("embeddings.create", {"model": "text-embedding-3-small", "input": "a chair"}),
)
# Where it is silent.
WIDER = (
    Call("chat.completions.retrieve", {}, ("chatcmpl-1",)),
    Call("chat.completions.list"),
    Call("chat.completions.update", {"metadata": {"a": "b"}}, ("chatcmpl-1",)),
    Call("chat.completions.delete", {}, ("chatcmpl-1",)),
    Call("responses.cancel", {}, ("resp_1",)),
    Call("responses.compact", {"model": MODEL, "input": "a"}),
    Call("responses.input_tokens.count", {"model": MODEL, "input": "a"}),
    Call("responses.input_items.list", {}, ("resp_1",)),
    Call("completions.create", {"model": "davinci-002", "prompt": "A chair is"}, streams=True),
    Call("images.generate", {"model": "gpt-image-1", "prompt": "A chair"}, streams=True),
    Call("images.edit", {"model": "gpt-image-1", "prompt": "A chair", "image": IMAGE}, streams=True),
    Call("images.create_variation", {"model": "dall-e-2", "image": IMAGE}),
    Call("audio.speech.create", {"model": "tts-1", "input": "A chair", "voice": "alloy"}),
    Call("audio.transcriptions.create", {"model": "whisper-1", "file": FILE}, streams=True),
    Call("audio.translations.create", {"model": "whisper-1", "file": FILE}),
    Call("moderations.create", {"model": "omni-moderation-latest", "input": "A chair"}),
    Call(
        "decisions.create",
        {"model": "gpt-6-luna", "input": "A chair", "questions": [{"type": "predicate", "question": "Is it?"}]},
    ),
    Call("conversations.create"),
    Call("conversations.retrieve", {}, ("conv_1",)),
    Call("conversations.items.list", {}, ("conv_1",)),
    Call("batches.create", {"completion_window": "24h", "endpoint": "/v1/responses", "input_file_id": "file-1"}),
    Call("batches.retrieve", {}, ("batch_1",)),
    Call("files.create", {"file": FILE, "purpose": "batch"}),
    Call("files.list"),
    Call("files.content", {}, ("file-1",)),
    Call("fine_tuning.jobs.create", {"model": MODEL, "training_file": "file-1"}),
    Call("fine_tuning.jobs.list"),
    Call("vector_stores.create", {"name": "a"}),
    Call("vector_stores.search", {"query": "a"}, ("vs_1",)),
    Call("evals.list"),
    Call("uploads.create", {"bytes": 1, "filename": "a", "mime_type": "text/plain", "purpose": "batch"}),
    Call("containers.create", {"name": "a"}),
    Call("videos.retrieve", {}, ("video_1",)),
    Call("beta.assistants.create", {"model": MODEL}),
    Call("beta.threads.create"),
    Call("beta.threads.runs.create", {"assistant_id": "asst_1"}, ("thread_1",)),
    Call("beta.responses.create", {"model": MODEL, "input": "a"}),
    Call("models.list"),
    Call("models.retrieve", {}, (MODEL,)),
    Call("realtime.client_secrets.create"),
)
# Of those, what the installed client has: each release adds some.
with openai.OpenAI(api_key="none") as _client:
    EVERY = tuple(call for call in (*SHARED, *WIDER) if has(_client, call.method))
