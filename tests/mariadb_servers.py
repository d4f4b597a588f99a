"""Servers of MariaDB for tests."""

from __future__ import annotations

import getpass
import shutil
import socket
import subprocess
import time

NO_SERVER = "no MariaDB is installed: apt-get install mariadb-server"
STARTING = 60.0


def daemon():
    """The path of the program; None if it is not installed."""
    if shutil.which("mariadb-install-db") is None:
        return None
    return shutil.which("mariadbd", path="/usr/sbin:/usr/bin:/usr/local/sbin:/usr/local/bin")


class Server:
    """A running server, with a database `test`.

    Args:
        folder: Its folder.

    Attributes:
        port: Its port on the loopback interface.
        path: The path of its Unix socket.
    """

    def __init__(self, folder):
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.path = str(folder / "socket")
        data, user = folder / "data", getpass.getuser()
        subprocess.run(
            [
                *("mariadb-install-db", "--no-defaults", f"--datadir={data}", f"--user={user}"),
                *("--auth-root-authentication-method=normal", "--skip-test-db"),
            ],
            check=True,
            capture_output=True,
        )
        # A file: a pipe that nobody reads would stop the server once it is full.
        self._log = (folder / "log").open("wb")
        self._process = subprocess.Popen(
            [
                *(daemon(), "--no-defaults", f"--datadir={data}", f"--user={user}", "--bind-address=127.0.0.1"),
                *(f"--port={self.port}", f"--socket={self.path}", f"--pid-file={folder / 'pid'}"),
                *("--innodb-buffer-pool-size=16M", "--skip-log-bin", "--skip-name-resolve"),
            ],
            stdout=self._log,
            stderr=subprocess.STDOUT,
        )
        try:
            self._create()
        except BaseException:
            self.stop()
            raise

    def _create(self):
        import pymysql

        end = time.monotonic() + STARTING
        while True:
            try:
                connection = pymysql.connect(host="127.0.0.1", port=self.port, user="root")
                break
            except pymysql.err.OperationalError:
                if time.monotonic() > end:
                    raise
                time.sleep(0.1)
        connection.cursor().execute("CREATE DATABASE IF NOT EXISTS test")
        connection.close()

    def stop(self):
        """Stop the server, and wait until it has stopped."""
        self._process.terminate()
        self._process.wait(60)
        self._log.close()
