"""Starting a span: parent, sampling, ids. Plain Python; compiled as `start_c` with the types of its `.pxd`.

The steps and their order are those of `opentelemetry.sdk.trace.Tracer.start_span`. What the tracer's configuration
allows to leave out was worked out before, as its `Plan`.
"""

from __future__ import annotations

import contextvars
from random import getrandbits
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from opentelemetry import context as _context_api
from opentelemetry.context.context import Context
from opentelemetry.context.contextvars_context import ContextVarsRuntimeContext
from opentelemetry.sdk import trace as _sdk_trace
from opentelemetry.sdk.trace.sampling import Decision, SamplingResult
from opentelemetry.trace import NonRecordingSpan, SpanKind
from opentelemetry.trace.propagation import _SPAN_KEY, get_current_span
from opentelemetry.trace.span import DEFAULT_TRACE_STATE, Span, SpanContext
from opentelemetry.trace.status import Status, StatusCode

from otel_fastpath.trace.attributes import LEAVE, clean_mapping, made
from otel_fastpath.trace.identity import FLAGS, INVALID, Identity
from otel_fastpath.trace.plan import Spans
from otel_fastpath.trace.sampling import ASK, DROP, RATIO, RECORD_ONLY, SAMPLE

if TYPE_CHECKING:
    from otel_fastpath.compiled.capi import *

# In the compiled twin COMPILED is a constant 1 of `compiled/capi.pxd`, which also defines the c_ functions.
globals().setdefault("COMPILED", False)

# The current context's variable, read directly where the runtime context is upstream's own.
_context_globals = vars(_context_api)
_is_plain = type(_context_api._RUNTIME_CONTEXT) is ContextVarsRuntimeContext
_runtime: Any = _context_api._RUNTIME_CONTEXT if _is_plain else object()
_variable: Any = _context_api._RUNTIME_CONTEXT._current_context if _is_plain else None
# The context of who has made none current.
_OUTERMOST = contextvars.Context().run(_variable.get) if _is_plain else None
_sdk_globals = vars(_sdk_trace)
_now = _sdk_trace.time_ns
_get: Any = dict.get
_UNSET = Status(StatusCode.UNSET)
_SERVER = SpanKind.SERVER
_CONSUMER = SpanKind.CONSUMER
# Indexed by the rules.
_DECISIONS = (None, Decision.DROP, Decision.RECORD_ONLY, Decision.RECORD_AND_SAMPLE)
# A root's two ids are drawn at once. Zero is invalid; the generator itself knows what to do then.
_BOTH_IDS = 192
_RULES = {Decision.DROP: DROP, Decision.RECORD_ONLY: RECORD_ONLY, Decision.RECORD_AND_SAMPLE: SAMPLE}

# What `start_span` returns for a span that would be dropped whatever it is, to who has no use for it.
_GIVEN_UP = object()

_make_plan: Any = None


def configure(make_plan: Any) -> None:
    """Give the module what is not hot: how a tracer's `Plan` is made."""
    global _make_plan
    _make_plan = make_plan


def start_span(
    tracer: Any,
    name: Any,
    context: Any,
    kind: Any,
    attributes: Any,
    links: Any,
    start: Any,
    records: Any,
    sets: Any,
    gives_up: Any = False,
) -> Any:
    """Start a span as upstream's `Tracer.start_span` does; None where that must.

    Who gives up has no use for a span that is dropped, and gets `_GIVEN_UP` for it. One flat function, longer than all
    others: in the pure core each call of another would be 500 instructions more, 2 % of a span.
    """
    if COMPILED:
        plan = _plan_of(tracer)
        if plan is None:
            return None
        outer = _outer_span(context)
        is_on = _is_on(plan, tracer)
    else:
        # The same, without the calls.
        try:
            plan = tracer._otel_fastpath_plan
        except AttributeError:
            plan = None
        # What delegates to a tracer has found that tracer's plan.
        if plan is None or plan.tracer_class is not type(tracer):
            plan = _make_plan(tracer)
            if plan is None:
                return None
        if context is None and _context_api._RUNTIME_CONTEXT is _runtime:
            current = _variable.get()
            outer = None if current is _OUTERMOST else _get(current, _SPAN_KEY)
        else:
            outer = _outer_span(context)
        is_on = _is_on(plan, tracer) if plan.switch is None else plan.switch["is_enabled"]
    parent = trace_id = own = metrics = None
    if outer is None:
        flags, rule, state = plan.random_flag, plan.root, DEFAULT_TRACE_STATE
    else:
        above: Any = outer if isinstance(outer, Identity) else None  # read without look-ups
        if above is None or above.trace_flags >= INVALID:
            if above is None and gives_up and not plan.asks and _is_dropped_below(plan, outer):
                return _GIVEN_UP
            found = _foreign_parent(plan, outer)
            if found is None:
                return None
            parent, trace_id, flags, state, rule = found
        else:
            rule = plan.local_sampled if above.trace_flags & 1 else plan.local_not_sampled
            if rule == DROP and gives_up and not plan.asks:
                return _GIVEN_UP
            parent = above.made_context or Identity.get_span_context(above)
            trace_id = c_item(parent, 0) if COMPILED else parent[0]
            state, flags = above.trace_state, above.trace_flags & ~1  # left: whether the trace id is random
    if not is_on:
        return NonRecordingSpan(get_current_span(context).get_span_context())
    if rule == DROP and not plan.asks:
        if gives_up:
            return _GIVEN_UP
        span_id = getrandbits(_BOTH_IDS) if trace_id is None else getrandbits(64) or plan.generator.generate_span_id()
    else:
        processors = plan.processor_state["_span_processors"]
        if processors is not plan.processors:
            plan = _make_plan(tracer)  # processors were added
            if plan is None:
                return None
        if rule == ASK or plan.asks or (attributes is not None and type(attributes) is not dict):
            asked = _asked(plan, name, context, kind, attributes, links, parent, trace_id, flags, state, rule)
            trace_id, span_id, flags, rule, attributes, state, own, metrics = asked
        else:
            span_id = (
                getrandbits(_BOTH_IDS) if trace_id is None else getrandbits(64) or plan.generator.generate_span_id()
            )
            if rule >= RATIO:
                rule = _by_ratio(plan, rule, span_id if trace_id is None else trace_id)
            if rule == SAMPLE:
                flags += 1

    if rule == DROP:
        known = c_new_instance(plan.dropped_class) if COMPILED else plan.dropped_class()
        known.trace = trace_id
        known.drawn = span_id
        known.trace_flags = flags
        known.trace_state = state
        known.made_context = own
        return known

    if not COMPILED:
        span = plan.span_class()
        if start is None:
            start = _sdk_trace.time_ns()
    else:
        span = c_new_instance(plan.span_class)
        if start is None:
            start = c_now() if c_is_global(_sdk_globals, "time_ns", _now) else _sdk_trace.time_ns()
    span.trace = trace_id
    span.drawn = span_id
    span.trace_flags = flags
    span.trace_state = state
    span.made_context = own
    span._name = name
    span._parent = parent
    span._record_exception = records
    span._set_status_on_exception = sets
    if plan.served is not None and (kind is _SERVER or kind is _CONSUMER):
        plan = plan.served
    span.plan = plan
    span._kind = kind
    span._record_end_metrics = metrics
    span._resource = plan.resource
    span._instrumentation_scope = plan.scope
    span._status = _UNSET
    span._end_time = None
    span.bounded_attributes = None
    span.bounded_events = None
    span.bounded_links = None
    span.event_store = None
    span.lock = None
    if attributes is None:
        span.attribute_store = {}
    else:
        kept = clean_mapping(attributes, plan.max_value, plan.clean, plan.max_attributes)
        if kept is LEAVE:
            span.attribute_store = {}
            span._bound_attributes(made(_proxied(attributes), recording=True))
        elif len(kept) > plan.max_attributes:
            span.attribute_store = {}
            span._bound_attributes(made(kept, recording=True))
        else:
            span.attribute_store = kept
    if links:
        span.bounded_links = span._new_links(links)
    span._start_time = start
    if plan.starts:
        plan.processor.on_start(span, parent_context=context)
    return span


def _by_ratio(plan: Any, rule: Any, trace_id: Any) -> Any:
    return SAMPLE if _low_64_bits(trace_id) < plan.bounds[rule - RATIO] else DROP


def _asked(
    plan: Any,
    name: Any,
    context: Any,
    kind: Any,
    attributes: Any,
    links: Any,
    parent: Any,
    trace_id: Any,
    flags: Any,
    state: Any,
    rule: Any,
) -> Any:
    """Ask a sampler or a generator of the user's own, or for attributes that upstream may refuse.

    Returns:
        The ids, the flags, the rule, the attributes, the trace state, the span context where the ids are the user's,
        and what is to be called when the span ends.
    """
    if trace_id is None:
        if plan.random_ids:
            trace_id = getrandbits(128) or plan.generator.generate_trace_id()
        else:
            trace_id = plan.generator.generate_trace_id()
            if flags and not plan.generator.is_trace_id_random():
                flags = 0
    if rule == ASK:
        result = plan.sampler.should_sample(context, trace_id, name, kind, attributes, links or ())
        rule, attributes, state = _RULES[result.decision], result.attributes, result.trace_state or DEFAULT_TRACE_STATE
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
        own = SpanContext(trace_id, span_id, is_remote=False, trace_flags=FLAGS[flags], trace_state=state)
        if not own[5]:
            flags |= INVALID
    metrics = None if plan.metrics is None else plan.metrics.start_span(parent, _DECISIONS[rule])
    return trace_id, span_id, flags, rule, attributes, state, own, metrics


class KeptSpans(Spans):
    """What wrappers start: no span that would be dropped."""

    __slots__ = ()

    def start(self, tracer: Any, name: Any, kind: Any, attributes: Any, start: Any) -> Any:
        """See `Spans`."""
        span = start_span(tracer, name, None, kind, attributes, (), start, True, True, True)  # noqa: FBT003  # as upstream
        return None if span is _GIVEN_UP else NotImplemented if span is None else span


def _is_dropped_below(plan: Any, outer: Any) -> bool:
    """Whether children of a span that is not of this core are dropped; False: not for certain."""
    if type(outer) is not NonRecordingSpan:
        return False
    found = outer._context
    if type(found) is not SpanContext or not found[5]:
        return False
    if found[2]:
        return (plan.remote_sampled if found[3] & 1 else plan.remote_not_sampled) == DROP  # type: ignore[no-any-return]
    return (plan.local_sampled if found[3] & 1 else plan.local_not_sampled) == DROP  # type: ignore[no-any-return]


def _plan_of(tracer: Any) -> Any:
    """The tracer's plan; None where upstream must start the span."""
    try:
        plan = tracer._otel_fastpath_plan
    except AttributeError:
        return _make_plan(tracer)
    # What delegates to a tracer has found that tracer's plan.
    return plan if plan.tracer_class is type(tracer) else _make_plan(tracer)


def _is_on(plan: Any, tracer: Any) -> Any:
    """Whether the tracer was not disabled."""
    if plan.switch is None:
        return tracer._is_enabled()
    return plan.switch["is_enabled"]


def _outer_span(context: Any) -> Any:
    """What the context (None: the current one) has as its span, or None."""
    if COMPILED:
        if context is None and c_is_global(_context_globals, "_RUNTIME_CONTEXT", _runtime):
            return c_current(_variable, _SPAN_KEY)
    elif context is None and _context_api._RUNTIME_CONTEXT is _runtime:
        return _variable.get().get(_SPAN_KEY)
    if type(context) is Context:
        return context.get(_SPAN_KEY)
    return get_current_span(context)


def _foreign_parent(plan: Any, outer: Any) -> Any:
    """What follows from a span that is not of this core.

    Returns:
        Its span context, trace id, random flag, trace state, and the rule for its children, or for a root where it is
        no valid parent. None where upstream must say what is wrong with it.
    """
    parent = outer.get_span_context() if isinstance(outer, Span) else None
    if parent is None:
        return None, None, plan.random_flag, DEFAULT_TRACE_STATE, plan.root
    if not isinstance(parent, SpanContext):
        return None
    trace_id, _, remote, flags, state, valid = parent
    if not valid:
        return None, None, plan.random_flag, DEFAULT_TRACE_STATE, plan.root
    if remote:
        rule = plan.remote_sampled if flags & 1 else plan.remote_not_sampled
    else:
        rule = plan.local_sampled if flags & 1 else plan.local_not_sampled
    return parent, trace_id, flags & plan.random_flag, state, rule


def _proxied(attributes: Any) -> Any:
    """The attributes as upstream's samplers give them back; raises as they do for what is no mapping."""
    if type(attributes) is MappingProxyType:
        return attributes
    return SamplingResult(Decision.RECORD_AND_SAMPLE, attributes).attributes


def _low_64_bits(trace_id: Any) -> Any:
    return c_low_64_bits(trace_id) if COMPILED else trace_id & 0xFFFFFFFFFFFFFFFF
