"""Records of `logging` with the ids of spans, and a handler at the root, as the instrumentation sets them up."""

from __future__ import annotations

import io
import logging
import os
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final
from unittest import mock

from opentelemetry import trace
from opentelemetry.instrumentation import logging as instrumentation

from otel_fastpath.tools.prove.libraries.modes import setting_up
from otel_fastpath.tools.prove.values_drawn import TEXTS, attributes

if TYPE_CHECKING:
    import random
    from collections.abc import Iterator

    from otel_fastpath.tools.prove.program import ProgramRun
    from otel_fastpath.tools.prove.telemetry_kept import KeptTelemetry

_RECORDS: Final = 6
_LEVELS: Final = (logging.DEBUG, logging.INFO, logging.ERROR)
_MODES: Final[tuple[tuple[dict[str, str], dict[str, Any]], ...]] = (
    ({}, {"inject_trace_context": True}),
    ({}, {"log_code_attributes": True, "log_handler_level": logging.ERROR}),
    ({"OTEL_PYTHON_LOG_CORRELATION": "true"}, {"log_level": logging.WARNING}),
    ({"OTEL_PYTHON_LOGGING_AUTO_INSTRUMENTATION_ENABLED": "true"}, {"inject_trace_context": True}),
    (
        {"OTEL_PYTHON_LOG_CODE_ATTRIBUTES": "true", "OTEL_PYTHON_LOG_HANDLER_LEVEL": "info"},
        {"set_logging_format": True},
    ),
    ({"OTEL_PYTHON_LOG_AUTO_INSTRUMENTATION": "false"}, {"inject_trace_context": True}),
)


@contextmanager
def _own_root() -> Iterator[None]:
    """The root logger as in a new process, which writes to nothing."""
    root = logging.getLogger()
    before = root.handlers[:], root.level
    root.handlers[:] = []
    try:
        with mock.patch("sys.stderr", io.StringIO()):
            yield
    finally:
        root.handlers[:] = before[0]
        root.setLevel(before[1])


def _hook(span: Any, record: Any) -> None:
    record.otelHooked = span.is_recording()


def _failing_hook(_span: Any, _record: Any) -> None:
    raise ValueError("of a hook")


def _log(logger: logging.Logger, draw: random.Random) -> None:
    logger.log(draw.choice(_LEVELS), draw.choice(TEXTS), extra=attributes(draw))


def _correlate(draw: random.Random) -> tuple[Any, ...]:
    record = logging.getLogRecordFactory()("program", draw.choice(_LEVELS), "file.py", 1, "text", (), None)
    return tuple((name, str(vars(record)[name])) for name in sorted(vars(record)) if name.startswith("otel"))


def _instrument(run: ProgramRun, telemetry: KeptTelemetry) -> Any:
    _, arguments = _MODES[run.seed % len(_MODES)]
    made = instrumentation.LoggingInstrumentor()
    given = mock.patch.object(instrumentation, "get_logger_provider", return_value=telemetry.loggers)
    with setting_up(telemetry), given:
        made.instrument(
            tracer_provider=trace.NoOpTracerProvider() if run.seed % 5 == 0 else telemetry.tracers,
            log_hook=(None, _hook, _failing_hook)[run.seed % 3],
            **arguments,
        )
    return made


def run_logging(run: ProgramRun) -> None:
    """Records, in spans and out of them."""
    telemetry = run.telemetry()
    logger, tracer = logging.getLogger(f"program.{run.seed}"), telemetry.tracers.get_tracer("program")
    with _own_root(), mock.patch.dict(os.environ, _MODES[run.seed % len(_MODES)][0]):
        made = _instrument(run, telemetry)
        try:
            for draw in run.halves():
                for _ in range(_RECORDS):
                    run.attempt(_log, logger, draw)
                with tracer.start_as_current_span("logging"):
                    run.attempt(_log, logger, draw)
                    run.attempt(_correlate, draw)
                with trace.use_span(trace.INVALID_SPAN):
                    run.attempt(_correlate, draw)
                run.attempt(_correlate, draw)
                run.attempt(telemetry.flush)
        finally:
            made.uninstrument()
        run.attempt(_log, logger, run.draw)
        run.attempt(_correlate, run.draw)


PROGRAM: Final = run_logging
