"""Stock's own code around a request of the client: it runs while other code has replaced one of its functions."""

from __future__ import annotations

import functools
import importlib
import inspect
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, Final

from otel_fastpath.genai.openai import endpoints
from otel_fastpath.patching.stock import Reached

if TYPE_CHECKING:
    from collections.abc import Mapping


_PACKAGE: Final = "opentelemetry.instrumentation.genai.openai"
# What makes the wrapper of each method of stock's: for asynchronous clients, "async_" precedes the name.
_CHAT: Final = ("patch", "chat_completions_create_v_new")
_EMBEDDINGS: Final = ("patch", "embeddings_create")
_RESPONSES: Final = ("patch_responses", "responses_create")
_RETRIEVE: Final = ("patch_responses", "responses_retrieve")
_MAKERS: Final = {"/chat/completions": _CHAT, "/embeddings": _EMBEDDINGS, "/responses": _RESPONSES}
_RESPONSE: Final = "/responses/"
_UTIL: Final = "opentelemetry.util.genai"
_INVOCATIONS: Final = (
    f"{_UTIL}.types:Error.from_exception",
    f"{_UTIL}.utils:fq_exception_type",
    *(f"{_UTIL}.handler:TelemetryHandler.{name}" for name in ("embedding", "fetch_response", "inference")),
    *(
        f"{_UTIL}.{module}:{kind}Invocation.{name}"
        for module, kind in (
            ("_embedding_invocation", "Embedding"),
            ("_fetch_response_invocation", "FetchResponse"),
            ("_inference_invocation", "Inference"),
        )
        for name in ("__init__", "_apply_finish", "_finish", "fail", "record_stream_chunk", "stop")
    ),
)


class ByStock:
    """Stock's wrappers of the client's methods, called with what a request has; ours stands for its `functions`."""

    def __init__(self, keywords: Mapping[str, Any], providers: Mapping[str, Any]) -> None:
        self._given = {**providers, "completion_hook": keywords.get("completion_hook")}
        self.functions = Reached(
            [
                f"{_PACKAGE}.{module}:{prefix}{name}"
                for module, name in (_CHAT, _EMBEDDINGS, _RESPONSES, _RETRIEVE)
                for prefix in ("", "async_")
            ]
            + list(_INVOCATIONS)
        )
        self._wrappers: dict[tuple[str, str], Any] = {}

    @functools.cached_property
    def _handler(self) -> Any:
        from opentelemetry.util.genai import handler  # noqa: PLC0415  # with stock's instrumentation

        package = importlib.import_module(_PACKAGE)
        given = {**self._given}
        given["completion_hook"] = given["completion_hook"] or package.load_completion_hook()
        return handler.TelemetryHandler(
            **given, instrumentation_scope_name=_PACKAGE, instrumentation_scope_version=package.__version__
        )

    def around(self, original: Any, client: Any, options: Any) -> Any:
        """Stock's code around a client's `request`; None: it has none for such a request."""
        path, maker = options.url, None
        arguments = options.json_data if isinstance(options.json_data, dict) else {}
        if options.method == "post":
            maker = _MAKERS.get(path)
            if maker is _EMBEDDINGS and endpoints.encoding(options) is None:
                arguments = {key: value for key, value in arguments.items() if key != "encoding_format"}
        elif path.startswith(_RESPONSE) and path.count("/") == _RESPONSE.count("/"):
            maker, arguments = _RETRIEVE, {**options.params, "response_id": path[len(_RESPONSE) :]}
        if maker is None:
            return None
        module, name = maker
        wrapper = self._wrapper(module, f"async_{name}" if inspect.iscoroutinefunction(original) else name)
        resource = SimpleNamespace(_client=client)

        def request(*args: Any, **kwargs: Any) -> Any:
            return wrapper(lambda *_args, **_arguments: original(*args, **kwargs), resource, (), dict(arguments))

        return request

    def _wrapper(self, module: str, name: str) -> Any:
        found = self._wrappers.get((module, name))
        if found is None:
            make = getattr(importlib.import_module(f"{_PACKAGE}.{module}"), name)
            found = self._wrappers[module, name] = make(self._handler)
        return found
