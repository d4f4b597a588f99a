"""Makes what other folders' tests share importable: it is no part of the installed package."""

from __future__ import annotations

import sys
from pathlib import Path

LIBRARIES = Path(__file__).parents[1]
GENAI = LIBRARIES / "genai"
sys.path[:0] = [str(LIBRARIES), str(GENAI / "openai"), str(GENAI / "openai_http")]
