"""Makes `genaicheck` importable, and the loopback server of the OpenAI tests."""

from __future__ import annotations

import sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE), str(HERE.parent / "genai" / "openai_http")]

from server_fixtures import server, settings  # noqa: E402  # found only from here on

__all__ = ["server", "settings"]
