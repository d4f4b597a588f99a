"""The hosts are importable, and each test begins in an empty context."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from opentelemetry import context

# The saboteurs of all libraries, and the hosts.
sys.path.insert(0, str(Path(__file__).parent))


@pytest.fixture(autouse=True)
def own_context():
    """Each test begins in an empty context."""
    context.attach(context.Context())
