"""Pieces of content -> the parts of a message in the GenAI conventions, as dicts in the order of their fields.

Inline data (images, audio, documents) is `bytes` here; `content` reduces or keeps it.
"""

from __future__ import annotations

import base64
import json
import mimetypes
import urllib.parse
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from otel_fastpath.genai.openai.fields import field, items, kind_of, text
from otel_fastpath.patching import faults

Part = dict[str, Any]
_AUDIO_TYPES: Final = {"wav": "audio/wav", "mp3": "audio/mpeg"}
_TEXTS: Final = frozenset({"text", "input_text", "output_text"})


def text_part(value: str) -> Part:
    """Text."""
    return {"content": value, "type": "text"}


def reasoning_part(value: str) -> Part:
    """Reasoning of the model."""
    return {"content": value, "type": "reasoning"}


def call_part(arguments: Any, name: str, own: Any) -> Part:
    """A tool call that the model requests."""
    return {"arguments": arguments, "name": name, "id": own, "type": "tool_call"}


def answer_part(answer: Any, own: Any) -> Part:
    """The response of a tool."""
    return {"response": plain(answer), "id": own, "type": "tool_call_response"}


def content_parts(content: Any) -> list[Part]:
    """The parts of a message's content: a string, or a list of pieces."""
    if isinstance(content, str):
        return [text_part(content)]
    return [part for item in items(content) if (part := _part(item)) is not None]


def parse_arguments(arguments: Any) -> Any:
    """The arguments of a tool call: decoded from JSON, or unchanged if that fails."""
    if not isinstance(arguments, str):
        return plain(arguments)
    try:
        return json.loads(arguments) if arguments else None
    except ValueError:
        return arguments


def plain(value: Any) -> Any:
    """Data that a caller passes: models are dumped, and values that are not data become None."""
    if value is None or isinstance(value, str | int | float | bool):
        return value
    dump = getattr(value, "model_dump", None)
    if callable(dump):
        return plain(dump())
    if isinstance(value, Mapping):
        return {str(key): plain(each) for key, each in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, bytes | bytearray):
        return [plain(each) for each in value]
    return None


def _part(item: Any) -> Part | None:
    if isinstance(item, str):
        return text_part(item)
    kind = kind_of(item)
    words = text(field(item, "text"))
    if kind in _TEXTS or (kind is None and words is not None):
        return None if words is None else text_part(words)
    make = None if kind is None else _KINDS.get(kind)
    return None if make is None else make(item)


def _refusal(item: Any) -> Part | None:
    refusal = text(field(item, "refusal"))
    return None if refusal is None else text_part(refusal)


def _image(item: Any) -> Part | None:
    url = field(item, "image_url")
    if not isinstance(url, str):
        url = field(url, "url")
    if isinstance(url, str) and url:
        return _from_url(url, "image")
    own = text(field(item, "file_id"))
    return _file(None, "image", own) if own and field(item, "type") == "input_image" else None


def _audio(item: Any) -> Part | None:
    audio = field(item, "input_audio")
    data = _decode(field(audio, "data"))
    kind = field(audio, "format")
    return None if data is None else _blob(_AUDIO_TYPES.get(kind) if isinstance(kind, str) else None, "audio", data)


def _document(item: Any) -> Part | None:
    # A chat message has it one level deeper.
    file = field(item, "file") or item
    name = text(field(file, "filename"))
    kind = mimetypes.guess_type(name)[0] if name else None
    own = text(field(file, "file_id"))
    if own:
        return _file(kind, "document", own)
    data = text(field(file, "file_data"))
    if not data:
        return None
    if data.startswith("data:"):
        return _from_url(data, "document")
    decoded = _decode(data)
    return None if decoded is None else _blob(kind, "document", decoded)


def _from_url(url: str, modality: str) -> Part | None:
    if not url.startswith("data:"):
        return {"mime_type": None, "modality": modality, "uri": url, "type": "uri"}
    header, _, payload = url[len("data:") :].partition(",")
    is_base64 = ";base64" in header.lower()
    data = _decode(payload) if is_base64 else urllib.parse.unquote_to_bytes(payload)
    return None if data is None else _blob(header.split(";", 1)[0] or None, modality, data)


def _blob(kind: str | None, modality: str, data: bytes) -> Part:
    return {"mime_type": kind, "modality": modality, "content": data, "type": "blob"}


def _file(kind: str | None, modality: str, own: str) -> Part:
    return {"mime_type": kind, "modality": modality, "file_id": own, "type": "file"}


def _decode(data: Any) -> bytes | None:
    """The bytes of a base64 text; None if it is invalid, as it is then not worth recording."""
    try:
        return base64.b64decode("".join(data.split()), validate=True)
    except Exception as error:
        faults.raise_interruption(error)
        return None


_KINDS: Final[Mapping[str, Callable[[Any], Part | None]]] = {
    "input_audio": _audio,
    "file": _document,
    "input_file": _document,
    "refusal": _refusal,
    "image_url": _image,
    "input_image": _image,
}
