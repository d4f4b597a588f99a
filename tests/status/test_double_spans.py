"""The status says which libraries are traced twice: by themselves, and by an instrumentation."""

from __future__ import annotations

import sys
import types

import pytest
from opentelemetry.instrumentation.instrumentor import BaseInstrumentor

from otel_fastpath.status import double_spans, state


class AnthropicInstrumentor(BaseInstrumentor):
    """Of any vendor."""

    dependencies = ("openai >= 1", "Anthropic[bedrock]>=0.30")

    def instrumentation_dependencies(self):
        """As its package declares it."""
        if self.dependencies is None:
            raise ValueError("the instrumentor's own")
        return self.dependencies

    def _instrument(self, **_given):
        pass

    def _uninstrument(self, **_given):
        pass


@pytest.fixture
def instrumentor():
    """One that has instrumented its library."""
    found = AnthropicInstrumentor()
    found.instrument(skip_dep_check=True)
    yield found
    if found.is_instrumented_by_opentelemetry:
        found.uninstrument()


@pytest.fixture
def library(monkeypatch):
    """A release of the library that makes spans itself."""
    monkeypatch.setitem(sys.modules, "anthropic._tracing", types.ModuleType("anthropic._tracing"))
    monkeypatch.delenv("ANTHROPIC_OPEN_TELEMETRY", raising=False)


@pytest.mark.usefixtures("library", "instrumentor")
def test_two_spans_for_one_call():
    """A note names both, and the setting that leaves one."""
    [note] = state.collect(()).notes[-1:]

    assert note.startswith("anthropic ")
    assert f"{__name__}.AnthropicInstrumentor makes them, too: two for one call." in note
    assert note.endswith("ANTHROPIC_OPEN_TELEMETRY=false leaves those of the instrumentation.")


@pytest.mark.usefixtures("library", "instrumentor")
@pytest.mark.parametrize("value", ["false", "False"])
def test_those_of_the_library_are_off(monkeypatch, value):
    """As the library reads its variable."""
    monkeypatch.setenv("ANTHROPIC_OPEN_TELEMETRY", value)

    assert [*double_spans.notes()] == []


@pytest.mark.usefixtures("library")
def test_no_instrumentation(instrumentor):
    """Or none any more."""
    instrumentor.uninstrument()

    assert [*double_spans.notes()] == []


@pytest.mark.usefixtures("instrumentor")
def test_a_release_that_makes_none(monkeypatch):
    """There is one span."""
    monkeypatch.delitem(sys.modules, "anthropic._tracing", raising=False)
    assert [*double_spans.notes()] == []


@pytest.mark.usefixtures("library", "instrumentor")
@pytest.mark.parametrize("dependencies", [None, (), ("openai",), ("anthropic-bedrock",), (">=1",)])
def test_an_instrumentor_of_something_else(monkeypatch, dependencies):
    """Or one that fails to say."""
    monkeypatch.setattr(AnthropicInstrumentor, "dependencies", dependencies)

    assert [*double_spans.notes()] == []
