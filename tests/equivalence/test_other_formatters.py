"""What others put in the place of the formatting of stack traces, to leave secrets out, is called as stock does."""

from __future__ import annotations

import subprocess
import sys
import textwrap
import traceback

import pytest
from opentelemetry import trace
from opentelemetry.sdk import trace as sdk_trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

STOCK_FORMAT = traceback.format_exception
# Put together, so that no line of source that is shown has it.
SECRET = "hunter" + str(2)


def redacting(*args, **kwargs):
    """One that leaves every secret out."""
    return [text.replace("hunter2", "***") for text in STOCK_FORMAT(*args, **kwargs)]


class Redacting(traceback.TracebackException):
    """Another way to leave them out."""

    def format(self, **more):
        """As the standard library's, redacted."""
        for text in super().format(**more):
            yield text.replace("hunter2", "***")


def method(name):
    """A method of `TracebackException` that redacts."""
    stocks = getattr(traceback.TracebackException, name)

    def redacted(self, **more):
        for text in stocks(self, **more):
            yield text.replace("hunter2", "***")

    return redacted


# What is replaced: owner, name, by what.
SCRUBBERS = {
    "format_exception": lambda: (traceback, "format_exception", redacting),
    "the class": lambda: (traceback, "TracebackException", Redacting),
    "its format": lambda: (traceback.TracebackException, "format", method("format")),
    "its format_exception_only": lambda: (
        traceback.TracebackException,
        "format_exception_only",
        method("format_exception_only"),
    ),
    "in the SDK": lambda: (sdk_trace, "traceback", type("Module", (), {"format_exception": staticmethod(redacting)})),
}


@pytest.fixture(params=SCRUBBERS)
def scrubber(request):
    """What is replaced."""
    return SCRUBBERS[request.param]()


def fail():
    """Raise an exception with a secret."""
    raise ValueError(SECRET)


def recorded(how):
    """The event of an exception with a secret, from a provider of its own, and where that exports."""
    exporter = InMemorySpanExporter()
    provider = TracerProvider(shutdown_on_exit=False)
    provider.add_span_processor(BatchSpanProcessor(exporter))
    tracer = provider.get_tracer("formatters")
    try:
        if how == "record_exception":
            with tracer.start_as_current_span("explicit") as span:
                try:
                    fail()
                except ValueError as error:
                    span.record_exception(error)
        elif how == "use_span":
            with trace.use_span(tracer.start_span("used"), end_on_exit=True):
                fail()
        else:
            with tracer.start_as_current_span("escaping"):
                fail()
    except ValueError:
        pass

    def event():
        provider.force_flush()
        (span,) = exporter.get_finished_spans()
        (found,) = span.events
        provider.shutdown()
        return dict(found.attributes)

    return event


WAYS = pytest.mark.parametrize("how", ["record_exception", "start_as_current_span", "use_span"])


@WAYS
def test_a_scrubber_that_comes_after_us_redacts(core, environ, scrubber, how):
    """Its text is what stock records, frame for frame; it stays when the scrubber has gone before the export."""
    from stock_or_fastpath import fastpath

    def with_it():
        environ.setattr(*scrubber)
        try:
            return recorded(how)
        finally:
            environ.undo()

    expected = with_it()()
    with fastpath(core):
        found = with_it()()
        later = recorded(how)()

    assert found == expected
    assert "hunter2" not in found["exception.stacktrace"]
    assert "***" in found["exception.stacktrace"]
    assert "hunter2" in later["exception.stacktrace"], "the standard one is back"


@WAYS
def test_what_was_recorded_before_a_scrubber_came_is_not_changed(core, environ, how):
    """Stock formats when it records."""
    from stock_or_fastpath import fastpath

    with fastpath(core):
        event = recorded(how)
        environ.setattr(traceback, "format_exception", redacting)
        assert "hunter2" in event()["exception.stacktrace"]


def test_a_scrubber_gets_the_arguments_that_stock_gives(core, environ):
    """And is called once for each exception that is recorded."""
    from stock_or_fastpath import fastpath

    calls = []

    def noting(*args, **kwargs):
        calls.append((len(args), sorted(kwargs)))
        return ["noted"]

    def run():
        environ.setattr(traceback, "format_exception", noting)
        recorded("start_as_current_span")()
        environ.undo()
        made = calls.copy()
        calls.clear()
        return made

    expected = run()
    with fastpath(core):
        assert run() == expected
    assert len(expected) == 1


@pytest.mark.parametrize("what", ["spans", "logs"])
@pytest.mark.parametrize("scrub", ["traceback.format_exception", "traceback.TracebackException.format"])
def test_a_scrubber_that_was_there_before_us_redacts(core, what, scrub):
    """Also where it came before any module of ours was imported."""
    script = f"""
        import logging, sys, traceback
        stocks = {scrub}
        def redacting(*args, **kwargs):
            return [text.replace("hunter2", "***") for text in stocks(*args, **kwargs)]
        {scrub} = redacting
        from opentelemetry.sdk.trace import TracerProvider
        from opentelemetry.sdk._logs import LoggingHandler
        from otel_fastpath.instrumentor import FastpathInstrumentor
        FastpathInstrumentor().instrument(core={core!r}, exceptions="off")
        try:
            with TracerProvider(shutdown_on_exit=False).get_tracer("t").start_as_current_span("s") as span:
                raise ValueError("hunter" + str(2))
        except ValueError:
            if {what!r} == "spans":
                found = span.events[0].attributes
            else:
                record = logging.LogRecord("t", logging.ERROR, "f", 1, "x", (), sys.exc_info())
                found = LoggingHandler()._get_attributes(record)
        print(found["exception.stacktrace"])
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(script)], capture_output=True, text=True, timeout=120, check=False
    )

    assert "***" in done.stdout, done.stderr
    assert "hunter2" not in done.stdout
