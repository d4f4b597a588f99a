"""Our hooks around redis-py with a stub for its methods, for the budgets.

    otel-fastpath budget check --file benchmarks/budgets.toml --only 'redis,*'

A stub replaces a method of redis-py, so that only the hook is counted. The set-ups are `stock`,
`stock_client`, `pure` and those that start with `compiled`.
"""

from __future__ import annotations

import contextlib
from typing import Any

import databases

VALUE = "x" * 100
LARGE = "x" * 1_000_000
NUMBER = 10


def _execute_command(_client: Any, *_args: Any, **_options: Any) -> Any:
    return b"1"


async def _execute_command_async(_client: Any, *_args: Any, **_options: Any) -> Any:
    return b"1"


def _execute(_pipeline: Any, _raise_on_error: bool = True) -> Any:
    return []


async def _execute_async(_pipeline: Any, _raise_on_error: bool = True) -> Any:
    return []


def _stub() -> None:
    import redis  # noqa: PLC0415  # only where it is measured
    import redis.asyncio  # noqa: PLC0415  # likewise

    client: Any = redis.Redis
    async_client: Any = redis.asyncio.Redis
    client.execute_command, redis.client.Pipeline.execute = _execute_command, _execute
    async_client.execute_command = _execute_command_async
    redis.asyncio.client.Pipeline.execute = _execute_async


class Given:
    """The objects that the callables of this file use.

    Attributes:
        client: A client, whose method is the hook around the stub.
        async_client: Likewise.
        pipeline: A pipeline of ten commands.
        async_pipeline: Likewise.
    """

    def __init__(self) -> None:
        import redis  # noqa: PLC0415  # only where it is measured
        import redis.asyncio  # noqa: PLC0415  # likewise

        self.client: Any = redis.Redis(host="127.0.0.1")
        self.async_client: Any = redis.asyncio.Redis(host="127.0.0.1")
        self.pipeline = self.client.pipeline()
        self.async_pipeline = self.async_client.pipeline()
        for number in range(NUMBER):
            self.pipeline.set(f"a{number}", VALUE)
            self.async_pipeline.set(f"a{number}", VALUE)


def _given(mode: str, core: str) -> Given:
    _stub()
    databases.instrument("redis", mode, core)
    return Given()


compiled, pure, compiled_metrics, compiled_dropped, compiled_no_sdk = databases.set_ups(_given)


def stock() -> Given:
    """The stock instrumentation's hooks, with traces."""
    _stub()
    from opentelemetry.instrumentation.redis import RedisInstrumentor  # noqa: PLC0415  # only where it is measured

    RedisInstrumentor().instrument(tracer_provider=databases.providers("stock")["tracer_provider"])
    return Given()


def stock_client() -> Given:
    """A client that the stock instrumentation instrumented, below ours."""
    given = compiled()
    from opentelemetry.instrumentation.redis import RedisInstrumentor  # noqa: PLC0415  # only where it is measured

    RedisInstrumentor.instrument_client(given.client)
    return given


def _finish(coroutine: Any) -> None:
    with contextlib.suppress(StopIteration):
        coroutine.send(None)


def command_bare(given: Given) -> None:
    """The stub."""
    _execute_command(given.client, "SET", "a", VALUE)


def command(given: Given) -> None:
    """The hook around it."""
    given.client.execute_command("SET", "a", VALUE)


def large_bare(given: Given) -> None:
    """The stub."""
    _execute_command(given.client, "SET", "a", LARGE)


def large(given: Given) -> None:
    """The hook around it."""
    given.client.execute_command("SET", "a", LARGE)


def async_command_bare(given: Given) -> None:
    """The stub."""
    _finish(_execute_command_async(given.async_client, "SET", "a", VALUE))


def async_command(given: Given) -> None:
    """The hook around it."""
    _finish(given.async_client.execute_command("SET", "a", VALUE))


def pipeline_bare(given: Given) -> None:
    """The stub."""
    _execute(given.pipeline)


def pipeline(given: Given) -> None:
    """The hook around it."""
    given.pipeline.execute()


def async_pipeline_bare(given: Given) -> None:
    """The stub."""
    _finish(_execute_async(given.async_pipeline))


def async_pipeline(given: Given) -> None:
    """The hook around it."""
    _finish(given.async_pipeline.execute())
