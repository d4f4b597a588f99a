"""Replacements for the client's methods: the one method that every request passes through, and the ends of `with`.

Every method of every resource calls `SyncAPIClient.request` or `AsyncAPIClient.request`, in whatever form it was
called; by then, the client has made its own copy of the body.
"""

from __future__ import annotations

import functools
import json
from typing import TYPE_CHECKING, Any, Final

from otel_fastpath.compiled import hot
from otel_fastpath.genai.openai.streams import CALL, STAYING, OpenPending, end, follow, headers, hear, leaving
from otel_fastpath.patching.outcome import call_guarded, never_raises, reset
from otel_fastpath.patching.patch import Patch

if TYPE_CHECKING:
    from collections.abc import Callable

    from otel_fastpath.genai.openai.telemetry import OpenAITelemetry
    from otel_fastpath.settings import Config

RAW: Final = "X-Stainless-Raw-Response"
REQUIRES: Final = ("openai>=1.40,<4",)

_telemetry: OpenAITelemetry | None = None


def use(telemetry: OpenAITelemetry | None) -> None:
    """Use this telemetry for calls from now on; None: do not instrument them."""
    global _telemetry
    _telemetry = telemetry


def _make_request(original: Any, _settings: Config) -> Any:
    calls = hot.genai_openai_calls
    new_call, begin = calls.new_call, calls.begin

    @functools.wraps(original)
    def request(self: Any, cast_to: Any, options: Any, *args: Any, **kwargs: Any) -> Any:
        telemetry, call = _telemetry, new_call()
        try:
            if telemetry is None or not begin(call, telemetry, self, options):
                return _otherwise(original, self, options)(self, cast_to, options, *args, **kwargs)
            result = original(self, cast_to, options, *args, **kwargs)
            end_or_follow(call, result, options, kwargs)
        except BaseException as error:
            try:
                call.fail(error)
            finally:
                # See `wrapping.call`: the first may have been interrupted.
                call.fail(error)
            raise
        return result

    return request


def _make_async_request(original: Any, _settings: Config) -> Any:
    calls = hot.genai_openai_calls
    new_call, begin = calls.new_call, calls.begin

    @functools.wraps(original)
    async def request(self: Any, cast_to: Any, options: Any, *args: Any, **kwargs: Any) -> Any:
        telemetry, call = _telemetry, new_call()
        try:
            if telemetry is None or not begin(call, telemetry, self, options):
                return await _otherwise(original, self, options)(self, cast_to, options, *args, **kwargs)
            result = await original(self, cast_to, options, *args, **kwargs)
            end_or_follow(call, result, options, kwargs)
        except BaseException as error:
            try:
                call.fail(error)
            finally:
                # See `wrapping.call`: the first may have been interrupted.
                call.fail(error)
            raise
        return result

    return request


def _otherwise(original: Any, client: Any, options: Any) -> Any:
    """What runs a call that was not begun: the method, or stock's code if one of its functions is replaced."""
    telemetry = _telemetry
    if telemetry is None or telemetry.by_stock is None or not telemetry.calls.replacements.exist():
        return original
    return call_guarded("an OpenAI call", telemetry.by_stock.around, original, client, options) or original


def end_or_follow(call: Any, result: Any, options: Any, kwargs: Any) -> None:
    """End a call with its result, or follow a result that continues. Never raises."""
    if not call_guarded("the result of an OpenAI call", _try_end_or_follow, call, result, options, kwargs):
        call.end()


def _try_end_or_follow(call: Any, result: Any, options: Any, kwargs: Any) -> bool:
    """Whether the call has ended, or will be ended by other code."""
    is_stream = bool(kwargs.get("stream"))
    if call.try_end_with(result, options, is_stream):
        return True
    raw = options.headers.get(RAW) if isinstance(options.headers, dict) else None
    if raw is None:
        if is_stream:
            return follow(result, call)
        call.answer(result)
    elif is_stream:
        _raw_stream(call, result)
    elif raw == "stream":
        _raw_answer(call, result)
    else:
        _raw_body(call, result.http_response)
    return True


def _raw_body(call: Any, response: Any) -> None:
    """A raw response whose body was read."""
    headers(call, response.headers)
    if not call.target.has_result:
        call.end()
        return
    try:
        body = json.loads(response.content)
    except (ValueError, RecursionError):
        body = None
    call.answer(body, is_raw=True)


def _raw_stream(call: Any, raw: Any) -> None:
    """A raw response whose body is a stream: followed once the caller has it parsed, ended when it is closed."""
    response = raw.http_response
    headers(call, response.headers)
    pending = OpenPending(call)
    vars(response)[CALL] = pending

    def try_end() -> bool:
        # If it was parsed, the code that follows the stream has taken the call.
        if pending.take() is not None:
            try:
                end(call)
            except BaseException as error:
                call.fail(error)
                raise
        return True

    hear(response, try_end)


def _raw_answer(call: Any, raw: Any) -> None:
    """A raw response whose body the caller may read, or not, until it leaves its `with`."""
    response = raw.http_response
    pending = OpenPending(call)

    def try_end() -> bool:
        # Reading to the end also closes it, before the body is available.
        if leaving.get() is STAYING and not hasattr(response, "_content"):
            return False
        try:
            pending.take()
            if isinstance(leaving.get(), BaseException) or not hasattr(response, "_content"):
                end(call)
            else:
                _raw_body(call, response)
        except BaseException as error:
            call.fail(error)
            raise
        return True

    hear(response, try_end)


def _make_stream_init(original: Any, _settings: Config) -> Any:
    @functools.wraps(original)
    def __init__(self: Any, *args: Any, **kwargs: Any) -> None:  # noqa: N807  # the name of what it replaces
        original(self, *args, **kwargs)
        _follow_parsed(self, kwargs)

    return __init__


@never_raises("a raw OpenAI stream")
def _follow_parsed(stream: Any, kwargs: Any) -> None:
    """Follow the stream that a raw response was parsed into."""
    response = kwargs.get("response")
    pending = None if response is None else vars(response).pop(CALL, None)
    call = None if pending is None else pending.take()
    if call is None or call.is_over:
        return
    try:
        if not call_guarded("a raw OpenAI stream", follow, stream, call):
            call.end()
    except BaseException as error:
        call.fail(error)
        raise


@never_raises("the end of an OpenAI stream's with")
def _after_exit(error: Any) -> Any:
    return leaving.set(error)


def make_exit(original: Any, _settings: Config) -> Any:
    """While this `__exit__` runs, make the exception that ended its `with` known."""

    @functools.wraps(original)
    def __exit__(self: Any, kind: Any, error: Any, traceback: Any) -> Any:  # noqa: N807  # likewise
        token = _after_exit(error)
        try:
            return original(self, kind, error, traceback)
        finally:
            if token is not None:
                reset(leaving, token)

    return __exit__


def make_async_exit(original: Any, _settings: Config) -> Any:
    """Likewise, for `__aexit__`."""

    @functools.wraps(original)
    async def __aexit__(self: Any, kind: Any, error: Any, traceback: Any) -> Any:  # noqa: N807  # likewise
        token = _after_exit(error)
        try:
            return await original(self, kind, error, traceback)
        finally:
            if token is not None:
                reset(leaving, token)

    return __aexit__


_WHY_EXIT: Final = "A stream that is left with an exception fails, one that is left without does not."
_CHAT: Final = "openai.lib.streaming.chat._completions"
_RESPONSES: Final = "openai.lib.streaming.responses._responses"
_EXITS: Final = (
    ("openai.stream.exit", "openai._streaming:Stream"),
    ("openai.stream.raw.exit", "openai._response:ResponseContextManager"),
    ("openai.stream.chat.exit", f"{_CHAT}:ChatCompletionStream"),
    ("openai.stream.chat.manager.exit", f"{_CHAT}:ChatCompletionStreamManager"),
    ("openai.stream.responses.exit", f"{_RESPONSES}:ResponseStream"),
    ("openai.stream.responses.manager.exit", f"{_RESPONSES}:ResponseStreamManager"),
)


# The hooks around a call and around reading a stream are the same for both kinds of client.
_CALLS: Final = ("openai, chat call", "openai, responses call")
_STREAMS: Final = ("openai, chat stream of 22 chunks", "openai, responses stream of 22 events")


def _patch(name: str, target: str, why: str, make: Callable[[Any, Config], Any], budgets: tuple[str, ...]) -> Patch:
    return Patch(name, target, why, make, REQUIRES, needs_gil=False, budgets=budgets)


def _exits() -> tuple[Patch, ...]:
    made = []
    for name, target in _EXITS:
        module, _, kind = target.partition(":")
        made.append(_patch(name, f"{target}.__exit__", _WHY_EXIT, make_exit, _STREAMS))
        target = f"{module}:Async{kind}.__aexit__"  # noqa: PLW2901  # the same, for the other kind of client
        made.append(_patch(f"{name}.async", target, _WHY_EXIT, make_async_exit, _STREAMS))
    return tuple(made)


_WHY_REQUEST: Final = "Every request passes here: one span, its metrics and its event for each."
_WHY_INIT: Final = "The stream that a raw response is parsed into is followed as any other."
PATCHES: Final = (
    _patch("openai.request", "openai._base_client:SyncAPIClient.request", _WHY_REQUEST, _make_request, _CALLS),
    _patch(
        "openai.request.async",
        "openai._base_client:AsyncAPIClient.request",
        _WHY_REQUEST,
        _make_async_request,
        _CALLS,
    ),
    _patch("openai.stream", "openai._streaming:Stream.__init__", _WHY_INIT, _make_stream_init, _STREAMS),
    _patch("openai.stream.async", "openai._streaming:AsyncStream.__init__", _WHY_INIT, _make_stream_init, _STREAMS),
    *_exits(),
)
