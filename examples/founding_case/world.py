"""The environment of the service: its clients and its model, in one process and synchronised.

A chunk's cost for the service depends on how many chunks arrive at once, and so on the load of the machine. Therefore
the model sends its next word when the client has received the previous one: each chunk is read, handled and passed on
separately, however busy the machine is, and the service always has work to do.

    python -m examples.founding_case.world --port 8081
    curl -X POST 'http://127.0.0.1:8081/round?port=8000&requests=300'
"""

import argparse
import asyncio
import json
import time
from collections.abc import Awaitable, Callable, Iterator
from typing import Any, cast
from urllib.parse import quote

import httptools
import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Mount, Route

from examples import openai_server

CLIENTS = 75
OK = 200
PATIENCE_S = 60.0

Message = dict[str, Any]
Send = Callable[[Message], Awaitable[None]]
Receive = Callable[[], Awaitable[Message]]


class Client(asyncio.Protocol):
    """Asks the service one question at a time over one connection."""

    def __init__(self, question: str) -> None:
        self.question = question
        self.heard = asyncio.Event()
        self._answered: asyncio.Future[int] | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Keep the transport."""
        self._transport = cast("asyncio.Transport", transport)

    async def ask(self) -> int:
        """Ask once.

        Returns:
            The status of the answer, when all of it is there.
        """
        self._parser = httptools.HttpResponseParser(self)
        self._answered = asyncio.get_running_loop().create_future()
        wire = f"GET /ask?text={quote(self.question)} HTTP/1.1\r\nHost: shop.example\r\n\r\n"
        self._transport.write(wire.encode())
        return await asyncio.wait_for(self._answered, PATIENCE_S)

    def data_received(self, data: bytes) -> None:
        """Pass the data to the parser."""
        self._parser.feed_data(data)

    def on_body(self, _body: bytes) -> None:
        """Let the model say its next word."""
        self.heard.set()

    def on_message_complete(self) -> None:
        """Give the status to whoever asked."""
        if self._answered is not None and not self._answered.done():
            self._answered.set_result(self._parser.get_status_code())

    def connection_lost(self, exc: Exception | None) -> None:
        """Give the reason to whoever asked."""
        if self._answered is not None and not self._answered.done():
            self._answered.set_exception(exc or ConnectionError("the service closed the connection"))

    def close(self) -> None:
        """Hang up."""
        self._transport.close()


class World:
    """The clients and the model. Each client has its own question, by which the model identifies it."""

    def __init__(self) -> None:
        self._clients: dict[str, Client] = {}

    async def round(self, request: Request) -> JSONResponse:
        """POST /round: let the clients ask the service so many questions, and tell how it went."""
        port, count = (int(request.query_params[name]) for name in ("port", "requests"))
        todo, latencies, wrong = iter(range(count)), list[float](), list[str]()
        began = time.perf_counter()
        try:
            await asyncio.gather(*(self._client(index, port, todo, latencies, wrong) for index in range(CLIENTS)))
        except (OSError, asyncio.TimeoutError) as error:
            wrong.append(repr(error))
        return JSONResponse({"seconds": time.perf_counter() - began, "latencies": latencies, "wrong": wrong})

    async def _client(
        self, index: int, port: int, todo: Iterator[int], latencies: list[float], wrong: list[str]
    ) -> None:
        loop, question = asyncio.get_running_loop(), f"What about chair {index}?"
        _, client = await loop.create_connection(lambda: Client(question), "127.0.0.1", port)
        self._clients[question] = client
        try:
            for _ in todo:
                began = time.perf_counter()
                status = await client.ask()
                latencies.append(time.perf_counter() - began)
                if status != OK:
                    wrong.append(f"status {status}")
        finally:
            client.close()

    async def model(self, scope: Message, receive: Receive, send: Send) -> None:
        """Our OpenAI server, in step with whoever listens."""
        body = bytearray()

        async def read() -> Message:
            message = await receive()
            body.extend(message.get("body", b""))
            return message

        async def say(message: Message) -> None:
            if not _is_word(message.get("body", b"")):
                await send(message)
                return
            heard = self._clients[json.loads(body)["messages"][-1]["content"]].heard
            heard.clear()
            await send(message)
            await heard.wait()

        await openai_server.app(scope, read, say)


def _is_word(body: bytes) -> bool:
    """Whether a part of the model's answer is one that the service passes on."""
    return b'"content":' in body and b'"content":""' not in body


def create_app() -> Starlette:
    """Make a world."""
    world = World()
    return Starlette(routes=[Route("/round", world.round, methods=["POST"]), Mount("/", world.model)])


def main() -> None:
    """Serve on loopback until stopped."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--port", type=int, default=8081)
    uvicorn.run(create_app(), host="127.0.0.1", port=parser.parse_args().port, access_log=False, log_level="warning")


if __name__ == "__main__":
    main()
