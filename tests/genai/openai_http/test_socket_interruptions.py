"""A time limit that arrives while a websocket session of OpenAI's client begins, is used, or ends."""

from __future__ import annotations

import sys

import openai
import pytest
from interrupting import interrupt
from sockets import connect, created, done, server, settings

__all__ = ["server", "settings"]
pytestmark = pytest.mark.skipif(sys.version_info < (3, 12), reason="sys.monitoring is new in 3.12")


@pytest.mark.slow  # a websocket for each place
def test_a_session(server, settings, instrumented):
    """The application gets it, and the session's span has ended."""
    server.scripts = [[created(), done(), 1000]]

    def talk():
        with openai.OpenAI(**settings) as client, connect(client) as connection:
            list(connection)

    assert interrupt(instrumented.providers["tracer_provider"], talk) == []
