"""The exporters of OTLP send, through the fast encoder, what they send without it."""

from __future__ import annotations

import copy
import gzip
import importlib
import inspect
import pickle
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from google.protobuf.message import DecodeError
from opentelemetry.exporter.otlp.proto.common._internal import trace_encoder
from opentelemetry.exporter.otlp.proto.http import Compression
from opentelemetry.exporter.otlp.proto.http import trace_exporter as http_module
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from opentelemetry.trace import SpanContext, SpanKind

from otel_fastpath.otlp import patches_spans, trace_requests
from otel_fastpath.otlp.exporters import EncodedRequest
from otel_fastpath.patching import faults, pausing
from otel_fastpath.settings import Config
from otel_fastpath.trace import stack_traces

STOCK = http_module.encode_spans
CONTEXT = SpanContext(0x1234, 0x5678, is_remote=False)


def make_span(name="name", attributes=None):
    """A span of exactly stock's class."""
    return ReadableSpan(name, CONTEXT, attributes=attributes, kind=SpanKind.SERVER, start_time=1, end_time=2)


@pytest.fixture
def receiver():
    """A server on loopback that keeps the headers and bodies of what is posted to it."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):
            body = self.rfile.read(int(self.headers["Content-Length"]))
            self.server.got.append((dict(self.headers), body))
            self.send_response(200)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_):
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        server.got = []
        server.daemon_threads = True
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield server
        server.shutdown()


def http_exporter(receiver, **options):
    """Stock's exporter to the receiver."""
    return http_module.OTLPSpanExporter(f"http://127.0.0.1:{receiver.server_port}/v1/traces", **options)


@pytest.mark.proves("otlp.http_spans")
@pytest.mark.parametrize("compression", list(Compression))
def test_http_sends_what_it_sends_without_us(instrumentor, core, receiver, compression):
    """The request is the same to the byte, headers included, whatever the compression."""
    spans = [make_span("a", {"k": "v"}), make_span("b", {"n": 2**70}), make_span("c")]
    exporter = http_exporter(receiver, compression=compression, headers={"x-key": "secret"})
    exporter.export(spans)
    instrumentor.instrument(core=core)
    assert http_module.encode_spans is not STOCK
    exporter.export(spans)
    exporter.shutdown()
    (stock_headers, stock_body), (headers, body) = receiver.got
    if compression is Compression.Gzip:
        # It contains the time.
        stock_body, body = gzip.decompress(stock_body), gzip.decompress(body)
    assert body == stock_body
    assert headers == stock_headers


@pytest.mark.proves("otlp.grpc_spans")
def test_grpc_sends_what_it_sends_without_us(instrumentor, core):
    """The bytes that a server receives are those of stock, also from an exporter that was there before."""
    grpc = pytest.importorskip("grpc")
    from opentelemetry.exporter.otlp.proto.grpc import trace_exporter as grpc_module

    got = []
    method = grpc.unary_unary_rpc_method_handler(lambda request, _: got.append(request) or b"")
    name = "opentelemetry.proto.collector.trace.v1.TraceService"
    from concurrent.futures import ThreadPoolExecutor

    server = grpc.server(ThreadPoolExecutor(1))
    server.add_generic_rpc_handlers([grpc.method_handlers_generic_handler(name, {"Export": method})])
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    exporter = grpc_module.OTLPSpanExporter(f"127.0.0.1:{port}", insecure=True)
    spans = [make_span("a", {"k": "v", "list": [1, 2]}), make_span("b")]
    exporter.export(spans)
    instrumentor.instrument(core=core)
    assert type(exporter._translate_data(spans)) is ExportTraceServiceRequest
    exporter.export(spans)
    exporter.shutdown()
    server.stop(None)
    assert len(got) == 2
    assert got[0] == got[1]


def test_recorded_spans_arrive(instrumented, receiver):
    """From the tracer through stock's batch processor to the wire, with both of our ends in place."""
    provider = TracerProvider(shutdown_on_exit=False)
    provider.add_span_processor(BatchSpanProcessor(http_exporter(receiver)))
    with provider.get_tracer("tracer", "1").start_as_current_span("outer", attributes={"k": (True, False)}):
        provider.get_tracer("other").start_span("inner").end()
    provider.shutdown()
    [(_, body)] = receiver.got
    [resource_spans] = ExportTraceServiceRequest.FromString(body).resource_spans
    scopes = {each.scope.name: [span.name for span in each.spans] for each in resource_spans.scope_spans}
    assert scopes == {"other": ["inner"], "tracer": ["outer"]}
    assert instrumented.is_instrumented_by_opentelemetry


def test_undone_exactly(instrumentor, core):
    """Uninstrumented, the exporter's module has stock's function again."""
    instrumentor.instrument(core=core)
    instrumentor.uninstrument()
    assert http_module.encode_spans is STOCK


def test_somebody_elses_encoder_is_left_alone(instrumentor, core, monkeypatch):
    """Where the exporter calls another function already, it keeps calling it, and the status says so."""
    monkeypatch.setattr(http_module, "encode_spans", lambda spans: STOCK(spans[:1]))
    theirs = http_module.encode_spans
    instrumentor.instrument(core=core)
    assert http_module.encode_spans is theirs
    [row] = [row for row in instrumentor.status() if row.name == "otlp.http_spans"]
    assert row.state.value == "skipped"
    assert "not stock's own" in row.reason


@pytest.mark.usefixtures("instrumented")
def test_a_function_of_stock_that_is_replaced_later_is_called(monkeypatch):
    """Whoever changes how stock encodes a value gets it changed."""
    original = trace_encoder._encode_attributes
    monkeypatch.setattr(trace_encoder, "_encode_attributes", lambda attributes: original({**attributes, "added": 1}))
    sent = http_module.encode_spans([make_span()]).SerializePartialToString()
    assert b"added" in sent


@pytest.mark.parametrize("value", [True, 1, 1.0, "1", b"1", False, 0, 0.0, -0.0, "", b"", (), {}, (True,), (1,)])
def test_equal_values_of_other_types(core, value):
    """Nothing that was kept for a value is used for one that is equal to it, but of another type."""
    encode = patches_spans._encoder(core).encode
    for other in (True, 1, 1.0, "1", 0.0, value):
        span = make_span(attributes={"k": other})
        assert encode([span]) == STOCK([span]).SerializePartialToString()


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("wrap", [lambda value: [value], lambda value: {"k": value}], ids=["list", "dict"])
def test_any_depth(core, wrap):
    """A value that is nested deeper and deeper is sent and left out as by stock, and cut where stock's batch fails."""
    encode = patches_spans._encoder(core).encode
    value = "bottom"
    cut = 0
    for _ in range(80):
        value = wrap(value)
        span = make_span(attributes={"k": value, "other": 1})
        try:
            expected = STOCK([span]).SerializePartialToString()
        except DecodeError:
            cut += 1
            [sent] = ExportTraceServiceRequest.FromString(encode([span])).resource_spans[0].scope_spans[0].spans
            assert [each.key for each in sent.attributes] == ["k", "other"]
        else:
            assert encode([span]) == expected
    assert cut


def test_a_fault_of_ours_is_counted_and_stock_encodes(monkeypatch):
    """A batch that our own code fails on goes the stock way."""
    made = {"__name__": "otel_fastpath.test"}
    exec("def fail(*_): raise ZeroDivisionError(0)", made)  # noqa: S102  # a function of a module of ours that is not there
    encode_spans = patches_spans._make_http(STOCK, Config())
    before = faults.counts().get("OTLP batch encoder", 0)
    monkeypatch.setattr(trace_requests, "varint", made["fail"])
    spans = [make_span(attributes={"k": "v"})]
    assert encode_spans(spans) == STOCK(spans)
    assert faults.counts()["OTLP batch encoder"] == before + 1


def test_several_threads_at_once(core, monkeypatch):
    """Exporters of several threads share an encoder: turns and what is kept do not mix their batches."""
    monkeypatch.setattr(pausing, "STRETCH", 1e-6)
    encode = patches_spans._encoder(core).encode
    batches = [[make_span(f"{n}-{i}", {"k": i, "n": f"{n}{i}"}) for i in range(300)] for n in range(4)]
    expected = [STOCK(spans).SerializePartialToString() for spans in batches]
    got = [[] for _ in batches]

    def work(index):
        for _ in range(5):
            got[index].append(encode(batches[index]))

    threads = [threading.Thread(target=work, args=(index,)) for index in range(len(batches))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(set(results) == {once} for results, once in zip(got, expected, strict=True))


class TestRequest:
    """What the exporter gets in the place of a message."""

    def make(self):
        """A request of one span, and the message that it stands for."""
        message = STOCK([make_span()])
        return EncodedRequest(type(message), message.SerializeToString()), message

    def test_is_bytes_already(self):
        """Serialized by any of protobuf's ways, it is its bytes."""
        request, message = self.make()
        content = message.SerializeToString()
        assert request.SerializePartialToString() == request.SerializeToString(deterministic=True) == content
        assert request.ByteSize() == len(content)
        assert request._message is None

    def test_is_the_message_to_whoever_looks(self):
        """It reads, compares, prints and copies as the message does, and is one to isinstance."""
        request, message = self.make()
        assert isinstance(request, ExportTraceServiceRequest)
        assert request == message
        assert message == request
        assert request == self.make()[0]
        assert request != ExportTraceServiceRequest()
        assert (str(request), repr(request)) == (str(message), repr(message))
        assert request.resource_spans[0].scope_spans[0].spans[0].name == "name"
        assert copy.deepcopy(request) == pickle.loads(pickle.dumps(request)) == message  # noqa: S301  # made here
        with pytest.raises(TypeError):
            hash(request)

    def test_protobuf_copies_only_what_it_made(self):
        """A copy of the request is a message, which protobuf accepts."""
        request, message = self.make()
        with pytest.raises(TypeError):
            ExportTraceServiceRequest().CopyFrom(request)
        accepted = ExportTraceServiceRequest()
        accepted.CopyFrom(copy.copy(request))
        assert accepted == message

    def test_a_change_is_sent(self):
        """Whoever changes the message changes what is sent."""
        request, message = self.make()
        request.resource_spans.add().schema_url = "added"
        message.resource_spans.add().schema_url = "added"
        assert request.SerializeToString() == message.SerializeToString()


class TestPace:
    """When the encoder lets other threads run."""

    @pytest.fixture
    def clock(self, monkeypatch):
        """A clock that only moves when told to; a pause takes `clock.pause`."""

        class Clock:
            now = 0.0
            pause = 100e-6
            pauses = 0

            def perf_counter(self):
                return self.now

            def sleep(self, _):
                self.now += self.pause
                self.pauses += 1

        made = Clock()
        monkeypatch.setattr(pausing, "time", made)
        return made

    def test_a_pause_after_each_stretch(self, clock):
        """Turns within a stretch cost a look at the clock; the one after it pauses."""
        paced = pausing.Pace()
        for _ in range(12):
            clock.now += pausing.STRETCH / 4
            paced.turn()
        assert clock.pauses == 3

    def test_fewer_where_nobody_gives_the_interpreter_back(self, clock):
        """A pause that took milliseconds makes the next stretch long, a short one ends that."""
        paced = pausing.Pace()
        clock.pause = 5e-3
        clock.now += pausing.STRETCH
        paced.turn()
        assert paced.stretch == pausing._LONG_STRETCH
        clock.pause = 100e-6
        clock.now += pausing._LONG_STRETCH
        paced.turn()
        assert paced.stretch == pausing.STRETCH

    def test_a_stack_trace_is_formatted_with_turns(self):
        """The frames of a stack trace that was not seen before are formatted one by one."""
        stack_traces._texts.clear()
        turns = []
        try:
            ExportTraceServiceRequest.FromString(b"\xff")
        except Exception as error:
            made, again = stack_traces.snapshot(error), stack_traces.snapshot(error)
            text = "".join(stack_traces.traceback.format_exception(error))
        assert trace_requests.resolve(made, lambda: turns.append(1)) == text
        assert len(turns) == 2
        assert trace_requests.resolve(again, lambda: turns.append(1)) == text
        assert len(turns) == 3, "its frame is known by now"


@pytest.mark.parametrize("place", ["trace_exporter:encode_spans", "_log_exporter:encode_logs"])
def test_a_batch_by_its_name(instrumented, place):
    """The replacement takes what stock's function takes, and refuses what that refuses."""
    assert instrumented.is_instrumented_by_opentelemetry
    module, _, name = place.partition(":")
    encode = getattr(importlib.import_module(f"opentelemetry.exporter.otlp.proto.http.{module}"), name)
    (parameter,) = inspect.signature(encode).parameters

    assert encode(**{parameter: []}) == encode([])
    for arguments in ({"batch_of_this_name": []}, {}):
        with pytest.raises(TypeError):
            encode(**arguments)
