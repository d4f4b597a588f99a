"""The example of a websocket session tells what docs/openai.md says."""

import subprocess
import sys
from pathlib import Path


def test_the_session_is_told_once():
    """One span, with the sum of the tokens of its three responses."""
    run = subprocess.run(
        [sys.executable, "-m", "examples.openai_realtime"],
        cwd=Path(__file__).parents[2],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )

    lines = run.stdout.splitlines()
    assert lines[:3] == ["response.done"] * 3
    assert [line for line in lines[3:] if not line.startswith(" ")] == ["realtime.connect gpt-realtime"]
    assert "    gen_ai.usage.input_tokens = 90" in lines
    assert "    gen_ai.usage.output_tokens = 36" in lines
