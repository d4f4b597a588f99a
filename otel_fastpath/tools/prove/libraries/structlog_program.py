"""Events of structlog."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any, Final

import structlog
from opentelemetry.instrumentation.structlog import StructlogInstrumentor

from otel_fastpath.tools.prove.libraries.modes import instrumented
from otel_fastpath.tools.prove.values_drawn import TEXTS, attributes, fail, maybe

if TYPE_CHECKING:
    import random

    from otel_fastpath.tools.prove.program import ProgramRun

_EVENTS: Final = 10
_LEVELS: Final = ("debug", "info", "warning", "error", "critical")
# None of them is near the time of a run.
_TIMES: Final = (1.5e9, 5, "2020-01-01T00:00:00Z", "2020-01-01T00:00:00", "noon", None)


def _log(log: Any, draw: random.Random) -> None:
    getattr(log, draw.choice(_LEVELS))(
        draw.choice(TEXTS), **{k.replace(".", "_"): v for k, v in attributes(draw).items()}
    )


def _keep(run: ProgramRun, _logger: Any, _name: str, event: Any) -> Any:
    """The last processor: what it is given is what the others have returned."""
    run.outcomes.append(tuple(sorted(event)))
    raise structlog.DropEvent


def _log_anew(draw: random.Random) -> None:
    _log(structlog.get_logger("another"), draw)


def _log_exception(log: Any, draw: random.Random) -> None:
    try:
        fail(draw)
    except LookupError as error:
        kind = draw.randrange(4)
        if kind:
            given = (error, (type(error), error, error.__traceback__), True)[kind - 1]
            log.warning("failed", exc_info=given, number=kind)
        else:
            log.exception("failed", number=draw.randrange(5))


def _log_oddly(log: Any, draw: random.Random) -> None:
    """An event with values that mean something to structlog."""
    getattr(log, draw.choice(_LEVELS))(
        draw.choice(TEXTS),
        **maybe(draw, 3, level=draw.choice(("odd", "WARNING", "", 5)), exception=draw.choice(("rendered", 5))),
        **maybe(draw, 3, timestamp=draw.choice(_TIMES), exc_info=draw.choice((True, LookupError(), (1, 2), 5))),
    )


def run_structlog(run: ProgramRun) -> None:
    """Events, in spans and out of them."""
    telemetry = run.telemetry()
    structlog.reset_defaults()
    structlog.configure(
        logger_factory=structlog.stdlib.LoggerFactory() if run.seed % 2 else None,
        processors=[
            *([structlog.processors.add_log_level] if run.seed % 3 else []),
            functools.partial(_keep, run),
        ],
    )
    events = StructlogInstrumentor()
    tracer = telemetry.tracers.get_tracer("program")
    again = functools.partial(_log_anew, run.draw)
    try:
        with instrumented(run, telemetry, events, again, logger_provider=telemetry.loggers):
            log = structlog.get_logger("program")
            for draw in run.halves():
                for _ in range(_EVENTS):
                    run.attempt(_log, log, draw)
                    run.attempt(_log_exception, log, draw)
                    run.attempt(_log_oddly, log, draw)
                with tracer.start_as_current_span("logging"):
                    run.attempt(_log, log, draw)
                run.attempt(telemetry.flush)
    finally:
        structlog.reset_defaults()


PROGRAM: Final = run_structlog
