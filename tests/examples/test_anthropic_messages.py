"""The example of docs/llms.md prints a line for each span."""

import pytest


def test_the_example_prints_its_spans(output_of):
    """One message at once, and one that is streamed."""
    pytest.importorskip("opentelemetry.instrumentation.genai.anthropic", reason="Anthropic's is not installed")
    output = output_of("anthropic_messages", PYTHONWARNINGS="ignore")

    assert output.splitlines() == [
        "chat claude-opus-5 at once: stop, 1 tokens",
        "chat claude-opus-5 streamed: stop, 3 tokens",
    ]
