"""Servers of redis for tests."""

from __future__ import annotations

import shutil
import socket
import subprocess
import time

from examples.demo.processes import free_port

STARTING = 20.0


def port_below_its_bus():
    """A free port for a server of a cluster, whose bus takes the one 10,000 above it."""
    while (port := free_port()) >= 55_000:
        pass
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
        self.port = port_below_its_bus()
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
