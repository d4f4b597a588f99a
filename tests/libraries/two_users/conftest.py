"""Makes what other folders' tests share importable: it is no part of the installed package."""

from __future__ import annotations

import sys
from pathlib import Path

LIBRARIES = Path(__file__).parents[1]
sys.path[:0] = [
    *(str(LIBRARIES / folder) for folder in ("http/outcome", "genai/openai")),
    str(Path(__file__).parent),
]
