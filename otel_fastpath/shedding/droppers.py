"""Samplers that stand before a user's sampler while spans are shed: they only drop what it would keep."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any, Final

from opentelemetry.sdk.trace.sampling import (
    Decision,
    ParentBased,
    ParentBasedTraceIdRatio,
    Sampler,
    SamplingResult,
    StaticSampler,
)
from opentelemetry.trace import SpanKind, TraceState, get_current_span

from otel_fastpath.shedding.thresholds import KEY, RANDOMNESS, entry_with, randomness, threshold_in

if TYPE_CHECKING:
    from otel_fastpath.shedding.shed import Shed

# The scopes and the ends of the names of spans around the receiving and sending of an ASGI message.
ASGI_SCOPES: Final = frozenset(
    f"opentelemetry.instrumentation.{name}" for name in ("asgi", "fastapi", "starlette", "django")
)
_MESSAGES: Final = tuple(f" {kind} {verb}" for kind in ("http", "websocket") for verb in ("send", "receive"))
# The arguments of `Sampler.should_sample` that decide here, and their positions.
_PLACES: Final = {"parent_context": 0, "trace_id": 1, "name": 2, "kind": 3, "attributes": 4}
_PARENT_BASED: Final = (ParentBased, ParentBasedTraceIdRatio)


class BeforeSampler(Sampler):
    """Stands before a user's sampler, which gets exactly the arguments that this one gets, by position or by name.

    The SDK passes fewer than `Sampler.should_sample` has, and a user's sampler may have no others. Other attributes are
    those of the user's sampler, also to set: an application may change it where it finds it, at the provider.

    Args:
        below: The user's sampler.
        shed: What to shed, and the counts of what was shed.
    """

    below: Any
    _shed: Shed
    _drop: SamplingResult

    def __init__(self, below: Any, shed: Shed) -> None:
        vars(self).update(below=below, _shed=shed, _drop=SamplingResult(Decision.DROP))

    def __getattr__(self, name: str) -> Any:
        """The user's sampler's attribute."""
        # Not `self.below`, which a copy does not have at first: this method would call itself.
        return getattr(object.__getattribute__(self, "below"), name)

    def __setattr__(self, name: str, value: Any) -> None:
        """Set it there."""
        setattr(self.below, name, value)

    def __delattr__(self, name: str) -> None:
        """Delete it there."""
        delattr(self.below, name)

    def get_description(self) -> str:
        """The description of the user's sampler, in that of this one."""
        return f"{type(self).__name__}{{{self.below.get_description()}}}"


class FewerTraces(BeforeSampler):
    """Keeps a new trace only if its randomness is at least the threshold, which is written to its trace state.

    The threshold is written where the probability is known: if the user's sampler keeps everything, or has itself
    written one.
    """

    _keeps_everything: bool
    _written: tuple[int, TraceState]

    def __init__(self, below: Any, shed: Shed) -> None:
        super().__init__(below, shed)
        vars(self).update(_keeps_everything=_keeps_everything(below), _written=(0, TraceState()))

    def _state(self, threshold: int) -> TraceState:
        """The trace state of a root with this threshold."""
        written = self._written
        if written[0] != threshold:
            written = vars(self)["_written"] = threshold, TraceState([(KEY, entry_with("", threshold))])
        return written[1]

    def should_sample(self, *given: Any, **named: Any) -> SamplingResult:
        """See `Sampler.should_sample`."""
        trace_id = _argument("trace_id", given, named)
        threshold = self._shed.threshold
        if self._keeps_everything and threshold:
            # A root has no trace state yet.
            if trace_id & RANDOMNESS < threshold:
                self._shed.count("trace")
                return self._drop
            attributes = _argument("attributes", given, named)
            return SamplingResult(Decision.RECORD_AND_SAMPLE, attributes, self._state(threshold))
        result = self.below.should_sample(*given, **named)
        if not threshold or not result.decision.is_sampled():
            return result  # type: ignore[no-any-return]  # the user's
        state = result.trace_state
        entry = (state.get(KEY) if state else None) or ""
        own = threshold_in(entry)
        if randomness(trace_id, entry) < max(own or 0, threshold):
            self._shed.count("trace")
            return self._drop
        if own is None:
            return result  # type: ignore[no-any-return]  # likewise
        written = entry_with(entry, max(own, threshold))
        state = state.update(KEY, written) if state and entry else (state or TraceState()).add(KEY, written)
        return SamplingResult(result.decision, result.attributes, state)


class FewerWholeTraces(FewerTraces):
    """The same before a sampler that does not follow the parent: while this one is in place, children follow theirs.

    It is in place until a while after the last trace was shed: see `control.CALM`.
    """

    def should_sample(self, *given: Any, **named: Any) -> SamplingResult:
        """See `Sampler.should_sample`."""
        parent = get_current_span(_argument("parent_context", given, named)).get_span_context()
        if parent is None or not parent.is_valid:
            return super().should_sample(*given, **named)
        result = self.below.should_sample(*given, **named)
        if result.decision.is_sampled() and not parent.trace_flags.sampled:
            # Its trace was shed, and it would have no parent.
            return SamplingResult(Decision.DROP, trace_state=result.trace_state)
        return result  # type: ignore[no-any-return]  # the user's


class NoMessages(BeforeSampler):
    """Drops the spans around the messages of ASGI, which have no children."""

    def should_sample(self, *given: Any, **named: Any) -> SamplingResult:
        """See `Sampler.should_sample`."""
        if _argument("kind", given, named) is SpanKind.INTERNAL and _argument("name", given, named).endswith(_MESSAGES):
            self._shed.count("internal_span")
            return self._drop
        return self.below.should_sample(*given, **named)  # type: ignore[no-any-return]  # the user's


def before(sampler: Any, shed: Shed, *, sheds_messages: bool, sheds_traces: bool) -> Any:
    """A sampler that stands before the user's."""
    if type(sampler) not in _PARENT_BASED:
        made: Any = FewerWholeTraces(sampler, shed) if sheds_traces else sampler
        return NoMessages(made, shed) if sheds_messages else made
    # A copy of the same class: the core of this package knows its rules, and asks only the samplers that are new.
    copied = copy.copy(sampler)
    if sheds_traces:
        copied._root = FewerTraces(sampler._root, shed)
    if sheds_messages:
        copied._local_parent_sampled = NoMessages(sampler._local_parent_sampled, shed)
    return copied


def is_countable(sampler: Any) -> bool:
    """Whether the adjusted count of what is kept is known: the user's sampler keeps every root, or tells thresholds."""
    if type(sampler) in _PARENT_BASED:
        sampler = sampler._root
    return _keeps_everything(sampler) or type(sampler).__module__.startswith("opentelemetry.sdk.trace._sampling")


def _argument(name: str, given: tuple[Any, ...], named: dict[str, Any]) -> Any:
    """An argument of `Sampler.should_sample`, however it was passed; None: it was not."""
    place = _PLACES[name]
    return given[place] if len(given) > place else named.get(name)


def _keeps_everything(sampler: Any) -> bool:
    return type(sampler) is StaticSampler and sampler._decision is Decision.RECORD_AND_SAMPLE
