"""Says which way the spans of each tracer take, and why. For the status only: nothing here runs for a span."""

from __future__ import annotations

import inspect
from types import ModuleType, SimpleNamespace
from typing import TYPE_CHECKING, Any, Final

from opentelemetry import trace as trace_api
from opentelemetry.sdk.trace import ReadableSpan, Span, Tracer, _Span

from otel_fastpath.compiled.facts import is_true
from otel_fastpath.patching.instrumentor_report import TracerStatus
from otel_fastpath.patching.sources.origin import origin
from otel_fastpath.patching.stock import definer
from otel_fastpath.patching.swapping.swap import is_in_force, seen_through
from otel_fastpath.trace.planning.sampling import ASK
from otel_fastpath.trace.planning.tracer_planner import PLAN
from otel_fastpath.trace.stock_sources import CONTEXT_MANAGERS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from otel_fastpath.trace.planning.tracer_planner import TracerPlanner

_HERE, _STOCK = "otel-fastpath", "OpenTelemetry"
_LEFT: Final = f"{_STOCK} starts the spans: the source of Tracer.start_span is not known. They are recorded here."
_HOOKS: Final = ("on_start", "_on_ending", "on_end")
_GENERATES: Final = ("generate_span_id", "generate_trace_id", "is_trace_id_random")
# Fields of a plan -> the spans whose sampling they decide.
_SPANS: Final = {
    "root": "root spans",
    "remote_sampled": "children of sampled remote spans",
    "remote_not_sampled": "children of remote spans that are not sampled",
    "local_sampled": "children of sampled spans",
    "local_not_sampled": "children of spans that are not sampled",
}
# The modules whose decorators stock's source has. Since Python 3.14, `warnings.deprecated` is in `_py_warnings`.
_DECORATORS: Final = CONTEXT_MANAGERS | {"typing_extensions", "warnings", "_py_warnings", "deprecated.classic"}


def ways(planner: TracerPlanner) -> list[TracerStatus]:
    """The way of the spans of each tracer that has started some; tracers with the same way are one entry."""
    planned, refused, starting = planner.seen()
    methods = tuple(_replaced_methods())
    general = _why_none(starting)
    groups: dict[Any, tuple[TracerStatus, set[str]]] = {}
    for tracer in [*planned, *refused]:
        served_by, parts = _way(planner, tracer, general)
        parts["methods"] = methods or ("Nobody has replaced a method of Tracer, Span or ReadableSpan.",)
        way = TracerStatus(_provider(tracer), (), served_by, parts)
        key = (id(getattr(tracer, "span_processor", None)), way.provider, served_by, tuple(parts.items()))
        groups.setdefault(key, (way, set()))[1].add(_name(tracer))
    if general and not groups:
        return [TracerStatus("every provider", (), _STOCK, {"start": (general,), "methods": methods})]
    found = [
        TracerStatus(way.provider, tuple(sorted(names)), way.served_by, way.parts) for way, names in groups.values()
    ]
    return sorted(found, key=lambda way: (way.provider, way.tracers))


def _way(planner: TracerPlanner, tracer: Any, general: str) -> tuple[str, dict[str, tuple[str, ...]]]:
    """Who starts this tracer's spans (otel-fastpath or the SDK), and a description of each stage."""
    why = general or planner.why_refused(tracer)
    plan = None if why else vars(tracer).get(PLAN)
    if not why and (plan is None or not is_true(plan.starting)):
        # As the next span would.
        plan = planner.make_plan(tracer)
    if plan is None:
        why = why or f"{_STOCK} starts the spans: the tracer's configuration could not be read, see the log."
        return _STOCK, {"start": (why if why.endswith(".") else f"{_STOCK} starts the spans: {why}.",)}
    if planner.leaves_start:
        return _STOCK, {"start": (_LEFT,), "processors": (_ended(plan),)}
    return _HERE, {"start": tuple(stages_of_start(plan, tracer)), "processors": tuple(_processors(plan))}


def _why_none(starting: Any) -> str:
    """Why no tracer can have a plan, or an empty string."""
    start = vars(Tracer).get("start_span")
    if not is_in_force(start):
        whose = origin(start)
        told = "is not patched" if _is_stock(Tracer, start) else f"was replaced by {whose}"
        return f"{_STOCK} starts the spans: Tracer.start_span {told}."
    broken = _broken(starting)
    return f"{_STOCK} starts the spans: {broken}." if broken else ""


def _broken(facts: Any) -> str:
    """What no longer holds."""
    for owner, name, value in facts.items:
        if not is_true(SimpleNamespace(items=((owner, name, value),), is_complete=False)):  # type: ignore[arg-type]  # all that it reads
            shown = owner if isinstance(owner, (type, ModuleType)) else type(owner)
            return f"{(definer(shown, name) or shown).__name__}.{name} was replaced by {origin(_raw(shown, name))}"
    return ""


def stages_of_start(plan: Any, tracer: Any) -> Iterator[str]:
    """Describe what a span meets until it is started."""
    kind = type(plan.sampler)
    name = "should_sample"
    spans: dict[int, list[str]] = {}
    for field, shown in _SPANS.items():
        spans.setdefault(getattr(plan, field), []).append(shown)
    if spans.keys() == {ASK}:
        yield f"{kind.__name__}.{name} is called for every span{_which(plan.sampler, name)}."
    else:
        yield f"{kind.__name__}.{name} is not called: its rule is applied here."
    for rule, which in spans.items():
        if rule < ASK:
            yield f"{_hook(plan.delegates[~rule], name)} is called for {_listed(which)}."
    generator = type(plan.generator).__name__
    if plan.random_ids:
        yield f"Ids are drawn here, as {generator} does."
    else:
        whose = next(filter(None, (_which(plan.generator, each) for each in _GENERATES)), "")
        yield f"{generator} is called for each id{whose}."
    if plan.metrics is not None:
        yield "The SDK's own metrics are recorded for every span."
    if plan.config is None and "_tracer_config" in vars(tracer):
        yield f"Tracer._is_enabled is called for every span{_which(tracer, '_is_enabled')}."


def _processors(plan: Any) -> Iterator[str]:
    plans = [plan] if plan.served is None else [plan, plan.served]
    root = plan.processor
    passed_on = next((value for owner, name, value in plans[-1].starting.items if name == "_span_processors"), None)
    processors: Any = (root,) if passed_on is None else passed_on
    if not processors:
        yield "There are no processors."
    for processor in processors:
        yield from _processor(processor, plans)
    ordinary = _ended(plan)
    yield ordinary
    if plan.served is not None and _ended(plan.served) != ordinary:
        yield f"Server and consumer spans: {_ended(plan.served)}"


def _processor(processor: Any, plans: list[Any]) -> Iterator[str]:
    """What of the processor is called, and what not."""
    first, plan = plans[0], plans[-1]
    # Otherwise what follows the start is stock's.
    hooks = _HOOKS if is_true(plan.ending) else _HOOKS[:1]
    used = {hook: any(_is_for(processor, each) for each in _called(plan, hook)) for hook in hooks}
    is_queued = used.get("on_end", False) and any(_is_batch_of(processor, each) for each in plan.on_end)
    called = [hook for hook in hooks if used[hook] and not (is_queued and hook == "on_end")]
    idle = [hook for hook in hooks if not used[hook]]
    parts = ["ended spans are queued without calling on_end"] if is_queued else []
    if called:
        whose = _listed([f"{hook}{_which(processor, hook)}" for hook in called])
        parts.append(f"{whose} {'is' if len(called) == 1 else 'are'} called")
    if idle:
        verb = "does nothing and is" if len(idle) == 1 else "do nothing and are"
        parts.append(f"{_listed(idle)} {verb} not called")
    is_in_both = first is plan or any(_is_for(processor, each) for hook in hooks for each in _called(first, hook))
    only = "" if is_in_both else ", for server and consumer spans only"
    yield f"{type(processor).__name__}{only}: {'; '.join(parts)}."


def _called(plan: Any, hook: str) -> tuple[Any, ...]:
    """Whose hook of this name the plan calls."""
    called: tuple[Any, ...] = getattr(plan, hook.lstrip("_"))
    return called


def _is_for(processor: Any, receiver: Any) -> bool:
    """Whether what a plan calls is this processor, or stands for it."""
    return receiver is processor or _is_batch_of(processor, receiver)


def _ended(plan: Any) -> str:
    """How ended spans reach the processors."""
    broken = _broken(plan.ending)
    if broken:
        return f"Spans are ended as {_STOCK} does: {broken}."
    if not plan.on_end:
        return "No processor handles ended spans."
    if plan.only_batches:
        return "Spans are queued as they are."
    because = [each for each in plan.on_end if not _is_batch(each)]
    return f"Spans are copied because of {_listed([_hook(each, 'on_end') for each in because])}."


def _hook(processor: Any, name: str) -> str:
    return f"{type(processor).__name__}.{name}{_which(processor, name)}"


def _which(owner: Any, name: str) -> str:
    """A clause that says whose this method is, if it is not that of its class."""
    if name in getattr(owner, "__dict__", {}):
        return f", which was set on the object by {origin(vars(owner)[name])}"
    place = definer(type(owner), name)
    raw = None if place is None else _raw(place, name)
    # Older releases of OpenTelemetry do not have every method.
    if raw is None or is_in_force(raw) or _is_stock(place, raw):
        return ""
    return f", which was replaced by {origin(raw)}"


def _replaced_methods() -> Iterator[str]:
    """The methods of stock's spans and tracers that are somebody else's."""
    for owner in (Tracer, _Span, Span, ReadableSpan):
        for name, raw in tuple(vars(owner).items()):
            if not _is_method(raw) or _is_stock(owner, raw):
                continue
            place = f"{owner.__name__.lstrip('_')}.{name}"
            if not is_in_force(raw):
                yield f"{place} was replaced by {origin(raw)}."
            elif not _is_ours(raw):
                yield f"{place} was wrapped by {origin(raw)}, which calls the one of otel-fastpath."


def _is_ours(raw: Any) -> bool:
    return origin(raw).partition(".")[0] == __name__.partition(".")[0]


def _is_method(raw: Any) -> bool:
    return callable(raw) or isinstance(raw, (property, staticmethod, classmethod))


def _is_stock(owner: type, raw: Any) -> bool:
    """Whether the function is from the module of its class, or from a decorator that stock's source has."""
    # Also below a replacement of ours that is inert.
    return isinstance(raw, type) or origin(seen_through(raw)) in {owner.__module__, *_DECORATORS}


def _is_batch(receiver: Any) -> bool:
    return type(receiver).__name__ == "ProcessorQueue" and type(receiver).__module__.startswith(f"{__package__}.")


def _is_batch_of(processor: Any, receiver: Any) -> bool:
    inner = getattr(processor, "__dict__", {}).get("_batch_processor")
    return _is_batch(receiver) and receiver.processor is inner


def _raw(owner: Any, name: str) -> Any:
    return inspect.getattr_static(owner, name, None)


def _listed(names: list[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def _name(tracer: Any) -> str:
    return str(getattr(getattr(tracer, "_instrumentation_scope", None), "name", "") or type(tracer).__name__)


def _provider(tracer: Any) -> str:
    """The name of the service, and whether the provider is the global one."""
    attributes = getattr(getattr(tracer, "resource", None), "attributes", None) or {}
    service = attributes.get("service.name", "unknown service")
    current = getattr(trace_api._TRACER_PROVIDER, "_active_span_processor", None)
    is_global = current is not None and current is getattr(tracer, "span_processor", None)
    return f"{service}, {'the global provider' if is_global else 'another provider'}"
