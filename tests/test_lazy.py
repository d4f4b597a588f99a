"""Values made later: when, how often, in which thread, and what of them is exported."""

from __future__ import annotations

import json
import logging
import threading

import pytest
from opentelemetry.sdk.trace import SpanLimits, TracerProvider, sampling
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SimpleSpanProcessor, SpanExporter, SpanExportResult
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from otel_fastpath.lazy import FAILED, Lazy, lazy


class _Call:
    """A function that remembers in which threads it was called."""

    def __init__(self, result="made"):
        self.result = result
        self.threads = []

    def __call__(self, *args, **kwargs):
        self.threads.append(threading.current_thread())
        if isinstance(self.result, Exception):
            raise self.result
        return self.result if not (args or kwargs) else (args, kwargs)


class _Reading(SpanExporter):
    """Reads attributes where an encoder does: in the export thread."""

    def __init__(self):
        self.seen = []

    def export(self, spans):
        self.seen += [dict(span.attributes) for span in spans]
        return SpanExportResult.SUCCESS


def _exporting(processor=SimpleSpanProcessor, **options):
    exporter = InMemorySpanExporter()
    provider = TracerProvider(shutdown_on_exit=False, **options)
    provider.add_span_processor(processor(exporter))
    return provider.get_tracer("lazy"), exporter.get_finished_spans


@pytest.mark.usefixtures("instrumented")
class TestWhen:
    """What makes the call, and what does not."""

    def test_in_the_export_thread_once(self):
        """Neither setting the attribute nor ending the span makes the call."""
        call, exporter = _Call(), _Reading()
        provider = TracerProvider(shutdown_on_exit=False)
        provider.add_span_processor(BatchSpanProcessor(exporter, schedule_delay_millis=3_600_000))
        tracer = provider.get_tracer("lazy")
        for _ in range(2):
            with tracer.start_as_current_span("a") as span:
                span.set_attribute("k", lazy(call))
        assert not call.threads or threading.main_thread() not in call.threads, "ending a span makes no call"
        provider.shutdown()
        assert exporter.seen == [{"k": "made"}] * 2
        assert len(call.threads) == 2
        assert threading.main_thread() not in call.threads

    def test_never_for_a_span_that_is_not_recording(self):
        """Sampled out, no attribute is made."""
        call = _Call()
        tracer, finished = _exporting(sampler=sampling.ALWAYS_OFF)
        with tracer.start_as_current_span("a", attributes={"start": lazy(call)}) as span:
            span.set_attribute("k", lazy(call))
            span.set_attributes({"k": lazy(call)})
            span.add_event("e", {"k": lazy(call)})
        assert finished() == ()
        assert call.threads == []

    def test_not_for_a_span_that_has_ended(self, caplog):
        """What a span drops is not made for it."""
        call = _Call()
        tracer, finished = _exporting()
        span = tracer.start_span("a")
        span.end()
        span.set_attribute("k", lazy(call))
        assert [record.message for record in caplog.records] == ["Setting attribute on ended span."]
        assert finished()[0].attributes == {}
        assert call.threads == []

    def test_not_for_a_value_that_is_replaced(self):
        """Nobody can read what is overwritten."""
        call = _Call()
        tracer, finished = _exporting()
        with tracer.start_as_current_span("a") as span:
            span.set_attribute("k", lazy(call))
            span.set_attribute("k", "now")
        assert finished()[0].attributes == {"k": "now"}
        assert call.threads == []

    def test_once_for_all_readers(self):
        """Whoever reads first makes the call, and everybody waits for it."""
        call = _Call()
        tracer, finished = _exporting()
        with tracer.start_as_current_span("a") as span:
            span.set_attribute("k", lazy(call))
        seen = []
        readers = [threading.Thread(target=lambda: seen.append(finished()[0].attributes["k"])) for _ in range(8)]
        for reader in readers:
            reader.start()
        for reader in readers:
            reader.join()
        assert json.loads(finished()[0].to_json())["attributes"] == {"k": "made"}
        assert seen == ["made"] * 8
        assert len(call.threads) == 1

    def test_while_the_span_goes_on(self):
        """Reading the attributes of a live span is reading."""
        call = _Call()
        tracer, finished = _exporting()
        with tracer.start_as_current_span("a") as span:
            span.set_attribute("k", lazy(call))
            assert span.attributes["k"] == "made"
        assert finished()[0].attributes == {"k": "made"}
        assert len(call.threads) == 1

    def test_the_arguments_are_let_go(self):
        """Once the value is there, what it was made of is freed."""

        class Argument:
            freed = False

            def __del__(self):
                type(self).freed = True

        tracer, finished = _exporting()
        with tracer.start_as_current_span("a") as span:
            span.set_attribute("k", lazy(lambda _: "made", Argument()))
            assert not Argument.freed
            assert span.attributes["k"] == "made"
            assert Argument.freed
        assert finished()[0].attributes == {"k": "made"}


@pytest.mark.usefixtures("instrumented")
class TestWhat:
    """What is exported is what the value itself would have given."""

    @pytest.mark.parametrize(
        "value",
        ["text", "longer than the limit", 1, 1.5, True, None, b"b", ["a"], [1, "mixed"], {"a": [1]}, object],
        ids=repr,
    )
    @pytest.mark.parametrize("where", ["start", "one", "several", "event"])
    def test_as_if_given_at_once(self, value, where, caplog):
        """Cleaned, cut and warned about as stock does it."""

        def run(given):
            caplog.clear()
            tracer, finished = _exporting(span_limits=SpanLimits(max_attribute_length=8))
            attributes = {"k": given}
            with tracer.start_as_current_span("a", attributes=attributes if where == "start" else None) as span:
                if where == "one":
                    span.set_attribute("k", given)
                elif where == "several":
                    span.set_attributes(attributes)
                elif where == "event":
                    span.add_event("e", attributes)
            exported = finished()[0]
            made = exported.events[0].attributes if where == "event" else exported.attributes
            return dict(made), [record.getMessage() for record in caplog.records]

        assert run(lazy(lambda: value)) == run(value)

    def test_arguments(self):
        """Positional and keyword arguments are the call's own."""
        tracer, finished = _exporting()
        with tracer.start_as_current_span("a") as span:
            span.set_attribute("k", lazy(json.dumps, {"b": 1, "a": 2}, sort_keys=True))
        assert finished()[0].attributes == {"k": '{"a": 2, "b": 1}'}

    def test_a_failure_is_a_marker_and_one_log_line(self, caplog):
        """However often it is read."""
        call = _Call(ValueError("no"))
        tracer, finished = _exporting()
        with tracer.start_as_current_span("a") as span:
            span.set_attributes({"k": lazy(call), "other": 1})
        for _ in range(2):
            assert finished()[0].attributes == {"k": FAILED, "other": 1}
        [record] = caplog.records
        assert record.levelno == logging.ERROR
        assert isinstance(record.exc_info[1], ValueError)
        assert len(call.threads) == 1


class TestOff:
    """Without the fast path `lazy` is a call."""

    @pytest.mark.usefixtures("instrumentor")
    def test_made_at_once(self):
        """Its result and its exception are the caller's."""
        assert lazy(max, 1, 2) == 2
        with pytest.raises(ValueError, match="no"):
            lazy(_Call(ValueError("no")))

    def test_from_uninstrument_on(self, instrumented):
        """A value that was put off before is still made."""
        kept = lazy(max, 1, 2)
        assert type(kept) is Lazy
        instrumented.uninstrument()
        assert lazy(max, 1, 2) == 2
        tracer, finished = _exporting()
        with tracer.start_as_current_span("a") as span:
            span.set_attribute("k", kept)
        assert finished()[0].attributes == {"k": "2"}, "upstream takes the text of a value it does not know"
