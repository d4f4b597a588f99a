"""Puts the guard's samplers and limits in the place of a tracer provider's own, and puts those back.

What is put there remembers what it replaced, so nothing is kept here: a provider, or a tracer that it makes meanwhile,
is brought to the state of the guard from whatever it has.
"""

from __future__ import annotations

import copy
import sys
from typing import TYPE_CHECKING, Any, Final

from otel_fastpath.shedding import control

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from otel_fastpath.shedding.shed import Shed

_SDK: Final = "opentelemetry.sdk.trace"
# Where a sampler or limits of ours keep what they replaced, and what they were made for.
_REPLACED: Final = "_otel_fastpath_replaced"


class GuardedProvider:
    """The tracer provider of this process: the one that was given to `instrument()`, or the global one.

    Args:
        given: The provider that was given; None: the global one, once it is set.
        shed: What to shed.
    """

    def __init__(self, given: Any, shed: Shed) -> None:
        self._given = given
        self._shed = shed

    def why_not(self) -> str:
        """Why no spans can be shed, or an empty string."""
        provider = self._provider()
        if provider is None:
            return "no tracer provider is set"
        if not _is_known(provider):
            kind = type(provider)
            return f"{kind.__module__}.{kind.__qualname__} is not the SDK's tracer provider, or not of a known release"
        return ""

    def uncounted(self) -> str:
        """The description of a sampler beside which no threshold is written, so that back ends cannot count."""
        provider = self._provider()
        if provider is None or not _is_known(provider):
            return ""
        from otel_fastpath.shedding import droppers  # noqa: PLC0415  # it imports the SDK

        own = _own(provider.sampler)
        try:
            return "" if droppers.is_countable(own) else str(own.get_description())
        except Exception:  # the user's code
            return type(own).__name__

    def follow(self, state: control.SheddingState) -> None:
        """Change the provider and its tracers to what the state says; they get their own back at level 0."""
        provider = self._provider()
        if provider is None or not _is_known(provider):
            return
        from otel_fastpath.shedding import droppers  # noqa: PLC0415  # it imports the SDK

        sheds_traces = state.level >= control.FEWER_TRACES
        sheds_events = state.level >= control.NO_EVENTS
        for owner in _owners(provider):
            scope = getattr(getattr(owner, "_instrumentation_scope", None), "name", "")
            sheds_messages = state.level >= control.NO_INTERNAL_SPANS and scope in droppers.ASGI_SCOPES
            _put(
                owner,
                "sampler",
                (sheds_messages, sheds_traces),
                lambda own, asked: droppers.before(own, self._shed, sheds_messages=asked[0], sheds_traces=asked[1]),
            )
            _put(owner, "_span_limits", (sheds_events,), _without_events)

    def _provider(self) -> Any:
        if self._given is not None:
            return self._given
        # Not `get_tracer_provider`, which sets one.
        return getattr(sys.modules.get("opentelemetry.trace"), "_TRACER_PROVIDER", None)


def _is_known(provider: Any) -> bool:
    kind = getattr(sys.modules.get(_SDK), "TracerProvider", None)
    return kind is not None and isinstance(provider, kind) and isinstance(getattr(provider, "_tracers", None), dict)


def _owners(provider: Any) -> Iterator[Any]:
    """The provider, which hands its sampler and limits to new tracers, and the tracers that it has."""
    yield provider
    yield from list(provider._tracers.values())


def _own(value: Any) -> Any:
    """The value that ours replaced; a value that is not ours itself."""
    return getattr(value, "__dict__", {}).get(_REPLACED, (value, ()))[0]


def _put(owner: Any, name: str, asked: tuple[bool, ...], make: Callable[[Any, tuple[bool, ...]], Any]) -> None:
    """Set an attribute to what `make` returns for the owner's own value, or to that value if nothing is asked for."""
    now = getattr(owner, name)
    own, made_for = getattr(now, "__dict__", {}).get(_REPLACED, (now, ()))
    if asked == made_for or not (any(asked) or made_for):
        return
    made = own
    if any(asked):
        made = make(own, asked)
        vars(made)[_REPLACED] = own, asked
    # Of a tracer, this also drops its plan: the patch `tracer.configuration`.
    setattr(owner, name, made)


def _without_events(limits: Any, _asked: tuple[bool, ...]) -> Any:
    """The same limits for spans without events and links; the SDK counts them as dropped."""
    made = copy.copy(limits)
    made.max_events = made.max_links = 0
    return made
