"""How a tracer provider may be configured: by name, so that a failing setup prints as it is written."""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from typing import Any

from opentelemetry.sdk.trace import SpanLimits, sampling
from opentelemetry.sdk.trace.id_generator import IdGenerator, RandomIdGenerator
from opentelemetry.trace import TraceState

_STATIC = sampling.StaticSampler


@dataclass(frozen=True)
class Setup:
    """One configuration.

    Attributes:
        sampler: A key of `SAMPLERS`.
        ids: A key of `ID_GENERATORS`.
        processors: Keys of `processors.PROCESSORS`, in order.
        limits: For `SpanLimits`.
        concurrent: Whether the processors run in a `ConcurrentMultiSpanProcessor`.
        metrics: Whether the SDK measures itself.
        seed: Of `random`, from which ids come.
    """

    sampler: str = "default"
    ids: str = "random"
    processors: tuple[str, ...] = ("simple",)
    limits: dict[str, int] = field(default_factory=dict)
    concurrent: bool = False
    metrics: bool = False
    seed: int = 1

    def span_limits(self) -> SpanLimits:
        """The limits."""
        return SpanLimits(**self.limits)


class Telling(sampling.Sampler):
    """Adds attributes and a trace state of its own, and tells what it was asked."""

    def __init__(self, note: Any) -> None:
        self._note = note

    def should_sample(  # noqa: D102  # stock's interface
        self, parent_context, trace_id, name, kind=None, attributes=None, links=None, trace_state=None
    ):
        # Before 1.44 stock passes None where start_span was given it.
        self._note("should_sample", parent_context, trace_id, name, kind, attributes, links or (), trace_state)
        if name == "drop":
            return sampling.SamplingResult(sampling.Decision.DROP, {"why": "dropped"})
        if name == "record":
            return sampling.SamplingResult(sampling.Decision.RECORD_ONLY, attributes)
        return sampling.SamplingResult(
            sampling.Decision.RECORD_AND_SAMPLE,
            {"sampler": ["told", "so"], "weight": 0.5, **(attributes or {})},
            TraceState([("sampler", "yes")]),
        )

    def get_description(self):  # noqa: D102  # stock's interface
        return "Telling"


class Raising(Telling):
    """Fails for spans of one name."""

    def should_sample(self, parent_context, trace_id, name, *args, **kwargs):  # noqa: D102  # stock's interface
        if name == "a":
            raise LookupError("the sampler failed")
        return super().should_sample(parent_context, trace_id, name, *args, **kwargs)


class Subclass(_STATIC):
    """A static sampler that overrides what it inherits."""

    def should_sample(self, *args, **kwargs):  # noqa: D102  # stock's interface
        result = super().should_sample(*args, **kwargs)
        return sampling.SamplingResult(result.decision, {"subclass": True}, result.trace_state)


class InheritingParentBased(sampling.ParentBased):
    """Overrides nothing that decides."""


class InheritingRatio(sampling.TraceIdRatioBased):
    """Likewise."""


class InheritingStatic(_STATIC):
    """Likewise."""


class BoundOfItsOwn(sampling.TraceIdRatioBased):
    """Overrides what the inherited `should_sample` reads."""

    @property
    def bound(self):  # noqa: D102  # stock's interface
        return 1 << 64


def _overridden_on_the_instance(note: Any) -> Any:
    sampler = _STATIC(sampling.Decision.RECORD_AND_SAMPLE)
    sampler.should_sample = Telling(note).should_sample  # type: ignore[method-assign]
    return sampler


def _parent_rules(note: Any) -> Any:
    return sampling.ParentBased(
        sampling.TraceIdRatioBased(0.5),
        remote_parent_sampled=Telling(note),
        remote_parent_not_sampled=_STATIC(sampling.Decision.RECORD_ONLY),
        local_parent_sampled=sampling.TraceIdRatioBased(0.7),
        local_parent_not_sampled=sampling.ALWAYS_ON,
    )


SAMPLERS: dict[str, Any] = {
    "default": lambda _: None,
    "always on": lambda _: sampling.ALWAYS_ON,
    "always off": lambda _: sampling.ALWAYS_OFF,
    "parent based on": lambda _: sampling.DEFAULT_ON,
    "parent based off": lambda _: sampling.DEFAULT_OFF,
    "ratio 0": lambda _: sampling.TraceIdRatioBased(0),
    "ratio half": lambda _: sampling.TraceIdRatioBased(0.5),
    "ratio 1": lambda _: sampling.TraceIdRatioBased(1),
    "parent based ratio": lambda _: sampling.ParentBasedTraceIdRatio(0.5),
    "parent rules": _parent_rules,
    "record only": lambda _: _STATIC(sampling.Decision.RECORD_ONLY),
    "telling": Telling,
    "parent based telling": lambda note: sampling.ParentBased(Telling(note)),
    "raising": Raising,
    "subclass": lambda _: Subclass(sampling.Decision.RECORD_AND_SAMPLE),
    "instance": _overridden_on_the_instance,
    "inheriting parent based": lambda _: InheritingParentBased(sampling.ALWAYS_ON),
    "inheriting parent based ratio": lambda note: InheritingParentBased(
        InheritingRatio(0.5), local_parent_sampled=Telling(note)
    ),
    "inheriting off": lambda _: InheritingStatic(sampling.Decision.DROP),
    "bound of its own": lambda _: BoundOfItsOwn(0),
}
if hasattr(sampling, "AlwaysRecordSampler"):
    SAMPLERS["always record"] = lambda _: sampling.AlwaysRecordSampler(sampling.TraceIdRatioBased(0.5))


class Small(IdGenerator):
    """Ids of a third party."""

    def generate_span_id(self):  # noqa: D102  # stock's interface
        return 1 + random.getrandbits(8)

    def generate_trace_id(self):  # noqa: D102  # stock's interface
        return 1 + random.getrandbits(65)


class SmallAtRandom(Small):
    """The same, and says that they are random."""

    def is_trace_id_random(self):  # noqa: D102  # stock's interface
        return True


class Invalid(IdGenerator):
    """Ids that are not valid."""

    def generate_span_id(self):  # noqa: D102  # stock's interface
        return 0

    def generate_trace_id(self):  # noqa: D102  # stock's interface
        return 1 << 128


class Subclassed(RandomIdGenerator):
    """Stock's generator with one method overridden."""

    def generate_span_id(self):  # noqa: D102  # stock's interface
        return super().generate_span_id() | 1


ID_GENERATORS: dict[str, Any] = {
    "random": lambda: None,
    "small": Small,
    "small at random": SmallAtRandom,
    "invalid": Invalid,
    "subclassed": Subclassed,
}
