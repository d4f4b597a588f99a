"""Foreign parts of a telemetry set-up that raise whatever they are asked for."""

from __future__ import annotations

import logging
from contextlib import contextmanager
from types import FunctionType
from typing import TYPE_CHECKING, Any

import pytest
from opentelemetry import context
from opentelemetry.metrics import NoOpMeter, NoOpMeterProvider
from opentelemetry.sdk._logs import LoggerProvider, LogRecordProcessor
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import SpanProcessor, TracerProvider
from opentelemetry.sdk.trace.id_generator import IdGenerator
from opentelemetry.sdk.trace.sampling import Sampler

from otel_fastpath.patching import faults

if TYPE_CHECKING:
    from collections.abc import Iterator


class Sabotage(Exception):  # noqa: N818  # nobody's error
    """What a saboteur raises."""


def broken(*_args: Any, **_kwargs: Any) -> Any:
    """Stands in the place of any function."""
    raise Sabotage("whatever it was asked for")


def as_ours(function: FunctionType) -> FunctionType:
    """The function as if a module of this package had defined it: what it raises is a fault of ours."""
    names = {**function.__globals__, "__name__": "otel_fastpath"}
    return FunctionType(function.__code__, names, closure=function.__closure__)


def _processor(*names: str) -> Any:
    def make() -> dict[str, Any]:
        provider = TracerProvider(shutdown_on_exit=False)
        provider.add_span_processor(type("Processor", (SpanProcessor,), dict.fromkeys(names, broken))())
        return {"tracer_provider": provider}

    return make


def _sampler() -> dict[str, Any]:
    kind = type("Broken", (Sampler,), {"should_sample": broken, "get_description": lambda _: "broken"})
    return {"tracer_provider": TracerProvider(sampler=kind(), shutdown_on_exit=False)}


def _ids() -> dict[str, Any]:
    kind = type("Broken", (IdGenerator,), {"generate_span_id": broken, "generate_trace_id": broken})
    return {"tracer_provider": TracerProvider(id_generator=kind(), shutdown_on_exit=False)}


class _Instrument:
    add = record = set = staticmethod(broken)


class _Meter(NoOpMeter):
    def create_histogram(self, *_args: Any, **_kwargs: Any) -> Any:
        return _Instrument()

    create_counter = create_up_down_counter = create_histogram


class _Meters(NoOpMeterProvider):
    def get_meter(self, name: str, *_args: Any, **_kwargs: Any) -> Any:
        return _Meter(name)


def _meters() -> dict[str, Any]:
    return {"tracer_provider": TracerProvider(shutdown_on_exit=False), "meter_provider": _Meters()}


def _logs() -> dict[str, Any]:
    provider = LoggerProvider(shutdown_on_exit=False)
    kind = type(
        "Broken",
        (LogRecordProcessor,),
        {"on_emit": broken, "shutdown": lambda _: None, "force_flush": lambda *_: True},
    )
    provider.add_log_record_processor(kind())
    return {"tracer_provider": TracerProvider(shutdown_on_exit=False), "logger_provider": provider}


def plain() -> dict[str, Any]:
    """Providers that do what they should: the fault is somewhere else."""
    meters = MeterProvider([InMemoryMetricReader()], shutdown_on_exit=False)
    return {"tracer_provider": TracerProvider(shutdown_on_exit=False), "meter_provider": meters}


# Makes the providers for `instrument()`.
FOREIGN = {
    "on_start": _processor("on_start"),
    "on_ending": _processor("_on_ending"),
    "on_end": _processor("on_end"),
    "processor": _processor("on_start", "_on_ending", "on_end"),
    "sampler": _sampler,
    "ids": _ids,
    "metrics": _meters,
    "logs": _logs,
}


class Odd(Exception):  # noqa: N818  # it is the host's own
    """An exception of the host's that cannot be made a text."""

    __str__ = __repr__ = broken


# Those whose errors the application gets, as with stock.
RAISED = ("on_start", "on_ending", "on_end", "processor", "sampler", "ids")
ABSORBED = tuple(name for name in FOREIGN if name not in RAISED)


@contextmanager
def raising_once() -> Iterator[None]:
    """What is done here gets the saboteur's error, and no fault of ours is counted; the context is as it was before."""
    before, counted = context.get_current(), faults.counts()
    with pytest.raises(Sabotage), broken_logging():
        yield
    assert context.get_current() is before
    assert faults.counts() == counted


@contextmanager
def broken_logging() -> Iterator[None]:
    """Our log goes to a handler that raises."""
    handler = logging.Handler()
    handler.emit = broken  # type: ignore[method-assign]
    logger = logging.getLogger("otel_fastpath")
    logger.addHandler(handler)
    try:
        yield
    finally:
        logger.removeHandler(handler)
