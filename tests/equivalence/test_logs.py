"""Exceptions in log records: what stock writes of them, by each of stock's ways into a log record."""

from __future__ import annotations

import importlib
import importlib.util
import linecache
import logging
import sys
import traceback
from pathlib import Path

import pytest
from combinations import crossed
from opentelemetry.sdk import _logs
from opentelemetry.sdk._logs.export import InMemoryLogRecordExporter, SimpleLogRecordProcessor
from opentelemetry.sdk.version import __version__ as sdk_version
from sidebyside import errors

from otel_fastpath.trace import stack_traces

sys.path.insert(0, str(Path(__file__).parents[1] / "upstream"))

from harness import released

pytestmark = pytest.mark.filterwarnings("ignore:.LoggingHandler. in .opentelemetry-sdk. is deprecated")

TAKES_EXCEPTIONS = tuple(map(int, sdk_version.split(".")[:2])) >= (1, 42)
# The ways -> the patches that they need.
ROWS = {"sdk": "handler", "instrumentation": "instrumentation_handler", "exception": "exception"}
WAYS = tuple(way for way in ROWS if TAKES_EXCEPTIONS or way != "exception")
# What is released with the SDK of 1.x is 0.(x + 21)b.
BETA = "0.{}b{}".format(int(sdk_version.split(".")[1]) + 21, sdk_version.split(".")[2])


@pytest.fixture
def instrumentation(monkeypatch):
    """The module of the `logging` instrumentation's handler: the installed one, or the release for this SDK."""
    name = "opentelemetry.instrumentation.logging"
    if importlib.util.find_spec(name) is not None:
        yield importlib.import_module(f"{name}.handler")
        return
    monkeypatch.syspath_prepend(released.wheel("opentelemetry-instrumentation-logging", BETA))
    yield importlib.import_module(f"{name}.handler")
    for module in [module for module in sys.modules if module.startswith(name)]:
        del sys.modules[module]


@pytest.fixture
def handlers(instrumentation):
    """Each class of handlers."""
    return {"sdk": _logs.LoggingHandler, "instrumentation": instrumentation.LoggingHandler}


def attributes_of(way, error, handlers):
    """The attributes of a record of the error."""
    exporter = InMemoryLogRecordExporter()
    provider = _logs.LoggerProvider(shutdown_on_exit=False)
    provider.add_log_record_processor(SimpleLogRecordProcessor(exporter))
    if way == "exception":
        provider.get_logger("test").emit(body="it failed", exception=error)
    else:
        parts = ("test", logging.ERROR, __file__, 1, "it failed", (), (type(error), error, error.__traceback__))
        handlers[way](logger_provider=provider).emit(logging.LogRecord(*parts))
    records = exporter.get_finished_logs()
    return dict(records[0].log_record.attributes) if records else None


@pytest.mark.proves("logs.exception", "logs.handler", "logs.instrumentation_handler")
@pytest.mark.parametrize(("way", "what"), crossed(WAYS, list(errors.RAISERS)))
def test_a_record_of_an_exception_is_as_stock_writes_it(way, what, handlers, instrumentor):
    """All attributes, in their order, the stack trace to the letter."""
    error = errors.made(what)
    expected = outcome(way, error, handlers)

    instrumentor.instrument()

    assert {row.name: row.state.value for row in instrumentor.status()}[f"logs.{ROWS[way]}"] == "applied"
    if isinstance(expected, str):
        # Stock raises it in the application; the record is lost here, too, and counted.
        expected = None
    assert outcome(way, error, handlers) == expected
    assert outcome(way, error, handlers) == expected


def outcome(way, error, handlers):
    """The attributes, None if there is no record, or the exception that logging this one ends with."""
    try:
        attributes = attributes_of(way, error, handlers)
        return None if attributes is None else list(attributes.items())
    except (RuntimeError, KeyError) as raised:
        # Up to 3.12, the `traceback` module raises the second, too.
        return repr(raised)


@pytest.mark.parametrize("way", WAYS)
def test_a_known_stack_is_not_formatted_again(way, handlers, instrumentor, monkeypatch):
    """That is what the patches are for."""
    instrumentor.instrument()
    error = errors.made("plain")
    expected = attributes_of(way, error, handlers)

    # Looked at by `traceback` for each stack that it formats.
    looks = []
    monkeypatch.setattr(linecache, "checkcache", looks.append)

    assert attributes_of(way, error, handlers) == expected
    assert looks == []


@pytest.mark.parametrize("way", WAYS)
def test_a_fault_of_ours_leaves_the_text_to_traceback(way, handlers, instrumentor, monkeypatch, no_faults, logged):
    """It is counted each time and logged once; where `Logger.emit` makes the text, stock's code does it again."""
    error = errors.made("plain")
    expected = attributes_of(way, error, handlers)
    instrumentor.instrument()
    made = {"__name__": "otel_fastpath.test"}
    exec("def text(_error): return 1 / 0", made)  # noqa: S102  # a function of a module of ours that is not there
    monkeypatch.setattr(stack_traces, "text", made["text"])

    assert [attributes_of(way, error, handlers) for _ in range(2)] == [expected] * 2

    places = ("Logger.emit", "logs") if way == "exception" else ("logs",)
    assert no_faults.counts() == dict.fromkeys(places, 2)
    assert len(logged()) == len(places)


def test_a_traceback_of_another_exception_is_shown_as_given(handlers, instrumentor):
    """The three of `exc_info` need not belong together."""
    error, other = errors.made("plain"), errors.made("caused")
    record = logging.LogRecord("test", logging.ERROR, __file__, 1, "x", (), (type(error), error, other.__traceback__))
    handler = handlers["sdk"]()
    expected = handler._get_attributes(record)

    instrumentor.instrument()

    assert handler._get_attributes(record) == expected
    assert other.__traceback__.tb_frame.f_code.co_name in expected["exception.stacktrace"]


@pytest.mark.parametrize("way", WAYS)
def test_another_format_exception_is_called(way, handlers, instrumentor, monkeypatch):
    """Somebody who leaves secrets out of stack traces does so in log records."""
    instrumentor.instrument()
    monkeypatch.setattr(traceback, "format_exception", lambda *_, **__: ["***"])

    assert attributes_of(way, errors.made("plain"), handlers)["exception.stacktrace"] == "***"


def test_what_formats_is_put_back(handlers, instrumentor):
    """Stock's modules have the standard library's module again."""
    instrumentor.instrument()
    places = [sys.modules[kind.__module__] for kind in handlers.values()]
    assert all(place.traceback is not traceback for place in places)
    assert all(place.traceback.print_exc is traceback.print_exc for place in places)

    instrumentor.uninstrument()

    assert all(place.traceback is traceback for place in places)
