"""A network with a latency: passes a server's answers on after a time. Simulacron's own delays are steps of 100 ms."""

from __future__ import annotations

import asyncio
import threading
from typing import Final

_CHUNK: Final = 1 << 16


class Network:
    """Ports of the loopback interface that lead to a server, each with its latency; served by a thread."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()

    def port(self, server: int, milliseconds: float) -> int:
        """A port that leads to the server on this port with this latency."""
        return asyncio.run_coroutine_threadsafe(self._serve(server, milliseconds / 1000), self._loop).result(30)

    def stop(self) -> None:
        """Serve nothing any more."""
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(30)

    async def _serve(self, server: int, seconds: float) -> int:
        async def connect(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            from_server, to_server = await asyncio.open_connection("127.0.0.1", server)
            await asyncio.gather(self._pass(reader, to_server, 0), self._pass(from_server, writer, seconds))

        listener = await asyncio.start_server(connect, "127.0.0.1", 0)
        port: int = listener.sockets[0].getsockname()[1]
        return port

    async def _pass(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, seconds: float) -> None:
        try:
            while chunk := await reader.read(_CHUNK):
                if seconds:
                    self._loop.call_later(seconds, writer.write, chunk)
                else:
                    writer.write(chunk)
        except ConnectionError:
            pass
        finally:
            self._loop.call_later(seconds, writer.close)
