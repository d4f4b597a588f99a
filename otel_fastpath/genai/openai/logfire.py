"""Logfire's instrumentation of the client: a call has one span, Logfire's or ours.

Logfire replaces `request` of the client's classes, or of one client, and marks what it has instrumented. `calls.begin`
leaves the calls of a marked client to it. If our wrapper is set to "on", it replaces Logfire's on the classes, until
our wrapper is removed; one client that Logfire was given stays Logfire's.
"""

from __future__ import annotations

import contextlib
import functools
import inspect
import sys
from typing import TYPE_CHECKING, Any, Final

from otel_fastpath.patching.outcome import call_guarded
from otel_fastpath.patching.patch import Patch

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from otel_fastpath.settings import Config

MARK: Final = "_is_instrumented_by_logfire"
_ORIGINAL: Final = "_original_request_method"
_REQUEST: Final = "request"
_PLACE: Final = "Logfire's instrumentation of OpenAI"
_BASES: Final = ("SyncAPIClient", "AsyncAPIClient")


class _Replaced:
    """A class that Logfire was enabled while ours replaces it; like the context manager that it returns."""

    def __init__(self, client: type, instrument: Callable[[], Any]) -> None:
        self.client = client
        self._instrument = instrument
        self._real: Any = None

    def __enter__(self) -> None:
        """Nothing to do: the class is instrumented already."""

    def __exit__(self, *_error: object) -> None:
        """Uninstrument the class, as Logfire does on exit."""
        if self in _replaced:
            _replaced.remove(self)
        if self._real is not None:
            with self._real:
                pass

    def give_back(self) -> None:
        """Let Logfire instrument the class."""
        self._real = self._instrument()


class _TakenClass:
    """A class that Logfire had instrumented before ours replaced it."""

    def __init__(self, client: Any) -> None:
        self.client = client
        self._theirs = vars(client)[_REQUEST]
        self._original = vars(client)[_ORIGINAL]
        delattr(client, _REQUEST)
        setattr(client, MARK, False)
        # Logfire puts it back on exit.
        setattr(client, _ORIGINAL, getattr(client, _REQUEST))

    def give_back(self) -> None:
        """Put Logfire's `request` back, unless Logfire has uninstrumented the class."""
        if _ORIGINAL in vars(self.client) and not vars(self.client).get(MARK):
            setattr(self.client, _REQUEST, self._theirs)
            setattr(self.client, _ORIGINAL, self._original)
            setattr(self.client, MARK, True)


_replaced: list[_Replaced | _TakenClass] = []


def _make(original: Any, settings: Config) -> Any:
    is_ours = settings.mode("openai") == "on"
    signature = inspect.signature(original)
    if is_ours:
        for client in _instrumented():
            call_guarded(_PLACE, _take, client)

    @functools.wraps(original)
    def instrument_llm_provider(*args: Any, **kwargs: Any) -> Any:
        client = call_guarded(_PLACE, _class_in, signature, args, kwargs) if is_ours else None
        if client is None:
            return original(*args, **kwargs)
        if any(each.client is client for each in _replaced):
            # As Logfire does if it has instrumented the class before.
            return contextlib.nullcontext()
        made = _Replaced(client, functools.partial(original, *args, **kwargs))
        _replaced.append(made)
        return made

    return instrument_llm_provider


def _take(client: Any) -> None:
    _replaced.append(_TakenClass(client))


def _undo() -> None:
    taken, _replaced[:] = _replaced[:], []
    for each in reversed(taken):
        call_guarded(_PLACE, each.give_back)


def _class_in(signature: inspect.Signature, args: Any, kwargs: Any) -> type | None:
    """The client's class that is to be instrumented, if it is one of OpenAI's."""
    given = signature.bind(*args, **kwargs).arguments
    client = given["client"]
    return client if isinstance(client, type) and given["scope_suffix"] == "OpenAI" else None


def _instrumented() -> Iterator[Any]:
    """The client's classes that Logfire has instrumented."""
    module = sys.modules.get("openai._base_client")
    waiting = [getattr(module, name) for name in _BASES if hasattr(module, name)]
    while waiting:
        kind = waiting.pop()
        waiting += kind.__subclasses__()
        if vars(kind).get(MARK) is True and _REQUEST in vars(kind) and _ORIGINAL in vars(kind):
            yield kind


PATCHES: Final = (
    Patch(
        "openai.logfire",
        "logfire._internal.integrations.llm_providers.llm_provider:instrument_llm_provider",
        "Calls of clients that Logfire instruments have its span, or otel-fastpath's instead if that is `on`.",
        _make,
        undo=_undo,
        needs_gil=False,
        budgets=("openai, chat call",),
    ),
)
