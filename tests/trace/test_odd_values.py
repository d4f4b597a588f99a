"""Values of the application whose own methods raise: what comes out is as with stock, and it is no fault of ours."""

from __future__ import annotations

import gc
from types import SimpleNamespace

import pytest
from opentelemetry import context, trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.sdk.trace.sampling import Decision, Sampler, SamplingResult

from otel_fastpath import compiled


class NoTextError(Exception):
    """Whose text is none."""

    def __str__(self):
        """No text."""
        return 3  # noqa: PLE0307  # as it says


class RaisingError(Exception):
    """Whose text cannot be had."""

    def __str__(self):
        """Raises."""
        raise LookupError("str")


def _raises(*_args, **_kwargs):
    raise LookupError("odd")


DUNDERS = ("str", "repr", "eq", "hash", "bool", "len", "iter", "getattr", "contains", "format", "index", "int", "float")
Odd = type("Odd", (), {f"__{name}__": _raises for name in DUNDERS})
OddInt = type("OddInt", (int,), {"__hash__": _raises, "__eq__": _raises, "__int__": _raises, "__lt__": _raises})
OddText = type("OddText", (str,), {"__hash__": _raises, "__eq__": _raises, "__len__": _raises, "__str__": _raises})
OddList = type("OddList", (list,), {"__iter__": _raises, "__len__": _raises, "__getitem__": _raises})
OddDict = type("OddDict", (dict,), {"items": _raises, "__iter__": _raises, "__bool__": _raises, "__len__": _raises})
VALUES = {
    "odd": Odd,
    "int": lambda: OddInt(3),
    "text": lambda: OddText("x"),
    "list": lambda: OddList([1]),
    "dict": lambda: OddDict(a=1),
    "in a list": lambda: [Odd()],
    "in a tuple": lambda: (OddText("a"), "b"),
    "in a dict": lambda: {"a": Odd()},
    "a surrogate": lambda: "\ud83d",
    "bytes": lambda: b"\xff",
    "None": lambda: None,
}


def _use(_tracer, value):
    with trace.use_span(value):
        pass


def _raise(tracer, error, **settings):
    with tracer.start_as_current_span("scope", **settings):
        raise error


def _on_span(use):
    def run(tracer, value):
        span = tracer.start_span("span")
        try:
            use(span, value)
        finally:
            span.end()

    return run


USES = {
    "name": lambda tracer, value: tracer.start_span(value).end(),
    "scope": lambda tracer, value: tracer.start_as_current_span(value).__enter__(),
    "attributes": lambda tracer, value: tracer.start_span("x", attributes=value).end(),
    "attribute": lambda tracer, value: tracer.start_span("x", attributes={"a": value}).end(),
    "context": lambda tracer, value: tracer.start_span("x", context=value).end(),
    "kind": lambda tracer, value: tracer.start_span("x", kind=value).end(),
    "links": lambda tracer, value: tracer.start_span("x", links=value).end(),
    "a link": lambda tracer, value: tracer.start_span("x", links=[value]).end(),
    "start": lambda tracer, value: tracer.start_span("x", start_time=value).end(),
    "set_attribute": _on_span(lambda span, value: span.set_attribute("a", value)),
    "a key": _on_span(lambda span, value: span.set_attribute(value, 1)),
    "set_attributes": _on_span(lambda span, value: span.set_attributes(value)),
    "add_event": _on_span(lambda span, value: span.add_event("event", {"a": value})),
    "an event's name": _on_span(lambda span, value: span.add_event(value)),
    "an event's attributes": _on_span(lambda span, value: span.add_event("event", value)),
    "an event's time": _on_span(lambda span, value: span.add_event("event", None, value)),
    "set_status": _on_span(lambda span, value: span.set_status(value)),
    "a description": _on_span(lambda span, value: span.set_status(trace.StatusCode.ERROR, value)),
    "update_name": _on_span(lambda span, value: span.update_name(value)),
    "end": lambda tracer, value: tracer.start_span("x").end(value),
    "record_exception": _on_span(lambda span, value: span.record_exception(value)),
    "use_span": _use,
}
ERRORS = {
    "recorded": _on_span(lambda span, error: span.record_exception(error)),
    "in a scope": _raise,
    "not recorded": lambda tracer, error: _raise(tracer, error, record_exception=False),
    "without status": lambda tracer, error: _raise(tracer, error, set_status_on_exception=False),
}


def _outcomes(cases):
    exporter = InMemorySpanExporter()
    provider = TracerProvider(shutdown_on_exit=False)
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    tracer = provider.get_tracer("odd")
    found = []
    for name, use, make in cases:
        token = context.attach(context.Context())
        exporter.clear()
        try:
            use(tracer, make())
            outcome = ""
        except Exception as error:
            outcome = type(error).__name__
        context.detach(token)
        found.append((name, outcome, [span.status.status_code.name for span in exporter.get_finished_spans()]))
    return found


CASES = {
    "values": [(f"{use}: {value}", USES[use], VALUES[value]) for use in USES for value in VALUES],
    "exceptions": [
        (f"{use}: {kind.__name__}", ERRORS[use], kind) for use in ERRORS for kind in (NoTextError, RaisingError)
    ],
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("cases", CASES)
def test_no_odd_value_is_a_fault(cases, instrumentor, core, no_faults):
    """The outcome of each call, and the spans that end, are those of stock."""
    expected = _outcomes(CASES[cases])
    instrumentor.instrument(core=core)

    found = _outcomes(CASES[cases])

    # A subclass of dict is read as a dict.
    unlike = [pair for pair in zip(found, expected, strict=True) if pair[0] != pair[1]]
    assert [pair for pair in unlike if pair[0][0] != "attributes: dict"] == []
    assert no_faults.counts() == {}


class _Answers(Sampler):
    """Answers with anything, and counts how often."""

    def __init__(self, answer):
        self._answer, self.asked = answer, 0

    def should_sample(self, *_args, **_kwargs):
        self.asked += 1
        return self._answer

    def get_description(self):
        return "answers"


ANSWERS = [
    *(None, Decision.DROP, SamplingResult("sampled"), SimpleNamespace(decision=Decision.DROP, trace_state=None)),
]


def _outcome_of(answer):
    try:
        span = TracerProvider(_Answers(answer), shutdown_on_exit=False).get_tracer("tests").start_span("span")
    except Exception as error:
        return type(error), str(error)
    return span.is_recording()


@pytest.mark.parametrize("answer", ANSWERS, ids=str)
def test_what_is_no_result_of_a_sampler_is_no_fault(instrumentor, core, no_faults, answer):
    """The error is stock's."""
    expected = _outcome_of(answer)
    instrumentor.instrument(core=core)

    assert _outcome_of(answer) == expected
    assert no_faults.counts() == {}


def test_what_is_like_a_result_of_a_sampler_is_taken(instrumentor, core, no_faults):
    """As by stock, which asks once: a sampler may count."""
    instrumentor.instrument(core=core)
    sampler = _Answers(SimpleNamespace(decision=Decision.RECORD_AND_SAMPLE, trace_state=None, attributes={"by": "it"}))
    span = TracerProvider(sampler, shutdown_on_exit=False).get_tracer("tests").start_span("span")

    assert (dict(span.attributes), sampler.asked) == ({"by": "it"}, 1)
    assert no_faults.counts() == {}


@pytest.mark.filterwarnings("error::pytest.PytestUnraisableExceptionWarning")
def test_a_scope_that_an_interrupt_kept_from_being_filled_is_quiet(core):
    """Its finalizer has nothing to do, and prints nothing."""
    kind = compiled.load("trace.context.scope", core).Scope

    made = kind.__new__(kind)
    del made
    gc.collect()
