"""One of the processes that take turns: bare, stock or fastpath. It reads commands from standard input.

Each command and each answer is one line of JSON. Output of the measured code goes to standard error.
"""

from __future__ import annotations

import functools
import importlib.util
import json
import logging
import os
import sys
from typing import TYPE_CHECKING, Any, Final

from otel_fastpath.tools.bench.arguments import SERVERS
from otel_fastpath.tools.bench.probes import PROBES
from otel_fastpath.tools.budget import blocks
from otel_fastpath.tools.budget.counting.callables import Running, ScenarioError, describe, load

if TYPE_CHECKING:
    from collections.abc import Callable

    from otel_fastpath.tools.budget.counting.callables import Arm

BARE: Final = "bare"
STOCK: Final = "stock"
FASTPATH: Final = "fastpath"
LEGS: Final = (BARE, STOCK, FASTPATH)
# Long enough to pay for the wake-up before it, short enough for the machine's state to be the same in all legs.
PLAN: Final = blocks.MeasurementPlan(block_ns=2_000_000, warm_up=200)


def main(name: str, servers: str, *path: str) -> None:
    """Serve until standard input ends."""
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    sys.path[:0] = path
    leg = _LegCommands(name, json.loads(servers))
    for line in sys.stdin:
        command, *arguments = json.loads(line)
        try:
            answer = getattr(leg, command)(*arguments)
        except ScenarioError as error:
            answer = {"error": str(error)}
        except Exception as error:  # an instrumentation may raise anything; the parent shows it
            answer = {"error": describe(error)}
        answers.write(json.dumps(answer) + "\n")
        answers.flush()
    # Do not wait for exporters.
    os._exit(0)


class _LegCommands:
    """The commands."""

    def __init__(self, name: str, servers: dict[str, str]) -> None:
        self._name = name
        self._servers = servers
        self._running: Running | None = None
        self._instrumentor: Any = None
        self._arms: dict[str, Arm] = {}
        self._calls: dict[str, int] = {}

    def load(self) -> dict[str, Any]:
        """Set up the telemetry of this leg."""
        if self._name == BARE:
            return {"active": [], "failed": []}
        logging.disable(logging.CRITICAL)
        if self._name == FASTPATH:
            from otel_fastpath import FastpathInstrumentor  # noqa: PLC0415  # only in this leg

            self._instrumentor = FastpathInstrumentor()
            self._instrumentor.instrument()
        _provide()
        active, failed = _instrument()
        logging.disable(logging.NOTSET)
        return {"active": active, "failed": failed}

    def patches(self) -> dict[str, int]:
        """The number of patches in each state, after all measured modules have been imported."""
        states: dict[str, int] = {}
        for row in self._instrumentor.status() if self._instrumentor else ():
            state = str(getattr(row.state, "value", row.state))
            states[state] = states.get(state, 0) + 1
        return states

    def prepare(self, number: int) -> dict[str, Any]:
        """Set up one of the built-in probes."""
        probe = PROBES[number]
        for module in probe.needs:
            if not _importable(module):
                return {"error": f"{module} is not installed"}
        url = self._servers.get(probe.server, "")
        if probe.server and not url:
            return {"error": f"no server: --{probe.server}, or {SERVERS[probe.server][0]}"}
        bare = self._name == BARE
        use = probe.use if not (bare and probe.only_telemetry) else _anything
        setup = functools.partial(probe.setup, url) if probe.server else probe.setup
        return self._start(use, use, None if use is _anything else setup)

    def scenario(self, bare: str, instrumented: str, setup: str | None) -> dict[str, Any]:
        """Set up a scenario that the project declares."""
        calls = load(bare, "bare"), load(bare if self._name == BARE else instrumented, "instrumented")
        return self._start(*calls, load(setup, "setup") if setup else None)

    def block(self, arm_name: str = "instrumented") -> float:
        """Time a block and return nanoseconds per call. The first call after the wake-up is not timed."""
        arm = self._arms[arm_name]
        arm.block(1)
        return arm.block(self._calls[arm_name]) / self._calls[arm_name]

    def end(self) -> dict[str, Any]:
        """Tear down the current probe or scenario."""
        if self._running is not None:
            self._running.close()
        self._running = None
        return {}

    def _start(
        self, bare: Callable[..., Any], instrumented: Callable[..., Any], setup: Callable[[], Any] | None
    ) -> dict[str, Any]:
        self._running = Running(bare, instrumented, setup).__enter__()
        self._arms = {"bare": self._running.bare, "instrumented": self._running.instrumented}
        for name, arm in self._arms.items():
            blocks.warm(arm, PLAN)
            self._calls[name] = blocks.calls_per_block(arm, PLAN)
        return dict(self._calls)


def _anything(*_given: Any) -> None:
    """The bare call of an operation that consists of telemetry only."""


def _importable(module: str) -> bool:
    try:
        return importlib.util.find_spec(module) is not None
    except (ImportError, ValueError):
        return False


def _provide() -> None:
    """Set the providers of all signals, configured by the environment except for the exporters: nothing is sent."""
    from opentelemetry import _logs, metrics, trace  # noqa: PLC0415  # not in the bare leg
    from opentelemetry.sdk._logs import LoggerProvider  # noqa: PLC0415  # likewise
    from opentelemetry.sdk._logs.export import (  # noqa: PLC0415  # likewise
        BatchLogRecordProcessor,
        LogRecordExporter,
        LogRecordExportResult,
    )
    from opentelemetry.sdk.metrics import MeterProvider  # noqa: PLC0415  # likewise
    from opentelemetry.sdk.metrics.export import InMemoryMetricReader  # noqa: PLC0415  # likewise
    from opentelemetry.sdk.trace import TracerProvider  # noqa: PLC0415  # likewise
    from opentelemetry.sdk.trace.export import (  # noqa: PLC0415  # likewise
        BatchSpanProcessor,
        SpanExporter,
        SpanExportResult,
    )

    class Drop(SpanExporter):
        def export(self, spans: Any) -> SpanExportResult:  # noqa: ARG002  # the interface
            return SpanExportResult.SUCCESS

    class DropRecords(LogRecordExporter):
        def export(self, batch: Any) -> LogRecordExportResult:  # noqa: ARG002  # the interface
            return LogRecordExportResult.SUCCESS

        def shutdown(self) -> None:
            pass

        def force_flush(self, timeout_millis: int = 30_000) -> bool:  # noqa: ARG002  # the interface
            return True

    logger_provider = LoggerProvider()
    logger_provider.add_log_record_processor(BatchLogRecordProcessor(DropRecords()))
    _logs.set_logger_provider(logger_provider)
    provider = TracerProvider()
    provider.add_span_processor(BatchSpanProcessor(Drop()))
    trace.set_tracer_provider(provider)
    metrics.set_meter_provider(MeterProvider(metric_readers=[InMemoryMetricReader()]))


def _instrument() -> tuple[list[str], list[str]]:
    """Load what opentelemetry-instrument would load, except this package; return what is active and what failed."""
    from importlib.metadata import entry_points  # noqa: PLC0415  # not in the bare leg

    disabled = [name.strip() for name in os.environ.get("OTEL_PYTHON_DISABLED_INSTRUMENTATIONS", "").split(",")]
    active, failed = [], []
    for point in sorted(entry_points(group="opentelemetry_instrumentor"), key=lambda each: each.name):
        if point.name == "fastpath" or point.name in disabled or "*" in disabled:
            continue
        try:
            instrumentor = point.load()()
            instrumentor.instrument()
            if getattr(instrumentor, "is_instrumented_by_opentelemetry", True):
                active.append(point.name)
        except Exception as error:  # an instrumentation may raise anything
            failed.append(f"{point.name}: {describe(error)}")
    return active, failed
