"""Random programs of Celery's tasks: what is sent, what tasks do, and how telemetry is set up."""

# ruff: noqa: ARG002, D102, D105  # methods and tasks are named after the steps of a program

from __future__ import annotations

import datetime as dt

from hypothesis import strategies as st
from opentelemetry.baggage.propagation import W3CBaggagePropagator
from opentelemetry.propagators.b3 import B3MultiFormat
from opentelemetry.propagators.composite import CompositePropagator
from opentelemetry.propagators.textmap import TextMapPropagator
from opentelemetry.sdk.trace.sampling import ALWAYS_OFF
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

PARENT = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"


class Odd:
    """A value that nothing knows."""

    def __repr__(self):
        return "odd"


class Broken:
    """A value without a text."""

    def __repr__(self):
        raise LookupError("the application's")


class Queue:
    """As kombu's."""

    def __init__(self, kind):
        self.exchange = type("Exchange", (), {"type": kind})


class Headers(dict):
    """An application's own."""


class OwnPropagator(TextMapPropagator):
    """An application's own, with one key; it fails where that is "fail"."""

    def extract(self, carrier, context=None, getter=None):
        found = getter.get(carrier, "own")
        if found == ["fail"]:
            raise LookupError("the application's")
        return TraceContextTextMapPropagator().extract({"traceparent": found[0]} if found else {}, context)

    def inject(self, carrier, context=None, setter=None):
        headers = {}
        TraceContextTextMapPropagator().inject(headers, context)
        carrier["own"] = headers.get("traceparent", "none")

    @property
    def fields(self):
        return {"own"}


PROPAGATORS = {
    "usual": lambda: CompositePropagator([TraceContextTextMapPropagator(), W3CBaggagePropagator()]),
    "one": TraceContextTextMapPropagator,
    "b3": B3MultiFormat,
    "own": OwnPropagator,
    "baggage first": lambda: CompositePropagator([W3CBaggagePropagator(), TraceContextTextMapPropagator()]),
}
VALUES = (
    None,
    "",
    "text",
    "\u00e4\ud83d\ude00",
    0,
    7,
    0.5,
    True,
    [],
    [1, 2],
    (),
    {},
    {"a": 1},
    [1, "a"],
    "odd",
    "date",
)
KINDS = ("direct", "topic", "fanout", 5)
FIELDS = {
    "delivery_info": (
        {"exchange": "", "routing_key": "celery", "priority": 0},
        {"routing_key": None},
        {"routing_key": 5},
        {"routing_key": "odd"},
        {"broken": "broken"},
        *VALUES,
    ),
    "timelimit": (
        [None, None],
        (None, None),
        [30, None],
        (None, 1.5),
        [1, 2],
        [None],
        [None, "a"],
        [None, "odd"],
        *VALUES,
    ),
    "retries": (0, 1, False, 0.0, "0", *VALUES),
    "traceparent": (PARENT, PARENT[:-1] + "0", PARENT.upper(), [PARENT], "00-0", *VALUES),
    "tracestate": ("a=1", "", 5),
    "baggage": ("user=ann", "", 5),
    "own": (PARENT, "fail"),
    "x-b3-traceid": ("0af7651916cd43dd8448eb211c80319c",),
    "x-b3-spanid": ("b7ad6b7169203331",),
    "declare": VALUES,
    **dict.fromkeys(("hostname", "origin", "reply_to", "correlation_id", "eta", "expires", "priority"), VALUES),
    **dict.fromkeys(("compression", "countdown", "exchange", "queue", "routing_key", "serializer", "state"), VALUES),
}
REQUESTS = st.dictionaries(st.sampled_from(sorted(FIELDS)), st.integers(0, 40), max_size=5)
NAMES = (
    "add",
    "fail",
    "odd_error",
    "expected",
    "ignore",
    "reject",
    "again",
    "late",
    "sends",
    "own",
    "\u00e4 task",
    "looks",
)
OPTIONS = st.fixed_dictionaries(
    {},
    optional={
        "countdown": st.sampled_from((1, 0.5)),
        "eta": st.just(dt.datetime(2026, 1, 1, tzinfo=dt.timezone.utc)),
        "expires": st.sampled_from((60, dt.datetime(2027, 1, 1, tzinfo=dt.timezone.utc))),
        "retries": st.integers(0, 2),
        "headers": st.sampled_from(({}, {"own": "fail"}, {"traceparent": "earlier"}, {"id": "other"})),
        "queue": st.sampled_from(("celery", "slow")),
        "exchange": st.sampled_from(("", "events")),
        "routing_key": st.sampled_from(("celery", "shop.#")),
        "priority": st.integers(0, 9),
        "time_limit": st.just(30),
        "soft_time_limit": st.just(20),
        "reply_to": st.just("here"),
        "serializer": st.just("json"),
        "producer": st.just("fails"),
    },
)
TASKS = st.sampled_from(NAMES)
IDS = st.sampled_from(("one", "one", "two"))
SENT = st.fixed_dictionaries(
    {},
    optional={
        "sender": st.sampled_from(("add", "unknown", "", None, 5)),
        "headers": st.sampled_from(({"id": "one"}, {"id": None}, {}, None, {"a": 1}, "own", "text")),
        "body": st.sampled_from(({"id": "old"}, {}, None, "text")),
        "declare": st.one_of(st.none(), st.lists(st.sampled_from(KINDS), max_size=3), st.just("text")),
        "exchange": st.sampled_from(("", "e", "odd")),
        "routing_key": st.sampled_from((None, "", "key", 5)),
        "priority": st.sampled_from(VALUES),
        "queue": st.sampled_from(VALUES),
    },
)
RAN = st.fixed_dictionaries(
    {}, optional={"task": st.sampled_from((*NAMES[:2], None)), "task_id": IDS, "state": st.sampled_from(VALUES)}
)
STEPS = st.one_of(
    st.tuples(st.just("send"), TASKS, IDS, OPTIONS),
    st.tuples(st.just("send"), TASKS, IDS, st.just({})),
    st.tuples(st.just("send_by_name"), st.sampled_from(("add", "elsewhere.add")), IDS, OPTIONS),
    st.tuples(st.just("receive"), REQUESTS),
    st.tuples(st.just("receive"), st.just({})),
    st.tuples(st.just("run"), TASKS, IDS, REQUESTS),
    st.tuples(
        st.just("eager"),
        TASKS,
        IDS,
        st.sampled_from(({}, {"routing_key": "k"}, {"retries": 1}, {"headers": {"a": "b"}})),
    ),
    st.tuples(st.just("before_task_publish"), SENT),
    st.tuples(st.just("after_task_publish"), SENT),
    st.tuples(st.just("task_prerun"), RAN),
    st.tuples(st.just("task_postrun"), RAN),
    st.tuples(st.just("canvas"), st.sampled_from(("group", "chain", "chord", "link", "map"))),
    st.tuples(st.just("override"), st.sampled_from(("update_task_duration_time", "_record_histograms"))),
)
PROGRAMS = st.lists(
    st.recursive(
        STEPS,
        lambda inner: st.tuples(st.sampled_from(("span", "bag", "suppressed")), st.lists(inner, max_size=3)),
        max_leaves=4,
    ),
    max_size=6,
)
SETTINGS = st.fixed_dictionaries(
    {
        "propagator": st.sampled_from(("usual", "usual", *sorted(PROPAGATORS))),
        "use_span_links": st.sampled_from((False, False, True)),
        "sampler": st.sampled_from((None, None, ALWAYS_OFF)),
        "most": st.sampled_from((None, None, 3, 9, 40)),
        "tracers": st.sampled_from(("sdk", "sdk", "sdk", "own", "none")),
        "is_batched": st.booleans(),
        "is_debug": st.sampled_from((False, False, True)),
    }
)
