"""One scenario, two runs, one comparison."""

from __future__ import annotations

import contextvars
import difflib
import logging
import random
import warnings
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Any
from unittest import mock

import opentelemetry.sdk.trace as sdk_trace
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.resources import Resource
from stock_or_fastpath import stock

from otel_fastpath.patching import faults
from sidebyside.processors import PROCESSORS
from sidebyside.seeing import seen, seen_error, seen_record
from sidebyside.setups import ID_GENERATORS, SAMPLERS, Setup

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    Scenario = Callable[["World"], Any]

_START = 1_700_000_000_000_000_000


class World:
    """A tracer provider, and everything that happens to it.

    Attributes:
        happenings: What was seen, in order: log records, warnings, processor calls, and what the scenario notes.
        now: The time in nanoseconds, for whoever asks.
    """

    def __init__(self, setup: Setup) -> None:
        self.setup = setup
        self.happenings: list[Any] = []
        self.now = _START
        self._exporters: list[Any] = []
        self._reader = InMemoryMetricReader() if setup.metrics else None

    def open(self) -> None:
        """Make the provider and a tracer."""
        setup = self.setup
        self.provider = sdk_trace.TracerProvider(
            sampler=SAMPLERS[setup.sampler](self.told),
            resource=Resource({"service.name": "side by side"}),
            shutdown_on_exit=False,
            active_span_processor=sdk_trace.ConcurrentMultiSpanProcessor(2) if setup.concurrent else None,
            id_generator=ID_GENERATORS[setup.ids](),
            span_limits=setup.span_limits(),
            meter_provider=None if self._reader is None else MeterProvider([self._reader], shutdown_on_exit=False),
        )
        for name in setup.processors:
            self.provider.add_span_processor(PROCESSORS[name](self))
        self.tracer = self.provider.get_tracer("scope", "1.0", "https://schema", {"scope.attribute": 1})

    def tick(self) -> None:
        """Let a second pass; ids start anew, so that a call that failed half way does not shift those after it."""
        self.now += 1_000_000_000
        random.seed(self.setup.seed + self.now)

    def keep(self, exporter: Any) -> Any:
        """Compare what this exporter got."""
        self._exporters.append(exporter)
        return exporter

    def happened(self, *what: Any) -> None:
        """Add what can be compared as it is."""
        self.happenings.append(what)

    def told(self, *what: Any) -> None:
        """Add values that are read now."""
        self.happenings.append(tuple(seen(each) for each in what))

    def attempt(self, label: Any, call: Callable[[], Any]) -> Any:
        """Call, note what comes of it, and return it; None if it raises."""
        try:
            value = call()
        except Exception as error:  # any exception is a result to compare
            self.happened(label, "raised", seen_error(error))
            return None
        self.happened(label, "returned", seen(value))
        return value

    def close(self) -> None:
        """Flush, shut down, and add what was exported and measured."""
        self.attempt("force_flush", self.provider.force_flush)
        self.attempt("shutdown", self.provider.shutdown)
        if self.setup.concurrent:
            self.provider._active_span_processor._executor.shutdown()
        for number, exporter in enumerate(self._exporters):
            for span in exporter.exported:
                self.happened("exported", number, span)
        if self._reader is not None:
            self.happened("measured", _points(self._reader))

    def time_ns(self) -> int:
        """In the place of `time.time_ns`."""
        return self.now


def _points(reader: InMemoryMetricReader) -> Any:
    data = reader.get_metrics_data()
    if data is None:
        return ()
    return tuple(
        (metric.name, seen(dict(point.attributes)), point.value)
        for resource in data.resource_metrics
        for scope in resource.scope_metrics
        for metric in scope.metrics
        for point in metric.data.data_points
    )


class _Logs(logging.Handler):
    def __init__(self, world: World) -> None:
        super().__init__(logging.DEBUG)
        self._world = world

    def emit(self, record: logging.LogRecord) -> None:
        self._world.happened("log", *seen_record(record))


@contextmanager
def _watched(world: World) -> Iterator[None]:
    """Time, logs and warnings as the world has them."""
    handler = _Logs(world)

    def showwarning(message: Any, category: Any, *_args: Any, **_kwargs: Any) -> None:
        world.happened("warning", category.__name__, str(message))

    with ExitStack() as stack:
        stack.enter_context(mock.patch.object(sdk_trace, "time_ns", world.time_ns))
        for name in ("opentelemetry", "otel_fastpath"):
            logger = logging.getLogger(name)
            stack.enter_context(mock.patch.object(logger, "handlers", [handler]))
            stack.enter_context(mock.patch.object(logger, "propagate", False))  # noqa: FBT003  # a value, not an option
            stack.callback(logger.setLevel, logger.level)
            logger.setLevel(logging.DEBUG)
        # It passes each message once in 20 seconds: the first run's would be missing from the second.
        for name in ("opentelemetry.sdk._shared_internal", "opentelemetry.sdk.trace.export"):
            stack.enter_context(mock.patch.object(logging.getLogger(name), "filters", []))
        if world.setup.metrics:
            stack.enter_context(mock.patch.dict("os.environ", {"OTEL_PYTHON_SDK_INTERNAL_METRICS_ENABLED": "true"}))
        stack.enter_context(warnings.catch_warnings())
        warnings.simplefilter("always")
        warnings.showwarning = showwarning
        yield


def run(scenario: Scenario, setup: Setup) -> list[Any]:
    """Run once, on whatever is in place; return the happenings."""
    world = World(setup)

    def inside() -> None:
        random.seed(setup.seed)
        world.open()
        scenario(world)
        world.close()

    # A fault of ours is logged once a process: here once a run.
    faults.forget()
    state = random.getstate()
    try:
        with _watched(world):
            # A context of its own: what one run leaves attached is not the other's parent.
            contextvars.Context().run(inside)
    finally:
        random.setstate(state)
    return world.happenings


def assert_same(
    scenario: Scenario, setup: Setup | None = None, *, read: Callable[[list[Any]], list[Any]] = list
) -> list[Any]:
    """Run the scenario on stock and on the fast path; what happened, as `read` has it, must be equal. Returns it."""
    setup = setup or Setup()
    with stock():
        expected = read(run(scenario, setup))
    found = read(run(scenario, setup))
    if found != expected:
        raise AssertionError(_difference(expected, found))
    return expected


def _difference(expected: list[Any], found: list[Any]) -> str:
    """The first happening that differs, narrowed down to the part that does."""
    for index in range(max(len(expected), len(found))):
        left = expected[index] if index < len(expected) else "<nothing>"
        right = found[index] if index < len(found) else "<nothing>"
        if left != right:
            path, left_part, right_part = _narrow(left, right, "")
            before = "\n".join(f"    {str(each)[:160]}" for each in expected[max(0, index - 6) : index])
            return (
                f"happening {index} differs at {path or 'its whole'}:\n{_both(left_part, right_part)}\n"
                f"  in {str(left)[:300]}\n  before it:\n{before}"
            )
    return "no difference found"


def _both(left: Any, right: Any) -> str:
    if isinstance(left, str) and isinstance(right, str) and "\n" in left:
        lines = difflib.unified_diff(left.splitlines(), right.splitlines(), "stock", "fastpath", lineterm="", n=2)
        return "\n".join(lines)
    return f"  stock:    {left!r}\n  fastpath: {right!r}"


def _narrow(left: Any, right: Any, path: str) -> tuple[str, Any, Any]:
    if isinstance(left, tuple) and isinstance(right, tuple) and len(left) == len(right):
        for index, (one, other) in enumerate(zip(left, right, strict=True)):
            if one != other:
                label = left[0] if index and isinstance(left[0], str) else index
                return _narrow(one, other, f"{path}/{label}")
    return path, left, right
