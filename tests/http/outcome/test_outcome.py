"""Whatever raises in telemetry, the responses of servers and clients are those without it, and the context is kept."""

from __future__ import annotations

from contextlib import contextmanager

import pytest
from client_hosts import CLIENTS, serving
from hosts import PARENT
from newer_releases import needs
from opentelemetry import context, propagate, trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import NonRecordingSpan, SpanContext, TraceFlags
from sabotage import ABSORBED, FOREIGN, RAISED, as_ours, broken, broken_logging, plain
from server_hosts import ASGI, SERVERS, WSGI, environ, scope

# The releases from which on a folder of `http` has something to replace.
RELEASES = {"fastapi": ("fastapi", "0.142.4")}
pytestmark = pytest.mark.filterwarnings("ignore:Inheritance class _InstrumentedApplication:DeprecationWarning")


class _Span(NonRecordingSpan):
    """A span of another vendor's, which raises whatever it is asked for."""

    set_attribute = set_attributes = set_status = update_name = add_event = record_exception = end = broken

    def is_recording(self):
        """It asks for attributes."""
        return True


class _Tracer(trace.Tracer):
    def __init__(self, start):
        self._start = start

    def start_span(self, *_args, **_more):
        """Such a span."""
        return self._start()

    def start_as_current_span(self, *_args, **_more):
        """Likewise."""
        return trace.use_span(self._start(), end_on_exit=True)


class _Tracers(trace.TracerProvider):
    def __init__(self, start):
        self._start = start

    def get_tracer(self, *_args, **_more):
        """A tracer that starts such spans."""
        return _Tracer(self._start)


def _broken_span():
    return _Span(SpanContext(1, 1, is_remote=False, trace_flags=TraceFlags(1)))


# What makes the providers.
SABOTEURS = {
    **FOREIGN,
    "spans": lambda: {**plain(), "tracer_provider": _Tracers(_broken_span)},
    "tracers": lambda: {**plain(), "tracer_provider": _Tracers(broken)},
    "propagators": plain,
}


class _Propagator(propagate.textmap.TextMapPropagator):
    extract = inject = staticmethod(broken)
    fields = frozenset({"traceparent"})


@contextmanager
def _surroundings(saboteur):
    before = propagate.get_global_textmap()
    if saboteur == "propagators":
        propagate.set_global_textmap(_Propagator())
    try:
        with broken_logging():
            yield
    finally:
        propagate.set_global_textmap(before)


@pytest.fixture(scope="module")
def url():
    """That of a server for the clients."""
    with serving() as found:
        yield found


def outcomes(url, given, names=(*SERVERS, *CLIENTS)):
    """What each host gets, with these providers or with none."""
    return {name: CLIENTS[name](given, url) if name in CLIENTS else SERVERS[name](given) for name in names}


@pytest.fixture(scope="module")
def bare(url):
    """What each host gets without telemetry."""
    context.attach(context.Context())
    return outcomes(url, None)


def differences(found, expected):
    """The outcomes that are others: the host, which of its requests or calls, what came of it."""
    return [
        (name, number, *pair)
        for name in expected
        for number, pair in enumerate(zip(found[name], expected[name], strict=True))
        if pair[0] != pair[1]
    ]


def _spans(url):
    """The outcomes and the spans of each host, with providers that do what they should."""
    exporter, given = InMemorySpanExporter(), plain()
    given["tracer_provider"] = TracerProvider(shutdown_on_exit=False)
    given["tracer_provider"].add_span_processor(SimpleSpanProcessor(exporter))
    return outcomes(url, given), sorted(span.name for span in exporter.get_finished_spans())


@pytest.fixture(scope="module")
def usual_spans(url):
    """The names of the spans of all hosts without this package."""
    context.attach(context.Context())
    return _spans(url)[1]


@pytest.mark.parametrize("saboteur", [*ABSORBED, "spans", "tracers"])
def test_a_foreign_fault_is_not_the_applications(instrumentor, core, url, bare, usual_spans, saboteur, caplog):
    """Stock raises what an instrument or another vendor's span raises. Afterwards, there are the usual spans again."""
    with _surroundings(saboteur):
        stock = outcomes(url, SABOTEURS[saboteur]())
    caplog.clear()
    instrumentor.instrument(core=core, disabled="exceptions")

    with _surroundings(saboteur):
        found = outcomes(url, SABOTEURS[saboteur]())

    # Where a function of stock's remains, or another vendor's span is left, it raises as without this package.
    unlike = [row for row in differences(found, bare) if row[2] != (stock[row[0]][row[1]][0], "context kept")]
    assert [row for row in unlike if row[2] != stock[row[0]][row[1]]] == []
    assert [line for line in caplog.messages if "detach" in line] == []
    found, spans = _spans(url)
    assert differences(found, bare) == []
    assert spans == usual_spans


@pytest.mark.parametrize("saboteur", [*RAISED, "propagators"])
def test_an_error_of_the_set_up_is_raised(instrumentor, core, url, usual_spans, no_faults, saboteur, caplog):
    """Of a processor, sampler, id generator or propagator. Afterwards, there are the usual spans again."""
    with _surroundings(saboteur):
        stock = outcomes(url, SABOTEURS[saboteur]())
    detached = [line for line in caplog.messages if "detach" in line]
    caplog.clear()
    instrumentor.instrument(core=core, disabled="exceptions")

    with _surroundings(saboteur):
        found = outcomes(url, SABOTEURS[saboteur]())

    # Stock leaves some contexts moved.
    unlike = differences(found, stock)
    assert [row for row in unlike if row[2] != (row[3][0], "context kept")] == []
    assert no_faults.counts() == {}
    assert len([line for line in caplog.messages if "detach" in line]) <= len(detached)
    assert _spans(url)[1] == usual_spans


HTTP = "otel_fastpath.http."
# Functions of ours that a request or call of some hosts comes through.
OWN = (
    "asgi.serving.read",
    "asgi.serving.MiddlewarePlan.shape",
    "asgi.shapes.details",
    "asgi.requests.AsgiRequest.before_sending",
    "asgi.routes.RouteTable.find",
    "fastapi.requests.tracing_provider",
    "fastapi.requests.FastapiRequest._describe",
    "fastapi.requests.FastapiRequest._put_outcome",
    "fastapi.operations.FastapiOperation.__init__",
    "servers.environs.EnvironShapes.look",
    "servers.server_metrics.ApplicationMetrics.record",
    "servers.responses.ResponseTelemetry.put",
    "servers.responses.ResponseTelemetry.put_status",
    "servers.parents.remote",
    "scopes.attach",
    "wsgi.middleware.Body.__init__",
    "flask.hooks.FlaskRequest._put_response",
    "flask.hooks.Activation",
    "django.middleware.DjangoRequest._put_response",
    "aiohttp_server.requests.InstrumentationPlan.request",
    "server.ServerRequest.record",
    "client.ClientInstrumentation.new_answer",
    "client.ClientInstrumentation.new_shape",
    "clients.outgoing.CallShapes.find",
    "clients.outgoing.propagated",
    "clients.kinds.new_answer",
    "httpx.calls.HttpxInstrumentation._url_of",
    "httpx.calls.propagated",
    "urllib3.hooks.Urllib3Instrumentation._pool_shape",
    "requests.hooks.RequestsInstrumentation.prepare",
    "aiohttp_client.calls.AiohttpClientInstrumentation.prepare",
)


# Where those are that no server comes through.
OF_CLIENTS = ("client", "httpx", "urllib3", "requests", "aiohttp_client")


def _own(place):
    release = RELEASES.get(place.partition(".")[0])
    return pytest.param(place, marks=needs(*release, "the first that is replaced") if release else ())


@pytest.mark.parametrize("place", [_own(place) for place in OWN])
def test_a_fault_of_ours_is_counted_only(instrumentor, url, bare, no_faults, monkeypatch, place):
    """In whichever function of the pure core: those of the compiled one fail in `make faults`."""
    instrumentor.instrument(core="py", disabled="exceptions")
    monkeypatch.setattr(HTTP + place, as_ours(broken))
    hosts = CLIENTS if place.startswith(OF_CLIENTS) else SERVERS

    with broken_logging():
        found = outcomes(url, plain(), hosts)

    assert differences(found, {name: bare[name] for name in hosts}) == []
    assert no_faults.counts()


class _Unhashable(str):
    __slots__ = ()
    __hash__ = None


# Fields of requests as no server sets them.
ODD_SCOPES = (
    {"method": _Unhashable("GET")},
    {"method": 7},
    {"scheme": None},
    {"http_version": 2},
    {"query_string": None},
    {"query_string": b"\xff=%zz"},
    {"server": None},
    {"server": ("h", "80")},
    {"server": ("/run/app.sock", None)},
    {"client": ("h", "5")},
    {"client": [b"h", 1]},
    {"root_path": None},
    {"headers": None},
    {"headers": [(b"host", b"\xff\x00[")]},
    {"headers": [(b"traceparent", b"\xff"), (b"tracestate", b"="), (b"baggage", b"=;=,")]},
    {"headers": [(b"content-length", b"9" * 5000)]},
    {"headers": [(b"user-agent", b"\xff\\x" * 100_000)]},
)
ODD_ENVIRONS = (
    {"REQUEST_METHOD": _Unhashable("GET")},
    {"SERVER_PORT": "x"},
    {"SERVER_PORT": None},
    {"HTTP_HOST": "[:x"},
    {"HTTP_HOST": "h:99999999"},
    {"REMOTE_ADDR": 7, "REMOTE_PORT": "x"},
    {"SERVER_PROTOCOL": ""},
    {"HTTP_USER_AGENT": b"bytes"},
    {"HTTP_TRACEPARENT": 7},
    {"HTTP_TRACEPARENT": PARENT, "HTTP_TRACESTATE": 7, "HTTP_BAGGAGE": "=;=,"},
    {"CONTENT_LENGTH": "x"},
    {"wsgi.url_scheme": _Unhashable("http")},
    {"HTTP_USER_AGENT": "\xff" * 1_000_000},
)
ODD_CALLS = (
    *(("GET", target) for target in ("http://[/", "http://h:x/", "http://h:99999999/", "{url}/200?sig=\xff&%zz")),
    *(("GET", target) for target in ("http://u:p@127.0.0.1:1/", "ftp://h/", "{url}/200#f", "{url}/200?" + "a" * 9000)),
    *((method, "{url}/200") for method in ("get", "QUERY", "", "B\xfcY", _Unhashable("GET"))),
)


def _are_kept(found, without, stock):
    """The outcomes that are neither those without telemetry nor stock's."""
    pairs = zip(found, without, stock, strict=True)
    return [row for row in pairs if row[0] not in row[1:] or row[0][1] != "context kept"]


@pytest.mark.parametrize("name", [*ASGI, *WSGI, *CLIENTS])
def test_strange_values(instrumentor, core, url, name):
    """A request or call with these has the outcome that it has without telemetry, or stock's."""
    if name in CLIENTS:
        run, strange = CLIENTS[name], (url, ODD_CALLS)
    elif name in ASGI:
        run, strange = ASGI[name], ([scope("/items/3", **more) for more in ODD_SCOPES],)
    else:
        run, strange = WSGI[name], ([environ("/items/3", **more) for more in ODD_ENVIRONS],)
    without, stock = run(None, *strange), run(plain(), *strange)
    instrumentor.instrument(core=core, disabled="exceptions")

    assert _are_kept(run(plain(), *strange), without, stock) == []
