"""The name of each endpoint and what is read from its calls: a table, and a rule for endpoints that are not in it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import unquote

from otel_fastpath.genai import conventions as names
from otel_fastpath.genai.openai import content, requests
from otel_fastpath.genai.openai.reading import chunks, response_attributes
from otel_fastpath.patching.cache import Cache

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

ERROR_AND_MODEL: Final = (names.RESPONSE_MODEL, names.ERROR_TYPE)
FETCH: Final = "fetch_response"
INFERENCE: Final = "opentelemetry.genai.client.inference.context"


@dataclass(frozen=True, eq=False)
class Endpoint:
    """How a call of one kind is reported.

    Attributes:
        operation: `gen_ai.operation.name`; with the model after it, the span's name.
        request: Body key -> attribute, see `requests`.
        result: The rules for an answer that is not streamed, see `reading.models.read`.
        more: Sets the attributes of such an answer that the rules cannot express.
        chunks: Makes the object that reads the attributes from a stream's chunks.
        fixed: Attributes that every call has, besides those it starts with.
        series: Attributes of the finished call that its metrics have as well.
        started: Returns the attributes that the span starts with, given the usual ones and the request's options.
        is_fetched: Whether the answer was generated earlier.
        content: How its content is captured, if that is enabled.
        is_inference: Whether a model runs and generates content: there is an event.
        has_result: Whether the answer is JSON that is read if the caller asked for the raw response.
        options: Sets the attributes that follow from the request's options besides its body.
        error: Returns the error in an answer, as `error.type` and a message.
        nests: The context key of a call of `opentelemetry-util-genai` of this kind, which our call is then part of.
    """

    operation: str
    request: requests.Rules = field(default_factory=dict)
    result: response_attributes.Rules = ()
    more: Callable[[Any, dict[str, Any]], None] | None = None
    chunks: Callable[[dict[str, Any], Any], chunks.Chunks] = chunks.AnyChunks
    fixed: Mapping[str, Any] = field(default_factory=dict)
    series: tuple[str, ...] = ERROR_AND_MODEL
    started: Callable[[dict[str, Any], Any], dict[str, Any]] | None = None
    is_fetched: bool = False
    content: content.ContentShape | None = None
    is_inference: bool = False
    has_result: bool = True
    options: Callable[[Any, dict[str, Any]], None] | None = None
    error: Callable[[Any], tuple[str, str | None] | None] | None = None
    nests: str = ""


def _cursor(options: Any, attributes: dict[str, Any]) -> None:
    """Set the position from which an earlier stream continues."""
    after = options.params.get("starting_after") if isinstance(options.params, dict) else None
    if after is not None:
        attributes[names.STREAM_CURSOR] = str(after)


def _of_one(start: dict[str, Any], options: Any) -> dict[str, Any]:
    """Add the id of the requested response, which is known in advance."""
    return {**start, names.RESPONSE_ID: unquote(options.url.partition("?")[0].rsplit("/", 1)[-1])}


def encoding(options: Any) -> str | None:
    """The encoding that the caller asked for; None: the client may request base64 and decode it."""
    asked = options.json_data.get("encoding_format") if isinstance(options.json_data, dict) else None
    parser = options.post_parser
    keywords = getattr(parser, "keywords", None)
    if isinstance(keywords, dict):
        by_caller = keywords.get("encoding_format", asked)
    else:
        code = getattr(parser, "__code__", None)
        cells = dict(zip(code.co_freevars, parser.__closure__ or (), strict=False)) if code is not None else {}
        by_caller = cells["encoding_format"].cell_contents if "encoding_format" in cells else asked
    return asked if isinstance(by_caller, str) else None


def _encoding(options: Any, attributes: dict[str, Any]) -> None:
    """Set the encoding that the caller asked for."""
    asked = encoding(options)
    if asked is not None:
        attributes[names.ENCODING] = [asked]


_RESPONSES: Final = {names.API_TYPE: "responses"}
CHAT: Final = Endpoint(
    "chat",
    requests.CHAT,
    response_attributes.CHAT,
    chunks=chunks.ChatChunks,
    series=(*ERROR_AND_MODEL, names.RESPONSE_TIER, names.FINGERPRINT),
    content=content.CHAT,
    is_inference=True,
    nests=INFERENCE,
)
RESPONSES: Final = Endpoint(
    "chat",
    requests.RESPONSES,
    response_attributes.RESPONSE,
    response_attributes.response,
    chunks.ResponseChunks,
    fixed=_RESPONSES,
    content=content.RESPONSES,
    is_inference=True,
    error=response_attributes.response_error,
    nests=INFERENCE,
)
FETCH_RESPONSE: Final = Endpoint(
    FETCH,
    more=response_attributes.set_fetched,
    chunks=chunks.FetchedChunks,
    started=_of_one,
    is_fetched=True,
    fixed=_RESPONSES,
    content=content.FETCHED,
    options=_cursor,
    nests="opentelemetry.genai.client.fetch_response.context",
)


def _any(operation: str, rules: requests.Rules = requests.ANY) -> Endpoint:
    return Endpoint(operation, rules, more=response_attributes.anything)


# (method, path) -> what it is.
TABLE: Final[Mapping[tuple[str, str], Endpoint]] = {
    ("post", "/chat/completions"): CHAT,
    ("post", "/responses"): RESPONSES,
    ("get", "/responses/{id}"): FETCH_RESPONSE,
    ("post", "/responses/{id}/cancel"): Endpoint(
        "responses.cancel", more=response_attributes.set_fetched, fixed=_RESPONSES
    ),
    ("post", "/responses/compact"): Endpoint(
        "responses.compact", requests.RESPONSES, response_attributes.RESPONSE, response_attributes.response
    ),
    ("post", "/responses/input_tokens"): Endpoint(
        "responses.input_tokens", requests.RESPONSES, response_attributes.RESPONSE, response_attributes.response
    ),
    ("post", "/embeddings"): Endpoint(
        "embeddings",
        requests.EMBEDDINGS,
        response_attributes.EMBEDDINGS,
        response_attributes.embeddings,
        options=_encoding,
        nests="opentelemetry.genai.client.embedding.context",
    ),
    ("post", "/completions"): _any("text_completion", requests.SAMPLING),
    ("post", "/images/generations"): _any("images.generate"),
    ("post", "/images/edits"): _any("images.edit"),
    ("post", "/images/variations"): _any("images.create_variation"),
    ("post", "/audio/speech"): Endpoint("audio.speech", requests.ANY, has_result=False),
    ("post", "/audio/transcriptions"): _any("audio.transcriptions"),
    ("post", "/audio/translations"): _any("audio.translations"),
    ("post", "/moderations"): _any("moderations"),
    ("post", "/decisions"): _any("decisions"),
    ("post", "/videos"): _any("videos.create"),
    ("post", "/threads/{id}/runs"): _any("threads.runs.create"),
    ("post", "/threads/runs"): _any("threads.create_and_run"),
}
# Those that the stock instrumentation instruments.
STOCK: Final = frozenset({CHAT, RESPONSES, FETCH_RESPONSE, TABLE["post", "/embeddings"]})
# The words in the paths of the API; everything else in a path is an identifier. A test compares them with the client's.
_WORDS: Final = """
accept activate admin_api_keys agents alerts alpha api_keys archive artifacts assistants attach audio audio_speeches
audio_transcriptions audit_logs automations batches calls cancel cases certificates characters chat chatkit
checkpoints client_secrets code_interpreter_sessions compact complete completions containers content
content_provenance_checks conversations costs credentials data_retention deactivate decisions edits embeddings
environments evals events extensions external_keys external_storage federation_rules file_batches file_search_calls
files fine_tuning fork generations graders groups hangup hosted_tool_permissions images input_items input_tokens
invites invocations items jobs live messages model_permissions models moderations organization output_items parts
pause permissions projects rate_limits realtime refer reject remix responses resume roles rotate_secret run runs
safety search service_accounts service_tier_settings sessions skills speech spend_alerts spend_limit steps subagents
submit_tool_outputs templates test threads traces transcription_sessions transcriptions translations turns uploads
usage users validate variations vaults vector_stores versions videos voice_consents voices web_search_calls
webhook_endpoints webhook_event_types workload_identity_providers
"""
# Words that name an action, not its target.
_ACTIONS: Final = """
accept activate archive attach cancel compact complete content deactivate fork hangup pause refer reject remix
resume rotate_secret run search submit_tool_outputs test validate
"""
WORDS: Final = frozenset(_WORDS.split())
ACTIONS: Final = frozenset(_ACTIONS.split())
_OF_ONE: Final = {"get": "retrieve", "delete": "delete"}
_OF_MANY: Final = {"get": "list", "post": "create", "delete": "delete"}
_generic: Final = Cache(1 << 20)
# The size of a cached endpoint besides its name.
_EACH: Final = 1024


def endpoint_of(method: str, url: str) -> Endpoint:
    """The endpoint of a request to a path below the base URL, or to a whole URL."""
    found = TABLE.get((method, url))
    if found is not None:
        return found
    method = method.lower()
    path = template_of(url)
    found = TABLE.get((method, path)) or _generic.items.get((method, path))
    if found is None:
        found = Endpoint(operation_of(method, path), has_result=False)
        _generic.keep((method, path), found, _EACH + 2 * len(path) + len(method))
    return found


def template_of(url: str) -> str:
    """The path of a URL with `{id}` for every identifier: "/files/{id}/content"."""
    path = url.partition("?")[0]
    if "://" in path:
        path = "/" + path.partition("://")[2].partition("/")[2]
    parts = [part if part in WORDS else "{id}" for part in path.split("/") if part]
    # In a whole URL, the end of the base URL comes before the path.
    while len(parts) > 1 and parts[0] == "{id}":
        del parts[0]
    return "/" + "/".join(parts)


def operation_of(method: str, path: str) -> str:
    """The client's name for it: "files.content", "batches.retrieve", "fine_tuning.jobs.list"."""
    parts = path.strip("/").split("/")
    found = [part for part in parts if part != "{id}"] or ["request"]
    if parts[-1] in ACTIONS:
        return ".".join(found)
    verbs, default = (_OF_ONE, "update") if parts[-1] == "{id}" else (_OF_MANY, "update")
    return ".".join([*found, verbs.get(method, default)])
