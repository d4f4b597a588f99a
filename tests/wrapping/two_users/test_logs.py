"""Users of one logger in turn, while functions of stock's handler name whoever logs: each has its own records."""

from __future__ import annotations

import inspect
import logging
from contextlib import ExitStack

import pytest
import users
from opentelemetry.sdk._logs import LoggerProvider
from opentelemetry.sdk._logs.export import InMemoryLogRecordExporter, SimpleLogRecordProcessor

handlers = pytest.importorskip("opentelemetry.instrumentation.logging.handler")

ORDER = ("ann", "bob", "ann")


def _places():
    """The functions of stock's handler and its module."""
    return [
        (owner, name)
        for owner in (handlers.LoggingHandler, handlers)
        for name, value in vars(owner).items()
        if inspect.isfunction(value) and not name.startswith("__")
    ]


def _log(logger, user):
    """What came of the logging of a user."""
    try:
        logger.warning("shared %s", 1)
        logger.warning("I am %s", user, extra={"user": user})
    except Exception as error:
        # A function that returns too much may break stock's, too.
        return type(error).__name__
    return ""


def _records(turn, place, when):
    """The outcomes and the records of users who log in turn."""
    exporter, provider = InMemoryLogRecordExporter(), LoggerProvider(shutdown_on_exit=False)
    provider.add_log_record_processor(SimpleLogRecordProcessor(exporter))
    logger, outcomes = logging.Logger("shared"), []  # noqa: LOG001  # one for each run
    with ExitStack() as stack:

        def replace_at(moment):
            if when == moment:
                stack.enter_context(users.replaced(turn, [place], is_open=False))

        replace_at("before")
        logger.addHandler(handlers.LoggingHandler(logger_provider=provider))
        for moment in ("called", "again"):
            for turn.user in ORDER:
                outcomes.append(_log(logger, turn.user))
            replace_at(moment)
    found = [each.log_record for each in exporter.get_finished_logs()]
    return outcomes, [(each.body, dict(each.attributes or {}), each.severity_text) for each in found]


@pytest.mark.parametrize("when", ["before", "called"])
def test_two_users(instrumentor, core, when):
    """Each function alone, replaced before the handler is made or after its first records."""
    turn, unlike = users.Turn(), {}
    expected = {place: _records(turn, place, when) for place in _places()}
    instrumentor.instrument(core=core, disabled="exceptions")
    for place, records in expected.items():
        found = _records(turn, place, when)
        if found != records:
            unlike[place[1]] = found, records
    assert unlike == {}
