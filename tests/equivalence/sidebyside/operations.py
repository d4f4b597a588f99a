"""What a program may do with spans: operations as plain data, and hypothesis strategies that draw them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from hypothesis import strategies as st
from opentelemetry.trace import SpanKind, StatusCode

from sidebyside import values
from sidebyside.errors import RAISERS
from sidebyside.pokes import POKES
from sidebyside.processors import PROCESSORS

START_ARGUMENTS = (
    "name",
    "context",
    "kind",
    "attributes",
    "links",
    "start_time",
    "record_exception",
    "set_status_on_exception",
)


@dataclass(frozen=True)
class Start:
    """Arguments of start_span: `given` by keyword, but for the first `positional` ones.

    A context is one of the names that `Interpreter.context` knows, or the number of a span; a link is a pair of such a
    context and attributes, or something that is no link.
    """

    name: Any = "a"
    given: dict[str, Any] = field(default_factory=dict)
    positional: int = 1


@dataclass(frozen=True)
class Op:
    """One step. `span` is the number of the span it is done to, in order of their starts."""

    do: str
    span: int = 0
    args: tuple[Any, ...] = ()
    kwargs: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Block:
    """Steps inside something that is entered and left.

    Attributes:
        do: "current": start_as_current_span; "plain": `with start_span()`; "use": use_span; "attach": attach, detach.
        body: The steps.
        start: For the first two.
        span: For "use" and "attach".
        flags: Keyword arguments.
        caught: Whether an exception stops here.
    """

    do: str
    body: tuple[Any, ...] = ()
    start: Start = field(default_factory=Start)
    span: int = 0
    flags: dict[str, Any] = field(default_factory=dict)
    caught: bool = True


@dataclass(frozen=True)
class Raise:
    """Raise what the function of this name in `errors` raises."""

    what: str


_spans = st.integers(-3, 3)
_flags = st.booleans()
contexts = st.one_of(
    st.none(),
    st.none(),
    _spans,
    st.sampled_from(
        [
            "empty",
            "remote sampled",
            "remote not sampled",
            "remote random",
            "invalid",
            "no span",
            "not a context",
            "with value",
        ]
    ),
)
_links = st.lists(
    st.one_of(
        st.tuples(
            st.one_of(_spans, st.sampled_from(["remote sampled", "invalid", "invalid with state", "none"])),
            st.one_of(st.none(), values.mappings),
        ),
        st.sampled_from([None, "not a link"]),
    ),
    max_size=3,
)
_arguments: dict[str, st.SearchStrategy[Any]] = {
    "context": contexts,
    "kind": st.sampled_from([*SpanKind, None]),
    "attributes": values.attributes,
    "links": st.one_of(st.none(), _links),
    "start_time": values.times,
    "record_exception": _flags,
    "set_status_on_exception": _flags,
}


@st.composite
def starts(draw: Any) -> Start:
    """Arguments of start_span, some of them by position."""
    given = {name: draw(argument) for name, argument in _arguments.items() if draw(st.integers(0, 3)) == 0}
    positional = draw(st.sampled_from([0, 1, 1, 1, 1, 2, 4, 8]))
    return Start(draw(values.names), given, positional)


def _calls(do: str, *choices: st.SearchStrategy[tuple[Any, dict[str, Any]]]) -> st.SearchStrategy[Op]:
    return st.tuples(_spans, st.one_of(*choices)).map(lambda drawn: Op(do, drawn[0], *drawn[1]))


def _args(*strategies: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.tuples(st.tuples(*strategies), st.just({}))


def _kwargs(**strategies: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.tuples(st.just(()), st.fixed_dictionaries(strategies))


_any_key = st.one_of(values.keys, values.keys, values.keys, values.odd_keys)
_codes = st.sampled_from(list(StatusCode))
_statuses = st.builds(lambda code, text: ("status", code, text), _codes, values.descriptions)

# Method calls on a span; `Interpreter.call` makes the arguments from their descriptions.
_all_common = st.one_of(
    _calls("set_attribute", _args(_any_key, values.values), _kwargs(key=values.keys, value=values.values)),
    _calls("set_attributes", _args(values.mappings), _args(values.attributes), _kwargs(attributes=values.mappings)),
    _calls(
        "add_event",
        _args(values.names),
        _args(values.names, values.attributes),
        _args(values.names, values.attributes, values.times),
        _kwargs(name=values.names, attributes=values.attributes, timestamp=values.times),
    ),
    _calls("update_name", _args(values.names)),
    _calls("set_status", _args(_codes), _args(_codes, values.descriptions), _args(_statuses)),
    _calls("record_exception", _args(st.sampled_from(sorted(RAISERS)))),
    _calls("end", _args(), _args(), _kwargs(end_time=values.times)),
)
_common = values.short(_all_common)
_all_rare = st.one_of(
    _calls("add_link", _args(contexts, st.one_of(st.none(), values.mappings)), _kwargs(context=contexts)),
    _calls(
        "set_status",
        _args(_statuses, values.descriptions),
        _args(st.sampled_from([None, "ERROR", 2, True])),
        _kwargs(status=_codes, description=values.descriptions),
    ),
    _calls(
        "record_exception",
        _args(st.sampled_from(sorted(RAISERS)), values.attributes, values.times, _flags),
        _kwargs(
            exception=st.sampled_from(["new", "text", *sorted(RAISERS)]),
            attributes=values.attributes,
            escaped=_flags,
        ),
    ),
    _calls("start", _args(), _args(values.times)),
    _calls("is_recording", _args()),
    _calls("get_span_context", _args()),
    _calls("__enter__", _args()),
)
_rare = values.short(_all_rare)
_PUBLIC = "name context kind parent start_time end_time status attributes events links resource instrumentation_scope"
_MORE = "instrumentation_info dropped_attributes dropped_events dropped_links __class__ made_up"
_PRIVATE = "_attributes _events _links _name _status _start_time _end_time _context _parent _kind _resource _limits"
_INNER = "_sampler _span_processor _trace_config _instrumentation_scope _instrumentation_info _record_exception"
READS = f"{_PUBLIC} {_MORE} {_PRIVATE} {_INNER} _set_status_on_exception".split()
_elsewhere = st.one_of(
    st.builds(lambda name: Op("processor", args=(name,)), st.sampled_from(sorted(PROCESSORS))),
    st.builds(lambda on: Op("enabled", args=(on,)), _flags),
    st.builds(lambda name: Op("get_tracer", args=(name,)), st.sampled_from(["scope", "other", ""])),
    st.sampled_from([Op("flush"), Op("shutdown"), Op("current"), Op("current"), Op("swap sampler"), Op("swap limits")]),
)
_reads = st.builds(lambda span, name: Op("read", span, (name,)), _spans, st.sampled_from(READS))
_pokes = st.builds(lambda span, what: Op("poke", span, (what,)), _spans, st.sampled_from(sorted(POKES)))
_starts = st.builds(lambda start: Op("start_span", args=(start,)), starts())
_raises = st.builds(Raise, st.sampled_from(sorted(RAISERS)))
# What is usual comes more often than what is odd.
_steps = st.one_of(
    *[_common] * 6, _rare, _rare, *map(values.short, (_starts, _starts, _reads, _pokes, _elsewhere, _raises))
)
_block_flags = st.fixed_dictionaries(
    {}, optional={"record_exception": _flags, "set_status_on_exception": _flags, "end_on_exit": _flags}
)


def _blocks(steps: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    bodies = st.lists(steps, max_size=6).map(tuple)
    return st.one_of(
        st.builds(
            Block,
            do=st.sampled_from(["current", "current", "current", "plain", "decorated", "decorated async", "generator"]),
            body=bodies,
            start=starts(),
            caught=_flags,
            flags=st.fixed_dictionaries({}, optional={"end_on_exit": _flags}),
        ),
        st.builds(
            Block,
            do=st.sampled_from(["use", "use", "decorated use"]),
            body=bodies,
            span=_spans,
            caught=_flags,
            flags=_block_flags,
        ),
        st.builds(Block, do=st.just("attach"), body=bodies, span=_spans, caught=_flags),
    )


_simple_steps = values.short(_steps)
_nested_steps = st.recursive(_simple_steps, lambda inner: st.one_of(inner, _blocks(inner)), max_leaves=10)
_any_steps = st.one_of(_simple_steps, _simple_steps, values.short(_nested_steps), _blocks(_simple_steps))
_bodies = st.one_of(
    st.lists(values.short(_any_steps), max_size=8), st.lists(values.short(_any_steps), min_size=8, max_size=30)
)
programs = st.tuples(st.lists(values.short(_starts), max_size=2), _bodies).map(lambda parts: (*parts[0], *parts[1]))
