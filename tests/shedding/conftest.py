"""A provider whose spans are kept in memory, and a guard that is driven by hand."""

import pytest
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from otel_fastpath.shedding import clocks
from otel_fastpath.shedding import keeper as keeping

pytest.importorskip("opentelemetry.sdk.trace._sampling_experimental", reason="the SDK keeps no list of its tracers")


class Traced:
    """A tracer provider, and the spans that it has exported."""

    def __init__(self, sampler=None):
        self.provider = TracerProvider(sampler=sampler)
        self._exporter = InMemorySpanExporter()
        self.provider.add_span_processor(SimpleSpanProcessor(self._exporter))

    def tracer(self, scope="tests"):
        """A tracer of this scope."""
        return self.provider.get_tracer(scope)

    def spans(self):
        """The spans that were exported."""
        return self._exporter.get_finished_spans()

    def requests(self, number, scope="tests", context=None):
        """Make traces of three spans, one of them around a message of ASGI; return the ids of all of them."""
        tracer, made = self.tracer(scope), []
        for _ in range(number):
            with tracer.start_as_current_span("GET /", context, trace.SpanKind.SERVER) as root:
                made.append(root.get_span_context().trace_id)
                with tracer.start_as_current_span("work"):
                    tracer.start_span("GET / http send").end()
        return made


@pytest.fixture
def traced():
    """Makes providers: `traced(sampler)`."""
    return Traced


class _NoThread:
    def start(self):
        """Do nothing."""

    def join(self, _patience):
        """Likewise."""


@pytest.fixture
def driven(monkeypatch):
    """Makes guards that are driven by hand: `driven(provider, limit=0.1)`, then `guard.spend(share, seconds)`."""
    made = []

    class Guard(keeping.Keeper):
        def __init__(self, provider=None, limit=0.1):
            super().__init__(limit, provider)
            made.append(self)
            # No thread: `spend` does what it does.
            monkeypatch.setattr(keeping.threading, "Thread", lambda **_: _NoThread())
            self.start()
            monkeypatch.undo()

        def spend(self, share, seconds=1):
            """Tick once a second, while telemetry takes this share of a whole processor."""
            for _ in range(seconds):
                self._clocks.read = lambda: clocks.Cost(1.0, 1.0, {clocks.HOOKS: share})
                self.tick()

    yield Guard
    for guard in made:
        guard.stop()


@pytest.fixture(params=["stock", "py", "c"])
def started(request):
    """Without this package's patches, and with each of its cores."""
    if request.param == "stock":
        return None
    instrumentor = request.getfixturevalue("instrumentor")
    if request.param == "c":
        pytest.importorskip("otel_fastpath.trace.context.scope_c")
    instrumentor.instrument(core=request.param)
    return instrumentor
