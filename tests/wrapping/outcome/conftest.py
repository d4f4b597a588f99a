"""Makes what other folders' tests share importable: it is no part of the installed package."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

GENAI = Path(__file__).parents[2] / "genai"
sys.path[:0] = [str(GENAI / "openai"), str(GENAI / "openai_http")]


@pytest.fixture
def libraries():
    """OpenAI's client alone."""
    return ("openai",)
