"""Makes what is shared by the tests of OpenAI importable: it is no part of the installed package."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from both import KINDS, run
from server_fixtures import client, server, settings, with_async_client
from telemetry import Kept, ours

__all__ = ["client", "server", "settings", "with_async_client"]


@pytest.fixture
def kept(no_faults):
    """What ours emits. No test of this folder makes it fail."""
    made = Kept()
    yield made
    made.shut_down()
    assert no_faults.counts() == {}


@pytest.fixture
def instrumented(kept, environ):  # noqa: ARG001  # the environment has no settings
    """Ours in place; gives what it emits."""
    with ours(kept):
        yield kept


@pytest.fixture(params=KINDS)
def kind(request):
    """Either client."""
    return request.param


@pytest.fixture
def scenario(kind, settings):
    """Runs a coroutine function with a client of each kind."""

    def go(function, **more):
        return run(kind, function, **{**settings, **more})

    return go
