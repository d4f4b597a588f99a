"""A real RabbitMQ for tests: one node, which takes five to ten seconds to start, and 120 MB of memory."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import time
from pathlib import Path

from java_servers import MissingError

STARTING = 90.0
# Debian's command of this name runs it as another user.
PLACES = ("/usr/lib/rabbitmq/bin/rabbitmq-server", shutil.which("rabbitmq-server") or "")
SCHEDULER = "+S 1:1"


def free_ports(count):
    """Ports of this machine that nobody listens at."""
    sockets = [socket.socket() for _ in range(count)]
    try:
        for each in sockets:
            each.bind(("127.0.0.1", 0))
        return [each.getsockname()[1] for each in sockets]
    finally:
        for each in sockets:
            each.close()


class RabbitMQ:
    """A running broker.

    Args:
        folder: A folder for its data.

    Attributes:
        port: Where it listens.

    Raises:
        MissingError: It is not installed, or does not start.
    """

    def __init__(self, folder):
        command = next((place for place in PLACES if place and Path(place).exists()), None)
        if command is None or shutil.which("epmd") is None:
            raise MissingError("no rabbitmq-server is installed: apt-get install rabbitmq-server")
        self.port, between, names = free_ports(3)
        log = folder / "log"
        settings = {
            "NODENAME": f"otelfastpath{self.port}@localhost",
            "NODE_IP_ADDRESS": "127.0.0.1",
            "NODE_PORT": self.port,
            "DIST_PORT": between,
            "MNESIA_BASE": folder / "mnesia",
            "LOG_BASE": folder,
            "PID_FILE": folder / "pid",
            "SERVER_ADDITIONAL_ERL_ARGS": SCHEDULER,
            **dict.fromkeys(("CONFIG_FILE", "CONF_ENV_FILE", "ENABLED_PLUGINS_FILE"), folder / "none"),
        }
        environ = {f"RABBITMQ_{name}": str(value) for name, value in settings.items()}
        environ = {**os.environ, **environ, "HOME": str(folder), "ERL_EPMD_PORT": str(names)}
        # Otherwise RabbitMQ starts it, and it stays.
        self._names = subprocess.Popen([shutil.which("epmd"), "-address", "127.0.0.1", "-port", str(names)])
        with log.open("wb") as output:
            self._process = subprocess.Popen(
                [command],
                stdout=output,
                stderr=subprocess.STDOUT,
                stdin=subprocess.DEVNULL,
                env=environ,
                start_new_session=True,
            )
        end = time.monotonic() + STARTING
        while not self._listens():
            if self._process.poll() is not None or time.monotonic() > end:
                self.stop()
                raise MissingError(f"RabbitMQ does not start: {log.read_text('utf-8', 'replace')[-2000:]}")
            time.sleep(0.1)

    def _listens(self):
        with socket.socket() as found:
            return found.connect_ex(("127.0.0.1", self.port)) == 0

    def stop(self):
        """Kill it."""
        for process, kill in ((self._process, os.killpg), (self._names, os.kill)):
            kill(process.pid, signal.SIGKILL)
            process.wait()
