"""Starting a span: parent, sampling, ids. Plain Python; compiled as `start_c` with the types of its `.pxd`.

The steps and their order are those of `opentelemetry.sdk.trace.Tracer.start_span`. The tracer's `Plan`, made once, says
which of them its configuration allows to skip.
"""

from __future__ import annotations

from random import getrandbits
from types import MappingProxyType
from typing import TYPE_CHECKING

from opentelemetry.sdk import trace as _sdk_trace
from opentelemetry.sdk.trace.sampling import Decision, SamplingResult
from opentelemetry.trace import NonRecordingSpan, SpanKind
from opentelemetry.trace.propagation import get_current_span
from opentelemetry.trace.span import DEFAULT_TRACE_STATE, Span, SpanContext
from opentelemetry.trace.status import Status, StatusCode

from otel_fastpath.compiled.facts import Facts
from otel_fastpath.compiled.helpers import address, item, new_instance, read_clock
from otel_fastpath.patching.stock import as_defined
from otel_fastpath.trace.context.current_context import span_in
from otel_fastpath.trace.planning.plan import LazyAttributes, SpanStarter
from otel_fastpath.trace.planning.sampling import ASK, DROP, RATIO, RECORD_ONLY, SAMPLE
from otel_fastpath.trace.spans.attributes import LEAVE, clean_mapping, made
from otel_fastpath.trace.spans.ending import try_end_at_once
from otel_fastpath.trace.spans.identity import FLAGS, INVALID, Dropped, Identity
from otel_fastpath.trace.spans.links import keep_links
from otel_fastpath.trace.spans.recorded import SpanState
from otel_fastpath.trace.spans.span import is_context_known

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from opentelemetry.context import Context
    from opentelemetry.sdk.trace import Tracer
    from opentelemetry.trace import Link, TraceState
    from opentelemetry.util import types

    from otel_fastpath.trace.planning import plan as plans

    _Given = tuple[
        Tracer, str, Context | None, SpanKind, types.Attributes, Sequence[Link] | None, int | None, bool, bool
    ]
    _Asked = tuple[int, int, int, int, types.Attributes, TraceState, SpanContext | None, Callable[[], None] | None]
    _Parent = tuple[SpanContext | None, int | None, int, TraceState, int]


_sdk_globals = vars(_sdk_trace)
_UNSET = Status(StatusCode.UNSET)
_SERVER = SpanKind.SERVER
_CONSUMER = SpanKind.CONSUMER
# Indexed by the rules.
_DECISIONS = (None, Decision.DROP, Decision.RECORD_ONLY, Decision.RECORD_AND_SAMPLE)
# The two ids of a root span are drawn in one call. An id of zero is invalid; `Identity` then draws another.
_BOTH_IDS = 192
_64_BITS = (1 << 64) - 1
_128_BITS = (1 << 128) - 1
_DROP, _RECORD_ONLY, _SAMPLE = Decision.DROP, Decision.RECORD_ONLY, Decision.RECORD_AND_SAMPLE
_recording_facts = Facts([(_sdk_trace.Span, "is_recording", as_defined(_sdk_trace.Span, "is_recording"))])

# Returned by `start_span` instead of a span that would be dropped, if the caller has no use for one.
_GIVEN_UP = object()

# The function that `configure` was given.
_make_plan: list[Callable[[Tracer], plans.TracerPlan | None]] = []


def configure(make_plan: Callable[[Tracer], plans.TracerPlan | None]) -> None:
    """Set the function that makes a tracer's `Plan`; it is not part of the hot path."""
    _make_plan[:] = [make_plan]


def start_span(given: _Given, gives_up: bool = False, made: plans.TracerPlan | None = None) -> object:
    """Start a span as stock's `Tracer.start_span` does; None if stock's method must start it.

    Args:
        given: The tracer and the arguments of its `start_span`, in order; `LazyAttributes` have the name, too.
        gives_up: Whether to return `_GIVEN_UP` instead of a span that would be dropped.
        made: The plan, if it was made just now.
    """
    tracer, _, context, _, attributes, _, _, _, _ = given
    if (plan := made) is None:
        plan = getattr(tracer, "_otel_fastpath_plan", None)
        if plan is None or plan.owner != address(tracer):  # an object that delegates to a tracer finds its plan
            plan = _make_plan[0](tracer)
            if plan is None:
                return None
    outer = span_in(context)
    above = outer if isinstance(outer, Identity) and is_context_known() else None  # read without look-ups
    if outer is None:
        parent, trace_id, flags, state, rule = None, None, plan.random_flag, DEFAULT_TRACE_STATE, plan.root
    elif above is not None and above.trace_flags < INVALID:
        rule = plan.local_sampled if above.trace_flags & 1 else plan.local_not_sampled
        if gives_up and rule == DROP and not plan.asks and plan.sampling.hold():
            return _GIVEN_UP
        parent = Identity.span_context(above)
        trace_id, flags, state = item(parent, 0), above.trace_flags & ~1, above.trace_state
    else:
        found = _foreign_parent(plan, outer)
        if found is None:
            return None
        parent, trace_id, flags, state, rule = found
    if not (tracer._is_enabled() if plan.switch is None else plan.switch["is_enabled"]):
        return NonRecordingSpan(get_current_span(context).get_span_context())
    late, is_asked = None, plan.asks or rule <= ASK
    if attributes is not None and type(attributes) is not dict:
        late = attributes if isinstance(attributes, LazyAttributes) else None
        is_asked = is_asked or late is None
        if is_asked and late is not None:
            given, attributes, late = _make_late(given, late), late.attributes, None
    if rule == DROP and not plan.asks and plan.sampling.hold():
        if gives_up:
            return _GIVEN_UP
        is_asked = False
    elif made is None and (plan.is_stale or not plan.starting.hold()):
        return (made := _make_plan[0](tracer)) and start_span(given, gives_up, made)  # again: the old plan had the rule
    context_made = metrics = None
    if is_asked:
        asked = _ask(plan, given, parent, trace_id, flags, state, rule, gives_up)  # type: ignore[arg-type]  # item 0: id
        if asked is None:
            return None  # stock asks again, and raises what it does at this result
        trace_id, drawn, flags, rule, attributes, state, context_made, metrics = asked
    else:
        drawn = getrandbits(_BOTH_IDS) if trace_id is None else getrandbits(64) or plan.generator.generate_span_id()
        if rule >= RATIO:
            rule = _by_ratio(plan, rule, drawn if trace_id is None else trace_id)  # type: ignore[arg-type]  # likewise
        flags += int(rule == SAMPLE)
    identity = new_instance(plan.dropped_class if rule == DROP else plan.span_class)
    identity.trace, identity.drawn, identity.made_context = trace_id, drawn, context_made
    identity.trace_flags, identity.trace_state = flags, state
    return identity if rule == DROP else _start_span(identity, plan, given, attributes, late, parent, metrics)


def _with_own_attributes(given: _Given) -> _Given:
    """The arguments with a copy of the attributes."""
    tracer, name, context, kind, attributes, links, start, record_exception, set_status = given
    own = None if attributes is None else {**attributes}
    return tracer, name, context, kind, own, links, start, record_exception, set_status


def _make_late(given: _Given, late: plans.LazyAttributes) -> _Given:
    """The arguments with the name and the attributes in their places."""
    late.make()
    tracer, _, context, kind, _, links, start, record_exception, set_status = given
    return tracer, late.name, context, kind, late.attributes, links, start, record_exception, set_status  # type: ignore[return-value]  # `make` has set the name


def _start_span(
    span: SpanState,
    plan: plans.TracerPlan,
    given: _Given,
    attributes: types.Attributes,
    late: plans.LazyAttributes | None,
    parent: SpanContext | None,
    metrics: Callable[[], None] | None,
) -> SpanState:
    """Set the fields of the span, call the processors' `on_start`, and return the span."""
    _, span._name, context, kind, _, links, start, span._record_exception, span._set_status_on_exception = given
    if plan.served is not None and (kind is _SERVER or kind is _CONSUMER):
        plan = plan.served
    span.plan, span._kind, span._parent, span._record_end_metrics = plan, kind, parent, metrics
    span._resource, span._instrumentation_scope, span._status = plan.resource, plan.scope, _UNSET
    span.bounded_attributes = span.bounded_events = span.bounded_links = None
    span._end_time = span.event_store = span.link_store = span.lock = span.origin = None
    if attributes is None:
        kept = {}
    else:
        if late is not None:
            late.make()
            span._name, attributes = late.name, late.attributes  # type: ignore[assignment]  # `make` has set the name
        kept = clean_mapping(attributes, plan.max_value, plan.clean, plan.max_attributes)  # type: ignore[arg-type]  # likewise
    if kept is LEAVE or len(kept) > plan.max_attributes:
        span.attribute_store = {}
        span._bound_attributes(made(_proxied(attributes) if kept is LEAVE else kept, recording=True))  # type: ignore[arg-type, attr-defined]  # as stock has them, of the class that `span_classes` makes
    else:
        span.attribute_store = kept
    if links:
        keep_links(span, links)
    span._start_time = read_clock(_sdk_globals) if start is None else start
    for processor in plan.on_start:
        processor.on_start(span, parent_context=context)  # type: ignore[arg-type]  # a `_Span` by its class in `span_classes`
    return span


def plan_of(tracer: Tracer) -> plans.TracerPlan | None:
    """The tracer's plan, if it has one or can have one, and its facts hold."""
    plan = getattr(tracer, "_otel_fastpath_plan", None)
    if plan is None or plan.owner != address(tracer) or plan.is_stale or not plan.starting.hold():
        return _make_plan[0](tracer)
    return plan  # type: ignore[no-any-return]  # stored by the planner


def _by_ratio(plan: plans.TracerPlan, rule: int, trace_id: int) -> int:
    return SAMPLE if trace_id & _64_BITS < plan.bounds[rule - RATIO] else DROP


def _ask(
    plan: plans.TracerPlan,
    given: _Given,
    parent: SpanContext | None,
    trace_id: int | None,
    flags: int,
    state: TraceState,
    rule: int,
    shares: bool,
) -> _Asked | None:
    """Handle custom samplers and id generators, the SDK's own metrics, and attributes that stock may reject.

    Attributes that many calls of a wrapper have (`shares`) are copied for a sampler, which may add to them.

    Returns:
        The ids, the flags, the rule, the attributes, the trace state, the span context if a custom generator made the
        ids, and the function to call when the span ends. None if the sampler's result has no decision.
    """
    attributes = given[4]
    if trace_id is None:
        if plan.random_ids:
            trace_id = getrandbits(128) or plan.generator.generate_trace_id()
        else:
            trace_id = plan.generator.generate_trace_id()
            if flags and not plan.generator.is_trace_id_random():
                flags = 0
    if rule <= ASK:
        result = _ask_sampler(plan, rule, _with_own_attributes(given) if shares else given, trace_id)
        decision = getattr(result, "decision", None)
        # By identity: looking up a member of an enum calls its `__hash__`, a Python function.
        if decision is _SAMPLE:
            rule = SAMPLE
        elif decision is _DROP:
            rule = DROP
        elif decision is _RECORD_ONLY:
            rule = RECORD_ONLY
        else:
            return None
        state = result.trace_state or DEFAULT_TRACE_STATE
        if rule != DROP:
            attributes = result.attributes
    elif rule >= RATIO:
        rule = _by_ratio(plan, rule, trace_id)
    if rule != DROP and attributes is not None and type(attributes) is not dict:
        attributes = _proxied(attributes)
    if rule == SAMPLE:
        flags += 1
    own = None
    if plan.random_ids:
        span_id = getrandbits(64) or plan.generator.generate_span_id()
    else:
        span_id = plan.generator.generate_span_id()
        if not (_is_id(trace_id, _128_BITS) and _is_id(span_id, _64_BITS)):
            own = SpanContext(trace_id, span_id, is_remote=False, trace_flags=FLAGS[flags], trace_state=state)
            flags |= 0 if own[5] else INVALID
    metrics = None if plan.metrics is None else plan.metrics.start_span(parent, _DECISIONS[rule])  # type: ignore[arg-type]  # the rule is no longer `ASK`
    return trace_id, span_id, flags, rule, attributes, state, own, metrics


def _ask_sampler(plan: plans.TracerPlan, rule: int, given: _Given, trace_id: int) -> SamplingResult:
    """Ask the sampler, or the one that `ParentBased` would ask, as stock does."""
    _, name, context, kind, attributes, links, _, _, _ = given
    if rule == ASK:
        return plan.sampler.should_sample(context, trace_id, name, kind, attributes, links or ())
    return plan.delegates[~rule].should_sample(
        parent_context=context, trace_id=trace_id, name=name, kind=kind, attributes=attributes, links=links or ()
    )


def _is_id(value: object, most: int) -> bool:
    """Whether it is a valid id, so that the span context can be created on first use."""
    return type(value) is int and 0 < value <= most


class KeptSpans(SpanStarter):
    """Starts the spans of wrappers, except those that would be dropped."""

    __slots__ = ()

    def start(
        self, tracer: Tracer, name: str, kind: SpanKind, attributes: types.Attributes, start: int | None
    ) -> object:
        """See `SpanStarter`."""
        span = start_span((tracer, name, None, kind, attributes, (), start, True, True), gives_up=True)
        return None if span is _GIVEN_UP else NotImplemented if span is None else span

    def start_late(self, tracer: Tracer, kind: SpanKind, late: plans.LazyAttributes) -> object:
        """See `SpanStarter`."""
        span = start_span((tracer, "", None, kind, late, (), None, True, True))  # type: ignore[arg-type]  # see there
        return NotImplemented if span is None else span

    def emit(self, tracer: Tracer, name: str, kind: SpanKind, attributes: types.Attributes) -> object:
        """See `SpanStarter`."""
        span = start_span((tracer, name, None, kind, attributes, (), None, True, True), gives_up=True)
        if span is None or span is _GIVEN_UP:
            return NotImplemented if span is None else None
        if isinstance(span, SpanState) and _recording_facts.hold() and try_end_at_once(span):
            return True
        return span

    def drops(self, tracer: Tracer) -> bool:
        """See `SpanStarter`."""
        plan = getattr(tracer, "_otel_fastpath_plan", None)
        if plan is None or plan.owner != address(tracer) or plan.asks:
            return False
        outer = span_in(None)
        rule = plan.root
        if outer is not None:
            if not isinstance(outer, Identity):
                return False
            above = outer  # of the type that the compiled core reads without a look-up
            if above.trace_flags >= INVALID:
                return False
            rule = plan.local_sampled if above.trace_flags & 1 else plan.local_not_sampled
        return rule == DROP and is_context_known() and plan.sampling.hold()

    def drops_below(self, tracer: Tracer, span: object) -> bool:
        """See `SpanStarter`."""
        plan = getattr(tracer, "_otel_fastpath_plan", None)
        if plan is None or plan.owner != address(tracer) or not isinstance(span, Dropped):
            return False
        above = span
        return (
            not plan.asks
            and plan.local_not_sampled == DROP
            and above.trace_flags < INVALID
            and not above.trace_flags & 1
            and is_context_known()
            and plan.sampling.hold()
        )

    def is_recording(self, span: Span) -> bool:
        """See `SpanStarter`."""
        if isinstance(span, SpanState) and _recording_facts.hold():
            ours = span
            return ours._end_time is None
        return not isinstance(span, Dropped) and span.is_recording()


def _rule_below(plan: plans.TracerPlan, is_remote: bool, flags: int) -> int:
    """The rule for children of a span that this core did not make."""
    if is_remote:
        return plan.remote_sampled if flags & 1 else plan.remote_not_sampled
    return plan.local_sampled if flags & 1 else plan.local_not_sampled


def _foreign_parent(plan: plans.TracerPlan, outer: object) -> _Parent | None:
    """Read a parent span that this core did not make.

    Returns:
        Its span context, trace id, random flag, trace state, and the rule for its children; the values for a root if
        it is not a valid parent. None if stock must report what is wrong with it.
    """
    parent = outer.get_span_context() if isinstance(outer, Span) else None
    if parent is None:
        return None, None, plan.random_flag, DEFAULT_TRACE_STATE, plan.root
    if not isinstance(parent, SpanContext):
        return None
    trace_id, _, remote, flags, state, valid = parent
    if not valid:
        return None, None, plan.random_flag, DEFAULT_TRACE_STATE, plan.root
    return parent, trace_id, flags & plan.random_flag, state, _rule_below(plan, remote, flags)


def _proxied(attributes: types.Attributes) -> types.Attributes:
    """The attributes as stock's samplers return them; raises as they do if they are not a mapping."""
    if type(attributes) is MappingProxyType:
        return attributes
    return SamplingResult(Decision.RECORD_AND_SAMPLE, attributes).attributes
