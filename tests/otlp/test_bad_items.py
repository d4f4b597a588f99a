"""One item that stock cannot encode: it is altered or left out and counted, and what is sent with it arrives."""

from __future__ import annotations

import decimal
import functools
import importlib
import logging
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from baditems import BAD, Sent
from google.protobuf.message import DecodeError
from httpreceiver import Receiver
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from makeitems import GOOD, LONE, batch, event, exemplar, log, metric, point, span
from opentelemetry.exporter.otlp.proto.common import _internal as common
from opentelemetry.exporter.otlp.proto.common._log_encoder import encode_logs
from opentelemetry.exporter.otlp.proto.common.metrics_encoder import encode_metrics
from opentelemetry.exporter.otlp.proto.common.trace_encoder import encode_spans
from opentelemetry.metrics import Observation
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader, PeriodicExportingMetricReader
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor

from otel_fastpath.otlp.altering import counts
from otel_fastpath.otlp.exporters import Replacement

STOCK = {"traces": encode_spans, "metrics": encode_metrics, "logs": encode_logs}
MODULES = {"traces": "trace_exporter", "metrics": "metric_exporter", "logs": "_log_exporter"}
CLASSES = {"traces": "OTLPSpanExporter", "metrics": "OTLPMetricExporter", "logs": "OTLPLogExporter"}
SERVICES = {"traces": "trace.v1.Trace", "metrics": "metrics.v1.Metrics", "logs": "logs.v1.Logs"}
protocols = pytest.mark.parametrize("protocol", ["http", "grpc"])


def module(protocol, signal):
    """The module of stock's exporter."""
    return importlib.import_module(f"opentelemetry.exporter.otlp.proto.{protocol}.{MODULES[signal]}")


@pytest.fixture(scope="module")
def servers():
    """Receivers on loopback for both protocols: their addresses, and what arrived last."""
    grpc = pytest.importorskip("grpc")
    over_http, got = Receiver(), []
    server = grpc.server(ThreadPoolExecutor(1))
    method = grpc.unary_unary_rpc_method_handler(lambda request, _: got.append(request) or b"")
    for service in SERVICES.values():
        name = f"opentelemetry.proto.collector.{service}Service"
        server.add_generic_rpc_handlers([grpc.method_handlers_generic_handler(name, {"Export": method})])
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    yield {
        "http": ({"endpoint": over_http.url}, lambda: over_http.got.pop()[1]),
        "grpc": ({"endpoint": f"127.0.0.1:{port}", "insecure": True}, got.pop),
    }
    server.stop(None)
    over_http.close()


@pytest.fixture
def export(instrumented, servers):
    """Exports items with stock's exporter, and returns the request that arrived."""
    assert instrumented.is_instrumented_by_opentelemetry
    made = {}

    def exported(protocol, signal, items):
        options, arrived = servers[protocol]
        if signal not in made:
            made[signal] = getattr(module(protocol, signal), CLASSES[signal])(**options)
        assert made[signal].export(batch(signal, items)).name == "SUCCESS"
        return type(STOCK[signal](batch(signal, []))).FromString(arrived())

    counts._counts.clear()
    yield exported
    for each in made.values():
        each.shutdown()


@pytest.fixture
def failed(monkeypatch):
    """The messages of stock's encoder. Pytest does not get them: it cannot report texts that are not Unicode."""
    messages = []
    handler = logging.Handler()
    handler.emit = lambda record: messages.append(record.getMessage())
    monkeypatch.setattr(common._logger, "propagate", False)
    monkeypatch.setattr(common._logger, "handlers", [handler])
    return messages


def sent(request):
    """The items of a request with their scopes and resources, in turn."""
    found = []
    for resource in request.ListFields()[0][1] if request.ListFields() else ():
        for scope in next(value for field, value in resource.ListFields() if field.name.startswith("scope_")):
            items = next(
                value for field, value in scope.ListFields() if field.name in {"spans", "metrics", "log_records"}
            )
            found += [Sent(item, scope, resource) for item in items]
    return found


def whole(each):
    """An item with its scope and resource, without the other items."""
    return each.item, each.scope.scope, each.scope.schema_url, each.resource.resource, each.resource.schema_url


def alone(signal, item):
    """What stock sends for an item alone; None if it raises."""
    return together(signal, [item])


def together(signal, items):
    """What stock sends for several; None if it raises."""
    try:
        request = STOCK[signal](batch(signal, items))
        return type(request).FromString(request.SerializeToString())
    except Exception:
        return None


@protocols
@pytest.mark.parametrize("signal", list(BAD))
def test_costs_itself(export, logged, protocol, signal):
    """The items around it arrive as from stock, and so does the next export; it is counted, and logged once."""
    good = GOOD[signal]
    around = [whole(*sent(alone(signal, good(name)))) for name in ("before", "after")]
    tried = []
    for bad in BAD[signal]:
        item = bad.make()
        if alone(signal, item) is not None:
            # This release of protobuf encodes it.
            continue
        tried.append(bad.kind)
        counts._counts.clear()
        logged()

        for _ in range(2):
            arrived = sent(export(protocol, signal, [good("before"), item, good("after")]))

        assert [whole(each) for each in arrived if whole(each) in around] == around, bad.kind
        ours = [bad.seen(each) for each in arrived if whole(each) not in around]
        assert ours == ([bad.sent] if bad.seen else []), bad.kind
        assert counts.counts() == {bad.found: 2}, bad.kind
        assert len(logged()) == 1, bad.kind
        assert export(protocol, signal, [good("next")]) == alone(signal, good("next")), bad.kind
    assert len(tried) > 0.8 * len(BAD[signal])


@protocols
@pytest.mark.parametrize("signal", list(BAD))
def test_an_attribute_is_left_out_as_by_stock(export, failed, protocol, signal):
    """The same bytes as from stock, the same record in its log, once; it is counted."""
    attributes = {"k": LONE, LONE: 1, "large": 1 << 70, "inner": {"deep": [LONE]}, "kept": "yes"}
    make = {
        "traces": lambda: span(attributes=attributes, events=[event(attributes={"k": LONE})]),
        "logs": lambda: log(attributes=attributes),
        "metrics": lambda: metric(point(attributes=attributes, exemplars=[exemplar(filtered_attributes={"k": LONE})])),
    }[signal]

    request = export(protocol, signal, [make()])

    by_us = failed[:]
    failed.clear()
    assert request == alone(signal, make())
    assert by_us == failed
    assert len(failed) == (4 if signal == "logs" else 5)
    assert sum(counts.counts().values()) == len(failed)


@protocols
@pytest.mark.parametrize("signal", list(BAD))
def test_an_attribute_of_an_altered_item_is_logged_once(export, failed, protocol, signal):
    """Beside something that costs the batch of stock, it is left out all the same."""
    attributes = {"k": LONE, "kept": "yes"}
    item = {
        "traces": lambda: span(LONE, attributes=attributes),
        "logs": lambda: log(LONE, attributes=attributes),
        "metrics": lambda: metric(point(attributes=attributes), point(None)),
    }[signal]()

    [arrived] = sent(export(protocol, signal, [item]))

    owner = arrived.points[0] if signal == "metrics" else arrived.item
    assert [each.key for each in owner.attributes] == ["kept"]
    assert len(failed) <= 1
    assert len([key for key in counts.counts() if key.endswith(".attributes")]) == 1


@pytest.mark.parametrize("signal", list(BAD))
@settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_any_batch(instrumented, signal, data):
    """Each item arrives as it would alone, which is as from stock where stock can send it."""
    assert instrumented.is_instrumented_by_opentelemetry
    encode = getattr(module("http", signal), f"encode_{'spans' if signal == 'traces' else signal}")
    makers = st.sampled_from([bad.make for bad in BAD[signal]]) | st.text(max_size=3).map(
        lambda name: lambda: GOOD[signal](name)
    )
    items = [make() for make in data.draw(st.lists(makers, max_size=6))]

    arrived = sent(encode(batch(signal, items)))

    expected = []
    for item in items:
        [request] = [encode(batch(signal, [item]))]
        expected += sent(request)
        by_stock = alone(signal, item)
        assert by_stock is None or request.SerializeToString() == by_stock.SerializeToString()
    assert sorted(map(repr, map(whole, arrived))) == sorted(map(repr, map(whole, expected)))
    by_stock = together(signal, items)
    assert by_stock is None or encode(batch(signal, items)) == by_stock


@pytest.mark.parametrize("protocol", ["http", "grpc"])
@pytest.mark.parametrize("number", [1 << 70, decimal.Decimal("1.5")], ids=["large", "Decimal"])
def test_metrics_arrive_again(export, servers, protocol, number):
    """The number stays in the reader, which exports it each time; the others arrive each time."""
    options, arrived = servers[protocol]
    exporter = getattr(module(protocol, "metrics"), CLASSES["metrics"])(**options)
    reader = PeriodicExportingMetricReader(exporter, export_interval_millis=3_600_000)
    provider = MeterProvider([reader], shutdown_on_exit=False)
    provider.get_meter("m").create_observable_gauge("bad", [lambda _: [Observation(number), Observation(3, {"k": 1})]])
    provider.get_meter("m").create_counter("large").add(1 << 70)
    counter = provider.get_meter("m").create_counter("good")

    for total in (1, 2):
        counter.add(1)
        assert provider.force_flush()
        found = {
            each.item.name: each for each in sent(type(encode_metrics(batch("metrics", []))).FromString(arrived()))
        }
        assert found["good"].numbers == [total]
        assert 3 in found["bad"].numbers
    provider.shutdown()
    assert export


@protocols
def test_the_text_of_an_exception(export, servers, protocol):
    """A span that an exception leaves, whose text is no Unicode, is sent with the spans around it."""
    options, arrived = servers[protocol]
    provider = TracerProvider(shutdown_on_exit=False)
    provider.add_span_processor(BatchSpanProcessor(getattr(module(protocol, "traces"), CLASSES["traces"])(**options)))
    tracer = provider.get_tracer("t" + LONE)
    with (
        tracer.start_as_current_span("outer"),
        pytest.raises(ValueError, match="\ud800"),
        tracer.start_as_current_span("inner"),
    ):
        raise ValueError(LONE)
    provider.shutdown()

    found = sent(type(encode_spans([])).FromString(arrived()))
    assert [(each.item.name, each.item.status.message) for each in found] == [
        ("inner", "ValueError: a?b"),
        ("outer", ""),
    ]
    assert {each.scope.scope.name for each in found} == {"ta?b"}
    assert export


@pytest.mark.parametrize("signal", list(BAD))
def test_stocks_own_encoders_raise(export, signal):
    """Who calls the functions of `opentelemetry.exporter.otlp.proto.common` gets stock's exception."""
    assert export
    with pytest.raises(Exception, match=r"surrogates|UTF-8"):
        STOCK[signal](batch(signal, [GOOD[signal](LONE)]))


@pytest.mark.parametrize("signal", list(BAD))
def test_an_interrupt_is_raised(export, signal):
    """What is no `Exception` goes through, from wherever an item is read."""

    class Interrupting:
        def __str__(self):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        export("http", signal, [GOOD[signal](Interrupting())])


@protocols
@pytest.mark.parametrize(
    ("signal", "name"), [("traces", "_encode_status"), ("logs", "_encode_value"), ("metrics", "_encode_exemplars")]
)
def test_beside_a_function_that_was_replaced(export, monkeypatch, protocol, signal, name):
    """Where stock's encoder runs, because an application replaced one of its functions, the rest arrives, too."""
    good = GOOD[signal]
    # Loads the exporter: a patch that finds the function replaced stands back.
    export(protocol, signal, [good("first")])
    encoder = importlib.import_module(STOCK[signal].__module__)
    theirs = getattr(encoder, name)
    monkeypatch.setattr(encoder, name, functools.partial(theirs))

    arrived = sent(export(protocol, signal, [good("before"), good(LONE), good("after")]))

    names = [each.item.body.string_value if signal == "logs" else each.item.name for each in arrived]
    assert names == ["before", "a?b", "after"]


def test_a_span_whose_fields_raise(export):
    """A subclass may raise anything, wherever it is read."""

    class Raising(ReadableSpan):
        @property
        def resource(self):
            raise LookupError("no resource")

    class Nameless(ReadableSpan):
        @property
        def name(self):
            raise LookupError("no name")

    spans = [span("before"), Raising("a", span().context), Nameless("b", span().context), span("after")]

    assert [each.item.name for each in sent(export("http", "traces", spans))] == ["before", "after"]
    assert counts.counts() == {"left_out span": 2}


@pytest.mark.parametrize(("telemetry", "reported"), [("full", {("span.name", "altered"): 1}), ("same", {})])
def test_the_metric(instrumentor, core, telemetry, reported):
    """With full telemetry, what is altered is a metric."""
    counts._counts.clear()
    reader = InMemoryMetricReader()
    provider = MeterProvider([reader], shutdown_on_exit=False)
    instrumentor.instrument(core=core, telemetry=telemetry, meter_provider=provider)
    module("http", "traces").encode_spans([span(LONE)])

    data = reader.get_metrics_data()
    scopes = data.resource_metrics[0].scope_metrics if data else ()
    [found] = [[each for scope in scopes for each in scope.metrics if each.name == counts.NAME]]
    points = [each for made in found for each in made.data.data_points]
    assert {(p.attributes[counts.FIELD], p.attributes[counts.OUTCOME]): p.value for p in points} == reported


# The newest releases of earlier series, with what has messages that they can read.
RELEASES = {
    "installed": (),
    "6": ("protobuf>=6,<7",),
    "5": ("protobuf>=5,<6", "googleapis-common-protos==1.66.0"),
}


@pytest.mark.slow
@pytest.mark.parametrize("implementation", ["upb", "python"])
@pytest.mark.parametrize("release", RELEASES)
def test_with_other_protobufs(tmp_path, release, implementation):
    """What each refuses, and with which exceptions, differs: all of the tests of items pass with all of them."""
    if RELEASES[release]:
        uv = Path(__file__).parents[2] / ".tools" / "bin" / "uv"
        options = ["--quiet", "--no-deps", "--python", sys.executable, "--target", str(tmp_path)]
        subprocess.run([uv, "pip", "install", *options, *RELEASES[release]], check=True, timeout=120)
    tests = [__file__, str(Path(__file__).with_name("test_any_value.py"))]
    result = subprocess.run(
        [sys.executable, "-m", "pytest", *tests, "-q", "-m", "not slow", "-p", "no:cacheprovider"],
        env={**os.environ, "PYTHONPATH": str(tmp_path), "PROTOCOL_BUFFERS_PYTHON_IMPLEMENTATION": implementation},
        capture_output=True,
        text=True,
        check=False,
        timeout=600,
    )
    assert result.returncode == 0, result.stdout[-4000:]
    assert "passed" in result.stdout


@pytest.mark.parametrize("signal", list(BAD))
def test_what_protobuf_does_not_read(export, monkeypatch, signal):
    """Where it cannot read what it writes, as its pure implementation, stock's message is sent over gRPC."""
    encoder = module("grpc", signal)
    name = f"encode_{'spans' if signal == 'traces' else signal}"
    kind = type(STOCK[signal](batch(signal, [])))
    good = GOOD[signal]
    [replacement] = [
        each.cell_contents for each in getattr(encoder, name).__closure__ if type(each.cell_contents) is Replacement
    ]

    def parse(content):
        content = content[0] if signal == "metrics" else content
        if b"deep" in content:
            raise DecodeError("too deep")
        return kind.FromString(content)

    monkeypatch.setattr(replacement, "wrap", parse)

    assert sent(export("grpc", signal, [good("deep"), good("flat")])) == sent(
        together(signal, [good("deep"), good("flat")])
    )
    arrived = sent(export("grpc", signal, [good("deep"), good(LONE), good("flat")]))
    names = [each.item.body.string_value if signal == "logs" else each.item.name for each in arrived]
    assert names == ["a?b", "flat"]
