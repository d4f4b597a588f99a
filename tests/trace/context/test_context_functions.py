"""The API's functions: what stands in the place of stock's, and when it steps back."""

from __future__ import annotations

import functools
import importlib
import inspect
import logging
import os
import pickle
import subprocess
import sys

import pytest
import wrapt
from api_functions import NAMES, PATCHED, place, use
from opentelemetry import baggage, trace
from opentelemetry import context as context_api
from opentelemetry.baggage import _BAGGAGE_KEY
from opentelemetry.context.contextvars_context import ContextVarsRuntimeContext
from opentelemetry.instrumentation import utils
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.trace import propagation

from otel_fastpath.patching.swapping.swap import SWITCH
from otel_fastpath.patching.swapping.switches import Switch

compiled = pytest.mark.parametrize("core", ["c"], indirect=True)
SPANS = ("trace.set_span_in_context", "trace.get_current_span")
BAGGAGE = ("baggage.get_all", "baggage.get_baggage", "baggage.set_baggage")
READING = ("context.get_value", "context.set_value", *SPANS, *BAGGAGE)
RUNTIME = context_api._RUNTIME_CONTEXT
# Where stock's code looks for what it calls, and in which functions.
CALLED = [
    (context_api, "get_current", READING),
    (ContextVarsRuntimeContext, "get_current", READING),
    (RUNTIME, "get_current", READING),
    (ContextVarsRuntimeContext, "attach", ("context.attach",)),
    (RUNTIME, "attach", ("context.attach",)),
    (ContextVarsRuntimeContext, "detach", ("context.detach",)),
    (RUNTIME, "detach", ("context.detach",)),
    (propagation, "get_value", ("trace.get_current_span",)),
    (propagation, "set_value", ("trace.set_span_in_context",)),
    (baggage, "get_value", BAGGAGE),
    (baggage, "_get_baggage_value", BAGGAGE),
    (baggage, "set_value", ("baggage.set_baggage",)),
]


@pytest.mark.parametrize("name", NAMES)
def test_it_looks_like_the_original(ours, stock, name):
    """Signature, names, docs, what it wraps, and how it is pickled."""
    assert ours[name] is not stock[name]
    assert inspect.signature(ours[name]) == inspect.signature(stock[name])
    for attribute in ("__name__", "__qualname__", "__module__", "__doc__"):
        assert getattr(ours[name], attribute) == getattr(stock[name], attribute)
    assert ours[name].__wrapped__ is stock[name]
    if name not in SPANS:
        assert pickle.loads(pickle.dumps(ours[name])) is ours[name]  # noqa: S301  # of our own making


@pytest.mark.parametrize("name", NAMES)
def test_what_they_are_not(ours, core, name):
    """A deliberate difference: Python functions, with the compiled core."""
    assert inspect.isfunction(ours[name]) is (core == "py")


@pytest.mark.parametrize("core", ["py"], indirect=True)
def test_off_in_the_pure_core(instrumented, stock):
    """There they would be no cheaper, and the status says so."""
    rows = {row.name: row for row in instrumented.status()}
    for name in NAMES:
        assert (rows[name].state.value, rows[name].reason) == (
            "off",
            "in the pure core it would take as long as OpenTelemetry's own code",
        )
        assert getattr(*place(name)) is stock[name]


@compiled
@pytest.mark.parametrize("name", NAMES)
def test_a_name_imported_while_it_was_in_force(ours, stock, instrumentor, name):
    """It does what stock's does while the package is uninstrumented, and is in force again afterwards."""
    held = ours[name]
    instrumentor.uninstrument()
    assert getattr(*place(name)) is stock[name]
    assert use(name, held) == use(name, stock[name])
    instrumentor.instrument(core="py")
    assert getattr(*place(name)) is stock[name]
    assert use(name, held) == use(name, stock[name])
    instrumentor.uninstrument()
    instrumentor.instrument(core="c")
    assert getattr(*place(name)) is held


@compiled
@pytest.mark.parametrize("kind", ["functools", "wrapt"])
@pytest.mark.parametrize("name", NAMES)
def test_a_wrapper_of_others_on_top(ours, stock, instrumentor, monkeypatch, name, kind):
    """Below one that stays, calls reach stock's function once ours is taken off, and ours once it is back."""
    calls = []

    def around(wrapped, _instance, args, kwargs):
        calls.append(name)
        return wrapped(*args, **kwargs)

    if kind == "wrapt":
        wrapper = wrapt.FunctionWrapper(ours[name], around)
    else:
        wrapper = functools.wraps(ours[name])(lambda *args, **kwargs: around(ours[name], None, args, kwargs))
    with monkeypatch.context() as patching:
        patching.setattr(*place(name), wrapper)
        expected = use(name, stock[name])
        assert use(name) == expected
        instrumentor.uninstrument()
        assert use(name) == expected
        instrumentor.instrument(core="c")
        assert use(name) == expected
    assert len(calls) == 3


@pytest.mark.parametrize("kind", ["functools", "wrapt", "replaced"])
@pytest.mark.parametrize("name", NAMES)
def test_a_wrapper_of_others_below(instrumentor, stock, monkeypatch, name, kind):
    """The patch is left off, and the wrapper is called."""
    pytest.importorskip("otel_fastpath.trace.context.scope_c")
    calls = []

    def around(wrapped, _instance, args, kwargs):
        calls.append(name)
        return wrapped(*args, **kwargs)

    def plain(*args, **kwargs):
        return around(stock[name], None, args, kwargs)

    if kind == "wrapt":
        wrapper = wrapt.FunctionWrapper(stock[name], around)
    else:
        wrapper = functools.wraps(stock[name])(plain) if kind == "functools" else plain
    monkeypatch.setattr(*place(name), wrapper)
    instrumentor.instrument(core="c")
    row = next(row for row in instrumentor.status() if row.name == name)
    assert row.state.value == "skipped"
    assert "already, by" in row.reason
    assert getattr(*place(name)) is wrapper
    assert use(name) == use(name, stock[name])
    instrumentor.uninstrument()
    assert getattr(*place(name)) is wrapper
    assert calls


@pytest.mark.parametrize(("owner", "replaced", "names"), CALLED, ids=lambda each: getattr(each, "__name__", None))
def test_what_others_have_replaced_is_called(ours, stock, monkeypatch, owner, replaced, names):
    """As often as by stock's functions, from the next call on; and no longer once it is put back."""
    calls = []
    original = getattr(owner, replaced)

    def replacement(*args, **kwargs):
        calls.append(replaced)
        return original(*args, **kwargs)

    for name in names:
        with monkeypatch.context() as patching:
            patching.setattr(owner, replaced, replacement)
            found = []
            for function in (stock[name], ours[name]):
                calls.clear()
                result = use(name, function)
                found.append((len(calls), result))
        assert found[0][0] >= 1
        assert found[0] == found[1], name
        calls.clear()
        use(name, ours[name])
        assert calls == []


class OwnRuntime(ContextVarsRuntimeContext):
    """A runtime context of an application, with tokens of its own."""

    def attach(self, context):
        """Return a token in a list."""
        return [super().attach(context)]

    def detach(self, token):
        """Take it out."""
        super().detach(token[0])


@pytest.mark.parametrize("name", NAMES)
def test_another_runtime_context(ours, stock, monkeypatch, name):
    """It is used from the next call on."""
    before = use(name, ours[name])
    own = OwnRuntime()
    with monkeypatch.context() as patching:
        patching.setattr(context_api, "_RUNTIME_CONTEXT", own)
        assert use(name, ours[name]) == use(name, stock[name])
        token = ours["context.attach"](context_api.Context({"there": 1}))
        assert type(token) is list
        assert ours["context.get_value"]("there") == 1
        ours["context.detach"](token)
    assert use(name, ours[name]) == before


@pytest.mark.parametrize("name", NAMES)
def test_another_runtime_context_from_the_start(instrumentor, stock, monkeypatch, name):
    """The patches are left off: they would only look whether it is still there."""
    pytest.importorskip("otel_fastpath.trace.context.scope_c")
    monkeypatch.setattr(context_api, "_RUNTIME_CONTEXT", OwnRuntime())
    instrumentor.instrument(core="c")
    row = next(row for row in instrumentor.status() if row.name == name)
    assert (row.state.value, row.reason) == ("skipped", "the runtime context is another one: OwnRuntime")
    assert getattr(*place(name)) is stock[name]


def test_a_context_in_use_when_the_runtime_context_is_replaced(ours, monkeypatch, caplog):
    """A token of the first is one of the second's errors, as with stock's function."""
    token = ours["context.attach"](context_api.Context({"a": 1}))
    with monkeypatch.context() as patching:
        patching.setattr(context_api, "_RUNTIME_CONTEXT", ContextVarsRuntimeContext())
        ours["context.detach"](token)
    assert [record.getMessage() for record in caplog.records] == ["Failed to detach context"]
    assert ours["context.get_value"]("a") == 1
    ours["context.detach"](token)
    assert context_api.get_current() == {}


def test_baggage_that_others_have(ours):
    """Setting an entry leaves it as it is; what `get_all` returns shows it live, and cannot be changed."""
    entries = {"a": 1}
    context = ours["context.set_value"](_BAGGAGE_KEY, entries)
    shown = ours["baggage.get_all"](context)
    changed = ours["baggage.set_baggage"]("b", 2, context)
    assert entries == {"a": 1} == dict(shown)
    assert dict(ours["baggage.get_all"](changed)) == {"a": 1, "b": 2}
    entries["c"] = 3
    assert shown["c"] == ours["baggage.get_baggage"]("c", context) == 3
    with pytest.raises(TypeError):
        shown["d"] = 4


@pytest.mark.parametrize("core", ["py"], indirect=True)  # a compiled function cannot be replaced
@pytest.mark.parametrize("name", NAMES)
def test_a_fault_of_ours(ours, stock, monkeypatch, no_faults, caplog, name):
    """The host does not see it: stock's function is called."""

    def fail(*_args):
        raise ZeroDivisionError("ours")

    module = sys.modules[PATCHED[name][1].__module__]
    fail = type(fail)(fail.__code__, vars(module), "fail")
    failing = type("Failing", (Switch,), {"__slots__": (), "inert": property(fail)})
    monkeypatch.setattr(vars(ours[name])[SWITCH], "__class__", failing)
    with caplog.at_level(logging.CRITICAL):
        assert use(name, ours[name]) == use(name, stock[name])
    assert no_faults.counts()
    no_faults.forget()


def stock_frames(work):
    """The functions of stock's contexts and metrics that run in this call."""
    found = set()

    def see(frame, event, _argument):
        file = frame.f_code.co_filename.replace(os.sep, "/")
        if event == "call" and ("opentelemetry/context/" in file or "opentelemetry/sdk/metrics/" in file):
            found.add(frame.f_code.co_name)

    sys.setprofile(see)
    try:
        work()
    finally:
        sys.setprofile(None)
    return found


@compiled
@pytest.mark.usefixtures("ours")
def test_what_rests_on_these_functions():
    """Spans, suppression and measurements still take the short way: they see through."""
    tracer = TracerProvider(shutdown_on_exit=False).get_tracer("a")
    meters = MeterProvider([InMemoryMetricReader()], shutdown_on_exit=False)
    counter = meters.get_meter("a").create_counter("counted")

    def work():
        with tracer.start_as_current_span("outer"), trace.use_span(trace.INVALID_SPAN):
            utils.is_instrumentation_enabled()
            with utils.suppress_http_instrumentation():
                assert not utils.is_http_instrumentation_enabled()
            counter.add(1, {"a": 1})

    work()
    work()
    assert stock_frames(work) == set()


PROGRAM = """
import sys
from otel_fastpath.instrumentor import FastpathInstrumentor

ours = FastpathInstrumentor()
if sys.argv[1] == "first":
    ours.instrument(core="c")
from opentelemetry.sdk.trace import TracerProvider, export
from opentelemetry import baggage, context, trace
from opentelemetry.trace import get_current_span
if sys.argv[1] != "first":
    ours.instrument(core="c")
names = ("context.attach", "context.set_value", "trace.get_current_span", "baggage.get_all")
states = {row.name: row.state.value for row in ours.status()}
assert {states[name] for name in names} == {"applied"}, states
assert (get_current_span is trace.get_current_span) is (sys.argv[1] == "first")

class Drop(export.SpanExporter):
    def export(self, spans):
        seen.append(context.get_value(context._SUPPRESS_INSTRUMENTATION_KEY))
        return export.SpanExportResult.SUCCESS

provider, seen, frames = TracerProvider(), [], set()
provider.add_span_processor(export.SimpleSpanProcessor(Drop()))
tracer = provider.get_tracer("a")

def work():
    with tracer.start_as_current_span("a") as span:
        assert trace.get_current_span() is span
        assert get_current_span() is span

work()
sys.setprofile(lambda frame, event, _: frames.add((frame.f_code.co_filename, frame.f_code.co_name)))
work()
sys.setprofile(None)
assert seen == [True, True], seen
assert not [name for file, name in frames if name == "on_end"], frames
"""


@pytest.mark.parametrize("order", ["first", "last"])
def test_the_order_of_imports(order):
    """The SDK may have been imported before the package was instrumented, or is afterwards."""
    pytest.importorskip("otel_fastpath.trace.context.scope_c")
    command = [sys.executable, "-c", PROGRAM, order]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0, done.stderr


@compiled
def test_imported_anew(ours, monkeypatch):
    """A module that imports the API's functions while ours are in force gets them, and ours see through that."""
    monkeypatch.setattr(propagation, "get_value", ours["context.get_value"])
    importlib.import_module("opentelemetry.propagate")
    assert stock_frames(trace.get_current_span) == set()


def test_an_equal_key_stays_the_one_that_it_is(ours):
    """As in a dict: the value is replaced, the key is not."""

    class Text(str):
        __slots__ = ()

    first = ours["context.set_value"]("a", 1, context_api.Context({Text("b"): 0}))
    only = ours["context.set_value"]("b", 1, context_api.Context({Text("b"): 0}))

    assert [type(key) for key in first] == [Text, str]
    assert [(type(key), value) for key, value in only.items()] == [(Text, 1)]
