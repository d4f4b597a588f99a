"""A time limit that arrives while a call of OpenAI's client begins, is made, is read or ends."""

from __future__ import annotations

import sys

import openai
import pytest
from interrupting import interrupt
from madeup import CHAT, chunk, refusal

from otel_fastpath import compiled
from otel_fastpath.genai.openai import LIBRARY
from otel_fastpath.patching import interpreter
from otel_fastpath.patching.patch import Patcher
from otel_fastpath.settings import Config

pytestmark = pytest.mark.skipif(sys.version_info < (3, 12), reason="sys.monitoring is new in 3.12")
ASK = {"model": "gpt-4o", "messages": [{"role": "user", "content": "Hi"}]}
CHUNKS = [chunk("He"), chunk("llo"), chunk("", finish_reason="stop")]


@pytest.fixture(autouse=True)
def patched(core):
    """The wrapper's patches, with each core."""
    compiled.choose(core)
    patcher = Patcher(LIBRARY.patches, interpreter.installed)
    patcher.install(settings=Config())
    yield
    patcher.uninstall()
    compiled.choose(None)


@pytest.mark.parametrize("given", [CHAT, refusal(500)], ids=["answer", "refusal"])
def test_a_call(told, client, given):
    """The application gets it, and the span has ended, also of one that fails."""
    made = client(given)

    def call():
        made.chat.completions.create(**ASK)

    assert interrupt(told.providers["tracer_provider"], call, expected=(openai.OpenAIError,)) == []


def test_a_stream(told, client):
    """Likewise, while it is read; what is not read to its end ends when it is left."""
    made = client(CHUNKS)

    def call():
        with made.chat.completions.create(**ASK, stream=True) as stream:
            assert len(list(stream)) == len(CHUNKS)

    assert interrupt(told.providers["tracer_provider"], call) == []
