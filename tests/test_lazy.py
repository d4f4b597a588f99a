"""Lazy values: when, how often and in which thread they are made, and what is exported."""

from __future__ import annotations

import json
import logging
import threading

import pytest
from combinations import crossed
from opentelemetry.sdk.trace import SpanLimits, TracerProvider, sampling
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SimpleSpanProcessor, SpanExporter, SpanExportResult
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from otel_fastpath import lazy as lazies
from otel_fastpath.lazy import FAILED, UNMADE, Lazy, lazy


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
    """Reads attributes in the export thread, as an encoder does."""

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
        """A value that is overwritten cannot be read."""
        call = _Call()
        tracer, finished = _exporting()
        with tracer.start_as_current_span("a") as span:
            span.set_attribute("k", lazy(call))
            span.set_attribute("k", "now")
        assert finished()[0].attributes == {"k": "now"}
        assert call.threads == []

    def test_once_for_all_readers(self):
        """The first reader makes the call."""
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
        """Reading the attributes of a live span makes the value."""
        call = _Call()
        tracer, finished = _exporting()
        with tracer.start_as_current_span("a") as span:
            span.set_attribute("k", lazy(call))
            assert span.attributes["k"] == "made"
        assert finished()[0].attributes == {"k": "made"}
        assert len(call.threads) == 1

    def test_the_arguments_are_let_go(self):
        """Once the value is made, the arguments are freed."""

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
        ("value", "where"),
        crossed(
            ["longer than the limit", "text", 1, 1.5, True, None, b"b", ["a"], [1, "mixed"], {"a": [1]}, object],
            ["start", "one", "several", "event"],
        ),
        ids=repr,
    )
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

    @pytest.mark.parametrize("read", [list, len, dict, repr, lambda attributes: attributes.get("bad", "none")])
    @pytest.mark.parametrize("value", [None, [1, "mixed"], object])
    def test_while_the_span_goes_on(self, value, read):
        """There is an attribute where stock has one."""

        def run(given):
            tracer, _ = _exporting()
            with tracer.start_as_current_span("a", attributes={"first": 1}) as span:
                span.set_attribute("bad", given)
                return read(span.attributes), "bad" in span.attributes, span.attributes == {"first": 1}

        assert run(lazy(lambda: value)) == run(value)

    def test_arguments(self):
        """Positional and keyword arguments are the call's own."""
        tracer, finished = _exporting()
        with tracer.start_as_current_span("a") as span:
            span.set_attribute("k", lazy(json.dumps, {"b": 1, "a": 2}, sort_keys=True))
        assert finished()[0].attributes == {"k": '{"a": 2, "b": 1}'}

    def test_a_failure_is_a_marker_and_one_log_line(self, caplog):
        """However often it is read, and however many values the same function is to make."""
        # The first failure of a function is logged: this one has a name of its own on each core.
        call = type(f"_Call{id(caplog)}", (_Call,), {})(ValueError("no"))
        tracer, finished = _exporting()
        for _ in range(3):
            with tracer.start_as_current_span("a") as span:
                span.set_attributes({"k": lazy(call), "other": 1})
        for each in finished() * 2:
            assert each.attributes == {"k": FAILED, "other": 1}
        [record] = caplog.records
        assert record.levelno == logging.ERROR
        assert isinstance(record.exc_info[1], ValueError)
        assert len(call.threads) == 3
        assert lazies.failures()[f"{__name__}.{type(call).__qualname__}"] == 3


@pytest.mark.usefixtures("instrumented")
class TestItsOwnSpan:
    """A value that is made from the span that it belongs to."""

    @pytest.mark.parametrize("processor", [SimpleSpanProcessor, BatchSpanProcessor])
    def test_read_when_exported(self, processor):
        """What the span has then; the value itself is not made yet, and its function is called once."""
        seen = []
        exporter = _Reading()
        provider = TracerProvider(shutdown_on_exit=False)
        provider.add_span_processor(processor(exporter))
        with provider.get_tracer("lazy").start_as_current_span("a", attributes={"first": 1}) as span:
            span.set_attribute("own", lazy(lambda: seen.append(dict(span.attributes)) or str(dict(span.attributes))))
            span.set_attribute("last", 2)
        provider.shutdown()
        expected = {"first": 1, "own": UNMADE, "last": 2}
        assert seen == [expected]
        assert exporter.seen == [{**expected, "own": str(expected)}]

    def test_read_while_the_span_goes_on(self):
        """Likewise, and the attributes of an event."""
        tracer, finished = _exporting()
        with tracer.start_as_current_span("a", attributes={"first": 1}) as span:
            span.set_attribute("own", lazy(lambda: str(dict(span.attributes))))
            span.add_event("e", {"own": lazy(lambda: str(dict(span.events[0].attributes)))})
            assert span.attributes["own"] == str({"first": 1, "own": UNMADE})
            assert span.events[0].attributes["own"] == str({"own": UNMADE})
            span.set_attribute("last", 2)
        assert finished()[0].attributes == {"first": 1, "own": str({"first": 1, "own": UNMADE}), "last": 2}

    def test_two_that_read_each_other(self):
        """Each sees the other one as not made, where making it led there."""
        tracer, finished = _exporting()
        with tracer.start_as_current_span("a") as span:
            span.set_attribute("one", lazy(lambda: str(span.attributes["two"])))
            span.set_attribute("two", lazy(lambda: str(span.attributes["one"])))
        assert finished()[0].attributes == {"one": UNMADE, "two": UNMADE}

    def test_as_json(self):
        """All that stock's own code reads can be read."""
        tracer, finished = _exporting()
        with tracer.start_as_current_span("a", attributes={"first": 1}) as span:
            span.set_attribute("own", lazy(lambda: json.loads(span.to_json())["attributes"]["first"]))
        assert finished()[0].attributes == {"first": 1, "own": 1}

    def test_in_several_threads(self):
        """Those that need it at the same moment get the same value, and none waits for another."""
        tracer, finished = _exporting()
        barrier = threading.Barrier(2, timeout=60)
        with tracer.start_as_current_span("a") as span:
            # Both threads are in their call at once: a lock around it would have one wait for ever.
            span.set_attribute("own", lazy(lambda: barrier.wait() + len(span.attributes)))
            values = []
            readers = [threading.Thread(target=lambda: values.append(span.attributes["own"])) for _ in range(2)]
            for reader in readers:
                reader.start()
            for reader in readers:
                reader.join()
        assert len(values) == 2
        assert {finished()[0].attributes["own"], *values} == {values[0]}

    def test_set_meanwhile(self):
        """What is set while the value is made is not overwritten by it."""
        tracer, finished = _exporting()
        with tracer.start_as_current_span("a") as span:
            span.set_attribute("k", lazy(lambda: span.set_attribute("k", "newer")))
            assert dict(span._attributes) == {"k": "newer"}
        assert finished()[0].attributes == {"k": "newer"}


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

        class Unknown:
            def __str__(self):
                return "2"

        kept = lazy(max, 1, 2)
        assert type(kept) is Lazy
        instrumented.uninstrument()
        assert lazy(max, 1, 2) == 2
        tracer, finished = _exporting()
        for value in (kept, Unknown()):
            with tracer.start_as_current_span("a") as span:
                span.set_attribute("k", value)
        late, unknown = finished()
        assert late.attributes == unknown.attributes, "stock takes the text of a value it does not know, or drops it"
