"""Every public method of every resource of the installed client: what ends in a request is told of, once."""

from __future__ import annotations

import asyncio
import inspect
from functools import cached_property

import openai
import pytest
from madeup import http
from openai._resource import AsyncAPIResource, SyncAPIResource

# Some are on their way out, and a client's all the same.
pytestmark = pytest.mark.filterwarnings("ignore")
# What comes with no request of its own: a websocket (tests/genai/openai_http/test_sockets.py), local work, or
# calls of other methods, over and over until something is ready.
NO_REQUEST = {"connect", "unwrap", "verify_signature", "prepare", "prepare_directory", "for_result"}
UNTIL_READY = ("_and_poll", "poll", "wait_for_processing", "upload_and_poll")
# What has to be more than one word.
ARGUMENTS = {
    "audio.voices.create": {"name": "a", "prompt": "a", "type": "a"},
    "audio.voice_consents.create": {"recording": b"a"},
    "beta.agents.automations.create": {"run_at": "a", "name": "a", "target": {}, "type": "once"},
    "beta.agents.environments.files.create": {"file_id": "a", "path": "/workspace/a", "type": "file_id"},
    "beta.agents.environments.files.upload": {"path": "/workspace/a"},
    "admin.organization.external_keys.create": {
        "external_id": "a",
        "kms_arn": "a",
        "name": "a",
        "role_arn": "a",
        "type": "a",
    },
    "uploads.upload_file_chunked": {"filename": "a", "bytes": 1},
    "responses.stream": {"response_id": "a"},
    "videos.create_character": {"video": b"a"},
    "videos.edit": {"video": b"a"},
    "videos.extend": {"video": b"a"},
}
VALUES = {"file": b"a", "image": b"a", "data": b"a", "bytes": 1, "files": [b"a"], "file_ids": ["a"]}


def methods(resource, path=""):
    """The public methods of a resource and of what is below it."""
    for kind in type(resource).__mro__[:-1]:
        for name, member in vars(kind).items():
            place = f"{path}.{name}".strip(".")
            if name.startswith(("_", "with_")):
                continue
            if isinstance(member, cached_property):
                below = getattr(resource, name)
                if isinstance(below, SyncAPIResource | AsyncAPIResource):
                    yield from methods(below, place)
            elif inspect.isfunction(member) and isinstance(resource, SyncAPIResource | AsyncAPIResource):
                yield place, getattr(resource, name)
    # Old clients make their resources at once.
    for name, below in vars(resource).items():
        if isinstance(below, SyncAPIResource | AsyncAPIResource) and not hasattr(type(resource), name):
            yield from methods(below, f"{path}.{name}".strip("."))


def arguments(method):
    """Something for each argument that there must be."""
    found = {}
    for name, each in inspect.signature(method).parameters.items():
        if each.default is each.empty and each.kind in (each.POSITIONAL_OR_KEYWORD, each.KEYWORD_ONLY):
            found[name] = VALUES.get(name, "a")
    return found


def answered(asked):
    """A transport that knows one answer."""

    def answer(request):
        asked.append(request.url.path)
        return http.Response(200, json={"id": "a", "object": "list", "data": [], "output": [], "status": "completed"})

    return http.MockTransport(answer)


async def outcome(place, method):
    """Call it, whatever comes of it: what has a request and what has not is the question."""
    try:
        result = method(**{**arguments(method), **ARGUMENTS.get(place, {})})
        if inspect.isawaitable(result):
            result = await result
        # What is read later ends when it is left.
        if hasattr(result, "__aenter__"):
            async with result:
                pass
        elif hasattr(result, "__enter__"):
            with result:
                pass
    except Exception as error:
        return error
    return None


@pytest.mark.parametrize("kind", ["sync", "async"])
def test_whatever_ends_in_a_request_is_told_of_once(kind, told):
    """As many spans as requests, of every method that there is."""
    asked, silent, wrong = [], {}, {}

    async def all_of_them():
        transport = answered(asked)
        made = {"api_key": "sk-test", "base_url": "http://localhost:9/v1", "max_retries": 0}
        if "admin_api_key" in inspect.signature(openai.OpenAI).parameters:
            made["admin_api_key"] = "a"
        if kind == "sync":
            client = openai.OpenAI(**made, http_client=http.Client(transport=transport))
        else:
            client = openai.AsyncOpenAI(**made, http_client=http.AsyncClient(transport=transport))
        for place, method in methods(client):
            name = place.rpartition(".")[2]
            if name.endswith(UNTIL_READY):
                continue
            before, spans = len(asked), len(told.spans())
            error = await outcome(place, method)
            requests, more = len(asked) - before, len(told.spans()) - spans
            if requests != more:
                wrong[place] = requests, more
            if not requests and name not in NO_REQUEST:
                silent[place] = repr(error)

    asyncio.run(all_of_them())
    assert wrong == {}
    assert silent == {}
    assert len(asked) > 70
