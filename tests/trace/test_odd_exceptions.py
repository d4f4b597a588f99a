"""Exceptions whose own methods raise: the application gets its own exception, never one that describing it met."""

from __future__ import annotations

import pytest
from odd_exceptions import NEEDS_TRACEBACK, AnswerError, DelegatingError


class _NotedError(Exception):
    """Whose notes are an error of no usual kind."""

    @property
    def __notes__(self):
        raise ZeroDivisionError


pytestmark = NEEDS_TRACEBACK
KINDS = pytest.mark.parametrize("kind", [AnswerError, DelegatingError, _NotedError])


@KINDS
def test_it_leaves_a_span_as_it_came(kind, exporting, no_faults):
    """And the span says that it failed."""
    error = kind("failed")
    with exporting() as (provider, got):
        tracer = provider.get_tracer("odd")
        with pytest.raises(kind) as raised, tracer.start_as_current_span("span"):
            raise error
        provider.force_flush()
    assert raised.value is error
    assert got[0].status.description == f"{kind.__name__}: failed"
    assert [event.name for event in got[0].events] == ["exception"]
    assert no_faults.counts() == {}


@KINDS
def test_it_can_be_recorded(kind, exporting, no_faults):
    """With the text of the `traceback` module, which looks for notes."""
    with exporting() as (provider, got):
        span = provider.get_tracer("odd").start_span("span")
        span.record_exception(kind("failed"))
        span.end()
        provider.force_flush()
    assert "failed\nIgnored error getting __notes__: " in got[0].events[0].attributes["exception.stacktrace"]
    assert no_faults.counts() == {}
