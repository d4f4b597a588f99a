"""A load generator that costs little compared with the service: the two share the machine's cores."""

import asyncio
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import cast

import httptools

from examples.demo.mix import Call

PATIENCE_S = 30.0


@dataclass
class Load:
    """The measurements of sending one round of requests."""

    seconds: float
    latencies: list[float]
    wrong: list[str]


async def send(port: int, calls: Sequence[Call], connections: int) -> Load:
    """Send every request once, over kept-alive connections that each wait for their answer before they go on.

    Args:
        port: Where the service listens on loopback.
        calls: The requests; each free connection takes the next one.
        connections: The number of concurrent requests.

    Returns:
        The total time, the latency of each request, and the wrong answers.
    """
    load = Load(0.0, [], [])
    todo = iter(calls)
    began = time.perf_counter()
    await asyncio.gather(*(_work(port, todo, load) for _ in range(connections)))
    load.seconds = time.perf_counter() - began
    return load


async def _work(port: int, todo: Iterator[Call], load: Load) -> None:
    loop = asyncio.get_running_loop()
    connection: _Connection | None = None
    try:
        for call in todo:
            began = time.perf_counter()
            if connection is None:
                _, connection = await loop.create_connection(_Connection, "127.0.0.1", port)
            status, kept = await asyncio.wait_for(connection.ask(call.wire), PATIENCE_S)
            load.latencies.append(time.perf_counter() - began)
            if status != call.status:
                load.wrong.append(f"{call.kind}: status {status} where {call.status} was due")
            if not kept:
                connection.close()
                connection = None
    finally:
        if connection is not None:
            connection.close()


class _Connection(asyncio.Protocol):
    """An HTTP/1.1 connection with at most one open request; returns the status and whether the connection is kept."""

    def __init__(self) -> None:
        self._answer: asyncio.Future[tuple[int, bool]] | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)

    def ask(self, wire: bytes) -> asyncio.Future[tuple[int, bool]]:
        self._parser = httptools.HttpResponseParser(self)
        self._answer = asyncio.get_running_loop().create_future()
        self._transport.write(wire)
        return self._answer

    def close(self) -> None:
        self._answer = None
        self._transport.close()

    def data_received(self, data: bytes) -> None:
        self._parser.feed_data(data)

    def on_message_complete(self) -> None:
        if self._answer is not None and not self._answer.done():
            self._answer.set_result((self._parser.get_status_code(), self._parser.should_keep_alive()))

    def connection_lost(self, exc: Exception | None) -> None:
        if self._answer is not None and not self._answer.done():
            self._answer.set_exception(exc or ConnectionError("the service closed the connection"))
