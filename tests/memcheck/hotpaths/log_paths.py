"""The hot paths of log records: see `paths`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from opentelemetry import context as context_api
from opentelemetry._logs import LogRecord
from opentelemetry.trace import Link

from hotpaths.naming import ATTRIBUTES, REMOTE, path

if TYPE_CHECKING:
    from hotpaths.given import Given


@path("log record with an exception")
def _logged(given: Given) -> None:
    try:
        given.fail(3)
    except LookupError:
        given.logger.exception("it failed")


@path("log records, queued")
def _queued(given: Given) -> None:
    given.queueing.info("it is %s", "plain")
    given.queueing.info("it has attributes", extra=ATTRIBUTES)
    given.queued.get_logger("memory").emit(body={"a": [1, "b"]}, attributes=ATTRIBUTES, event_name="event")
    try:
        given.fail(3)
    except LookupError:
        given.queueing.exception("it failed")


@path("log records, given as a whole")
def _given_records(given: Given) -> None:
    with given.tracer.start_as_current_span("logged", links=[Link(REMOTE, {"a": 1}), Link(REMOTE)]) as span:
        span.add_link(REMOTE, {"a": 1})
        for provider in (given.queued, given.logged):
            logger = provider.get_logger("memory")
            logger.emit(LogRecord(body="given", attributes=ATTRIBUTES, trace_id=1, context=context_api.get_current()))
            logger.emit(LogRecord(body=[1], attributes={"a": [1, {"b": ("c", {2: object})}]}))
            logger.emit(body="in parts", attributes=ATTRIBUTES)
            try:
                given.fail(3)
            except LookupError as error:
                logger.emit(LogRecord(body="failed", exception=error))
                logger.emit(body="failed", exception=error)


@path("log records with the ids of a span")
def _correlated(given: Given) -> None:
    with given.tracer.start_as_current_span("logged"):
        given.factory("memory", 20, __file__, 12, "message", (), None, None, None)


@path("structlog, events")
def _structured(given: Given) -> None:
    given.structlog.info("message", **ATTRIBUTES)
    try:
        given.fail(3)
    except LookupError as error:
        given.structlog.error("it failed", exc_info=error)
