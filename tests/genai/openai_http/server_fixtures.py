"""The loopback server, in a process of its own, and clients of it."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from pathlib import Path

import openai
import pytest

HERE = Path(__file__).parent


@pytest.fixture(scope="session")
def server():
    """The address of the server, which ends with the tests."""
    command = [sys.executable, "-m", "loopback"]
    with subprocess.Popen(command, cwd=HERE, stdout=subprocess.PIPE, text=True) as process:
        try:
            yield f"http://127.0.0.1:{int(process.stdout.readline())}"
        finally:
            process.terminate()


@pytest.fixture
def settings(server):
    """What a client of the server is made with."""
    return {"base_url": f"{server}/v1", "api_key": "sk-test", "max_retries": 0}


@pytest.fixture
def client(settings):
    """A synchronous client."""
    with openai.OpenAI(**settings) as made:
        yield made


@pytest.fixture
def with_async_client(settings):
    """Runs a coroutine function with an asynchronous client, in an event loop of its own."""

    def run(scenario):
        async def main():
            async with openai.AsyncOpenAI(**settings) as made:
                return await scenario(made)

        return asyncio.run(main())

    return run
