"""Makes what other folders' tests share importable: it is no part of the installed package."""

from __future__ import annotations

import sys
from pathlib import Path

TESTS = Path(__file__).parents[2]
sys.path[:0] = [
    *(str(TESTS / folder) for folder in ("http/outcome", "genai/openai")),
    str(Path(__file__).parent),
]
