"""Programs of log records: the handler of `logging`, records of the API, structlog's events, spans around them."""

from __future__ import annotations

import importlib
import logging
import warnings
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final

from opentelemetry import trace
from opentelemetry._logs import LogRecord, SeverityNumber
from opentelemetry.attributes import BoundedAttributes
from opentelemetry.sdk import _logs
from opentelemetry.sdk._logs import LogRecordProcessor

from otel_fastpath.tools.prove.program import Program
from otel_fastpath.tools.prove.releases import make
from otel_fastpath.tools.prove.values_drawn import NAMES, TEXTS, WORDED, OwnError, attributes, body, fail

if TYPE_CHECKING:
    import random

    from otel_fastpath.tools.prove.program import ProgramRun

_instrumentations: Any = None
with suppress(ImportError):
    _instrumentations = importlib.import_module("opentelemetry.instrumentation.logging.handler")
_RECORDS: Final = 12
_FORMATTED_ONE_IN: Final = 5
_MARKED_ONE_IN: Final = 3
# The attributes that some releases take for the name of the event.
_EVENT_NAMES: Final = ("event_name", "event.name", "otel.event.name")
_LEVELS: Final = (logging.DEBUG, logging.INFO, logging.WARNING, logging.ERROR, logging.CRITICAL, 25)
_TIME: Final = 1_600_000_000_000_000_000
_LIMITS: Final = {"max_attributes": 3, "max_attribute_length": 5}
_SETUPS: Final[tuple[dict[str, Any], ...]] = (
    {},
    {"processors": ("batch", "memory")},
    {"processors": ("simple",), "logging": {"log_record_limits": _logs.LogRecordLimits(**_LIMITS)}},
    {"is_measured": True},
    {"queue_size": 3},
    {"is_measured": True, "processors": ("simple",), "status": 400},
    {"status": 0},
    {"logging": {"log_record_limits": _logs.LogRecordLimits(max_attributes=0)}, "processors": ("memory", "batch")},
)


class _RecordMarking(LogRecordProcessor):
    """Adds attributes to each record, as processors of applications do."""

    def on_emit(self, log_record: Any) -> None:
        attributes = log_record.log_record.attributes
        for number in range(2):
            attributes["marked"] = number

    def shutdown(self) -> None:
        pass

    def force_flush(self, timeout_millis: int = 0) -> bool:  # noqa: ARG002  # the SDK passes it
        return True


def _handler(number: int, provider: Any) -> logging.Handler:
    if number % 2 or _instrumentations is None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)
            return _logs.LoggingHandler(logger_provider=provider)
    made: logging.Handler = _instrumentations.LoggingHandler(
        logger_provider=provider, log_code_attributes=number % 4 == 0
    )
    return made


class _Logged:
    """Its text is that it was logged."""

    def __init__(self, logger: logging.Logger) -> None:
        self._logger = logger

    def __str__(self) -> str:
        self._logger.warning("within")
        return "logged"


def _log(logger: logging.Logger, draw: random.Random) -> None:
    level, text = draw.choice(_LEVELS), draw.choice(TEXTS)
    kind = draw.randrange(5)
    if kind == 0:
        logger.log(level, "%s of %d", text, draw.randrange(5))
    elif kind == 1:
        logger.log(level, draw.choice(({"event": 1}, text, 5, WORDED)), extra=attributes(draw))
    elif kind == 3:  # noqa: PLR2004  # likewise
        # The text of an argument is made by whoever handles the record.
        logger.log(level, "within %s", _Logged(logger))
    elif kind == 2:  # noqa: PLR2004  # one of them
        try:
            fail(draw)
        except LookupError:
            logger.exception("failed: %s", text)
    else:
        named = {draw.choice(_EVENT_NAMES): "named"} if draw.randrange(2) else {}
        logger.log(level, text, extra={"number": draw.randrange(5), **named})


def _emit(logger: Any, draw: random.Random) -> None:
    fields: dict[str, Any] = {
        "timestamp": _TIME,
        "severity_number": draw.choice([SeverityNumber.INFO, SeverityNumber.FATAL4]),
        "body": body(draw),
        "attributes": draw.choice((None, attributes(draw), BoundedAttributes(4, attributes(draw), immutable=False))),
        "event_name": draw.choice(NAMES),
        "exception": draw.choice((None, None, OwnError("own"), LookupError("known"))),
    }
    kind = draw.randrange(5)
    if kind < 2:  # noqa: PLR2004  # two of them
        make(logger.emit, **fields)
        return
    record: Any = make(LogRecord, severity_text="text", **fields)
    logger.emit(record if kind < 4 else _logs.ReadWriteLogRecord(record, logger.resource, logger.instrumentation_scope))  # noqa: PLR2004  # two more


def _run_logs(run: ProgramRun) -> None:
    telemetry = run.telemetry(**_SETUPS[run.seed % len(_SETUPS)])
    if run.seed % _MARKED_ONE_IN == 0:
        telemetry.loggers.add_log_record_processor(_RecordMarking())
    handler = _handler(run.seed, telemetry.loggers)
    if run.seed % _FORMATTED_ONE_IN == 0:
        handler.setFormatter(logging.Formatter("%(levelname)s: %(message)s"))
    logger = logging.Logger(f"program.{run.seed}")  # noqa: LOG001  # no other code's handlers
    logger.addHandler(handler)
    direct = telemetry.loggers.get_logger("direct", "1.0", "https://schema", {"scope": 1})
    tracer = telemetry.tracers.get_tracer("program")
    for draw in run.halves():
        with telemetry.held():
            for _ in range(_RECORDS):
                run.attempt(_log, logger, draw)
                run.attempt(_emit, direct, draw)
            telemetry.switch(is_on=run.seed % 3 > 0)
            run.attempt(_log, logger, draw)
            run.attempt(_emit, direct, draw)
            telemetry.switch(is_on=True)
        with tracer.start_as_current_span("logging"):
            run.attempt(_log, logger, draw)
            run.attempt(_emit, direct, draw)
        trace.get_current_span()
        with tracer.start_as_current_span("exported"):
            run.attempt(telemetry.flush)
    telemetry.loggers.shutdown()
    # What comes too late.
    run.attempt(_log, logger, run.draw)
    run.attempt(_emit, direct, run.draw)


def log_programs(first: int, number: int) -> list[Program]:
    """So many programs, from this seed on."""
    return [Program(f"logs {seed}", seed, _run_logs) for seed in range(first, first + number)]
