"""The example of the OpenAI wrapper runs and shows what it says."""

import subprocess
import sys
from pathlib import Path


def test_the_example_tells_of_every_call():
    """A span for each call, with its tokens, and the metrics."""
    run = subprocess.run(
        [sys.executable, "-m", "examples.openai_calls"],
        cwd=Path(__file__).parents[2],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )

    lines = run.stdout.splitlines()
    assert [line for line in lines if line[0] != " " and ":" not in line] == [
        "chat gpt-4o-mini",
        "chat gpt-4o-mini",
        "chat gpt-4o-mini",
        "embeddings text-embedding-3-small",
        "chat gpt-none",
        "models.list",
    ]
    assert '    error.type = "openai.NotFoundError"' in lines
    assert sum("gen_ai.usage.output_tokens" in line for line in lines) == 3
    assert "gen_ai.client.operation.duration: 6 in 5 series" in lines
