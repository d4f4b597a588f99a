"""OpenInference's `openinference-instrumentation-openai`: avoids unnecessary work for each call and streamed chunk.

Its hooks and the telemetry that they emit do not change.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping
from copy import deepcopy
from typing import TYPE_CHECKING, Any, Final

from otel_fastpath.others import openai_sources
from otel_fastpath.patching.patch import Patch

if TYPE_CHECKING:
    from collections.abc import Callable

    from otel_fastpath.settings import Config

_PACKAGE: Final = "openinference.instrumentation.openai"
_ACCUMULATOR: Final = f"{_PACKAGE}._response_accumulator"
_IMAGES: Final = frozenset({"image_url", "input_image"})
# Values of these types are immutable and need not be copied.
_PLAIN: Final = frozenset({str, int, float, bool})


def _may_have_images(request: Mapping[str, Any]) -> bool:
    """Whether anything in the request could be redacted."""
    for name in ("messages", "input"):
        items = request.get(name)
        if not isinstance(items, list):
            continue
        for item in items:
            if not isinstance(item, dict):
                continue
            content = item.get("content")
            if isinstance(content, list):
                for part in content:
                    if isinstance(part, dict) and part.get("type") in _IMAGES:
                        return True
    return False


def _make_redact(original: Any, _settings: Config) -> Any:
    @functools.wraps(original)
    def redact_images_from_request_parameters(
        request_parameters: dict[str, Any], hide_input_images: bool, base64_image_max_length: int
    ) -> Any:
        # The result is only read and not kept, so that without an image no copy is needed.
        if type(request_parameters) is dict and not _may_have_images(request_parameters):
            return request_parameters
        return original(request_parameters, hide_input_images, base64_image_max_length)

    return redact_images_from_request_parameters


def _make_add(original: Any, _settings: Config) -> Any:
    names = original.__globals__
    values_type = names["_ValuesAccumulator"]
    # How a value is added to the held one, by the type of the latter. Held values of other types are replaced.
    ways: dict[type, Callable[[Any, Any], None]] = {
        names["_StringAccumulator"]: _add_text,
        names["_IndexedAccumulator"]: _add_indexed,
        values_type: _add_values,
        list: _add_items,
    }

    @functools.wraps(original)
    def __iadd__(self: Any, values: Any) -> Any:  # noqa: N807  # the name of the replaced method
        if not values:
            return self
        held = self._values
        for key, mine in held.items():
            value = values.get(key)
            if value is None:
                continue
            add = ways.get(type(mine))
            if add is None or (add is _add_items and not isinstance(value, Iterable)):
                held[key] = value
            else:
                add(mine, value)
        for key in values:
            if key not in held:
                _add_new(held, values, values_type)
                break
        return self

    return __iadd__


def _add_text(mine: Any, value: Any) -> None:
    if value and isinstance(value, str):
        mine._fragments.append(value)


def _add_values(mine: Any, value: Any) -> None:
    # The type is checked first: `isinstance` with the ABC takes a microsecond.
    if type(value) is dict or isinstance(value, Mapping):
        mine += value


def _add_items(mine: list[Any], value: Iterable[Any]) -> None:
    mine.extend(value)


def _add_indexed(mine: Any, value: Any) -> None:
    if type(value) is list or isinstance(value, Iterable):
        for each in value:
            mine += each
    else:
        mine += value


def _add_new(held: dict[str, Any], values: Mapping[str, Any], values_type: Any) -> None:
    for key, value in values.items():
        if key in held or value is None:
            continue
        if type(value) in _PLAIN:
            held[key] = value
            continue
        copy = deepcopy(value)
        held[key] = values_type(**copy) if isinstance(copy, Mapping) else copy


def _make_process_chat_chunk(original: Any, _settings: Config) -> Any:
    @functools.wraps(original)
    def process_chunk(self: Any, chunk: Any) -> None:
        self._is_null = False
        self._cached_result = None
        values = chunk.model_dump(exclude_unset=True, warnings=False)
        for choice in values.get("choices", ()):
            if delta := choice.pop("delta", None):
                choice["message"] = delta
        self._values += values

    return process_chunk


def _make_process_chunk(original: Any, _settings: Config) -> Any:
    @functools.wraps(original)
    def process_chunk(self: Any, chunk: Any) -> None:
        self._is_null = False
        self._cached_result = None
        self._values += chunk.model_dump(exclude_unset=True, warnings=False)

    return process_chunk


def _patch(name: str, target: str, why: str, make: Callable[[Any, Config], Any], budget: str, *sources: str) -> Patch:
    return Patch(
        name=f"openinference.{name}",
        target=target,
        why=why,
        make=make,
        requires=("openinference-instrumentation-openai>=0.1.60,<0.2", "pydantic>=2"),
        sources=openai_sources.sources(*sources),
        needs_gil=False,
        budgets=(budget,),
    )


_WARNINGS: Final = (
    "Changes the process's warning filters for each streamed chunk; here pydantic is called with `warnings=False`."
)

PATCHES: Final = (
    _patch(
        "redact",
        f"{_PACKAGE}._request:redact_images_from_request_parameters",
        "Copies the whole request for each call, in case it contains images; here only if it contains one.",
        _make_redact,
        "openinference, request of a chat",
        f"{_PACKAGE}._image_utils:redact_images_from_request_parameters",
        f"{_PACKAGE}._image_utils:_redact_images_from_message_content",
        f"{_PACKAGE}._image_utils:_redact_images_from_input_content",
        f"{_PACKAGE}._request:_WithOpenAI._get_attributes_from_request",
    ),
    _patch(
        "accumulate",
        f"{_ACCUMULATOR}:_ValuesAccumulator.__iadd__",
        "Makes 58 type checks for each streamed chunk, 9 of them with typing's classes; here exact types come first.",
        _make_add,
        "openinference, stream of 20 chunks",
        f"{_ACCUMULATOR}:_ValuesAccumulator",
        f"{_ACCUMULATOR}:_StringAccumulator",
        f"{_ACCUMULATOR}:_IndexedAccumulator",
    ),
    _patch(
        "chat_chunk",
        f"{_ACCUMULATOR}:_ChatCompletionAccumulator.process_chunk",
        _WARNINGS,
        _make_process_chat_chunk,
        "openinference, stream of 20 chunks",
        f"{_ACCUMULATOR}:_ChatCompletionAccumulator.process_chunk",
    ),
    _patch(
        "chunk",
        f"{_ACCUMULATOR}:_CompletionAccumulator.process_chunk",
        _WARNINGS,
        _make_process_chunk,
        "openinference, legacy stream of 20 chunks",
        f"{_ACCUMULATOR}:_CompletionAccumulator.process_chunk",
    ),
)
