"""Which decisions of samplers a plan can make without calling them.

These are the decisions of stock's samplers, also of those whose class inherits `should_sample` and all that it reads.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

from opentelemetry.sdk.trace.sampling import (
    Decision,
    ParentBased,
    ParentBasedTraceIdRatio,
    StaticSampler,
    TraceIdRatioBased,
)

from otel_fastpath.compiled.facts import ABSENT
from otel_fastpath.trace.planning import sampling
from otel_fastpath.trace.planning.processor_routes import inherits, is_stock

if TYPE_CHECKING:
    from otel_fastpath.trace.planning.processor_routes import Fact

SHOULD_SAMPLE: Final = ("should_sample",)
_DELEGATES: Final = (
    *("_root", "_remote_parent_sampled", "_remote_parent_not_sampled"),
    *("_local_parent_sampled", "_local_parent_not_sampled"),
)
# What each class's `should_sample` reads of the instance, and of the class.
_READ: Final[dict[type, tuple[tuple[str, ...], tuple[str, ...]]]] = {
    StaticSampler: (("_decision",), ()),
    TraceIdRatioBased: (("_bound",), ("bound", "TRACE_ID_LIMIT")),
    ParentBased: (_DELEGATES, ()),
}
# What the plan reads of samplers.
FIELDS: Final = tuple(name for fields, _ in _READ.values() for name in fields)
_RULES: Final[dict[Decision, int]] = {
    Decision.DROP: sampling.DROP,
    Decision.RECORD_ONLY: sampling.RECORD_ONLY,
    Decision.RECORD_AND_SAMPLE: sampling.SAMPLE,
}


class SamplerRules(NamedTuple):
    """What is known of a sampler's decisions: some fields of `Plan`, as `_rule` and `_delegated` make them."""

    bounds: tuple[int, ...]
    delegates: tuple[Any, ...]
    root: int
    remote_sampled: int
    remote_not_sampled: int
    local_sampled: int
    local_not_sampled: int


def rules_of(sampler: Any) -> tuple[SamplerRules, list[Fact]]:
    """What is known of a sampler's decisions, and what that rests on."""
    bounds: list[int] = []
    delegates: list[Any] = []
    facts: list[Fact] = []
    if _is_exactly(sampler, ParentBasedTraceIdRatio, facts) or _decides_like(sampler, ParentBased, facts):
        rules = [_delegated(getattr(sampler, name), bounds, delegates, facts) for name in _DELEGATES]
    else:
        rules = [_rule(sampler, bounds, facts)] * len(_DELEGATES)
    return SamplerRules(tuple(bounds), tuple(delegates), *rules), facts


def _rule(sampler: Any, bounds: list[int], facts: list[Fact]) -> int:
    """The sampler as a number of `sampling`; the bound of a ratio is added to the others."""
    rule = sampling.ASK
    if _decides_like(sampler, StaticSampler, facts):
        rule = _RULES[sampler._decision]
    elif _decides_like(sampler, TraceIdRatioBased, facts):
        # The bound is compared with 64 bits of the trace id.
        if 0 < sampler._bound < 1 << 64:
            bounds.append(sampler._bound)
            return sampling.RATIO + len(bounds) - 1
        rule = sampling.SAMPLE if sampler._bound > 0 else sampling.DROP
    return rule


def _delegated(sampler: Any, bounds: list[int], delegates: list[Any], facts: list[Fact]) -> int:
    """The same for a sampler that `ParentBased` asks; one that must be asked is added to the delegates."""
    rule = _rule(sampler, bounds, facts)
    if rule != sampling.ASK:
        return rule
    delegates.append(sampler)
    return -len(delegates)


def _is_exactly(sampler: Any, kind: type, facts: list[Fact]) -> bool:
    """Whether the sampler is of this class of stock; then the facts are added, once for each sampler."""
    if not is_stock(sampler, kind, SHOULD_SAMPLE):
        return False
    for owner, value in ((kind, kind.should_sample), (sampler, ABSENT)):  # type: ignore[attr-defined]  # it is a sampler
        if all(owner is not known for known, _, _ in facts):
            facts.append((owner, *SHOULD_SAMPLE, value))
    return True


def _decides_like(sampler: Any, kind: type, facts: list[Fact]) -> bool:
    """Whether the sampler decides as this class of stock, itself or by inheriting; then the facts are added."""
    if _is_exactly(sampler, kind, facts):
        return True
    fields, of_class = _READ[kind]
    own = type(sampler)
    names = (*SHOULD_SAMPLE, *of_class)
    if not inherits(sampler, kind, names) or any(name not in vars(sampler) or hasattr(own, name) for name in fields):
        return False
    facts += [fact for name in names for fact in ((own, name, getattr(own, name)), (sampler, name, ABSENT))]
    facts += [(sampler, name, vars(sampler)[name]) for name in fields]
    return True
