"""Makes what other folders' tests share importable: it is no part of the installed package."""

from __future__ import annotations

import sys
from pathlib import Path

WRAP = Path(__file__).parents[1]
sys.path[:0] = [str(WRAP), str(WRAP / "openai"), str(WRAP / "openai_http")]
