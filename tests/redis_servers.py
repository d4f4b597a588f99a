"""Servers of redis for tests."""

from __future__ import annotations

import shutil
import socket
import subprocess
import time

STARTING = 20.0


def free_port():
    """A port of the loopback interface that nobody uses; a cluster's bus takes the one 10,000 above it."""
    while True:
        with socket.socket() as listener:
            listener.bind(("127.0.0.1", 0))
            port = listener.getsockname()[1]
        if port < 55_000:
            return port


class Server:
    """A running server.

    Args:
        folder: Its folder.
        arguments: Further arguments of redis-server.
    """

    def __init__(self, folder, *arguments):
        self._folder = folder
        self._arguments = arguments
        self.port = free_port()
        self.path = f"/tmp/redis-{self.port}.sock"  # noqa: S108  # a long path would be none of a socket's
        self.start()

    def start(self):
        """Start it, and wait until it answers."""
        words = ["--port", self.port, "--bind", "127.0.0.1", "--unixsocket", self.path, "--save", ""]
        words += ["--appendonly", "no", "--dir", self._folder, "--logfile", self._folder / "log", *self._arguments]
        self.process = subprocess.Popen([shutil.which("redis-server"), *map(str, words)])
        end = time.monotonic() + STARTING
        while not self._answers():
            assert time.monotonic() < end, (self._folder / "log").read_text()
            time.sleep(0.02)

    def _answers(self):
        with socket.socket() as connection:
            return connection.connect_ex(("127.0.0.1", self.port)) == 0

    def stop(self):
        """Kill it."""
        self.process.kill()
        self.process.wait()
