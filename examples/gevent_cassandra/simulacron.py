"""Simulacron, a server that speaks Cassandra's protocol and answers what it is asked to.

It is a program in Java from Maven's repository, kept in ~/.cache/otel-fastpath, and starts in two seconds.
"""

from __future__ import annotations

import json
import os
import secrets
import shutil
import socket
import subprocess
import time
import urllib.request
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

VERSION: Final = "0.12.0"
ARTIFACT: Final = f"com.datastax.oss.simulacron:simulacron-standalone:{VERSION}"
COPY: Final = "org.apache.maven.plugins:maven-dependency-plugin:3.6.1:copy"
CACHE: Final = Path.home() / ".cache" / "otel-fastpath" / "simulacron"
STARTING: Final = 60.0
FETCHING: Final = 300.0
_PORTS: Final = 10
_CHOICE: Final = range(12_000, 32_000, _PORTS)


class MissingError(Exception):
    """What it needs is not there; the message names it."""


def jar() -> Path:
    """The program, which Maven brings if it is not there yet.

    Raises:
        MissingError: There is no Java or no Maven, or Maven cannot bring it.
    """
    if shutil.which("java") is None:
        raise MissingError("no java is installed: apt-get install default-jre-headless")
    path = CACHE / f"simulacron-standalone-{VERSION}.jar"
    if path.exists():
        return path
    maven = shutil.which("mvn")
    if maven is None:
        raise MissingError("no mvn is installed: apt-get install maven")
    folder = CACHE / f"new-{os.getpid()}"
    command = [maven, "-q", "-B", COPY, f"-Dartifact={ARTIFACT}", f"-DoutputDirectory={folder}"]
    try:
        subprocess.run(command, check=True, capture_output=True, text=True, timeout=FETCHING)
        # At once: another process may do the same at the same time.
        (folder / path.name).replace(path)
    except (OSError, subprocess.SubprocessError) as error:
        raise MissingError(f"Maven does not bring {ARTIFACT}: {getattr(error, 'stdout', '') or error}") from error
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return path


def free_ports() -> int:
    """The first of ten ports of the loopback interface, one after the other, that nobody uses.

    They are below those that systems give to outgoing connections, which may take one of them at any time.
    """
    while True:
        first = secrets.choice(_CHOICE)
        if all(is_free(first + number) for number in range(_PORTS)):
            return first


def is_free(port: int) -> bool:
    """Whether nobody listens on this port of the loopback interface."""
    with socket.socket() as connection:
        return connection.connect_ex(("127.0.0.1", port)) != 0


class Simulacron:
    """A running Simulacron.

    Args:
        folder: A folder for its log.

    Raises:
        MissingError: It cannot be started.
    """

    def __init__(self, folder: Path) -> None:
        self._http = free_ports()
        log = Path(folder) / "simulacron.log"
        words = ["java", "-Xmx96m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-jar", jar(), "-i", "127.0.0.1"]
        words += ["-p", self._http, "-s", free_ports()]
        with log.open("wb") as output:
            self.process = subprocess.Popen([str(word) for word in words], stdout=output, stderr=subprocess.STDOUT)
        end = time.monotonic() + STARTING
        while is_free(self._http):
            if self.process.poll() is not None or time.monotonic() > end:
                self.stop()
                raise MissingError(f"Simulacron does not start: {log.read_text('utf-8', 'replace')[-500:]}")
            time.sleep(0.05)

    def ask(self, method: str, path: str, body: Any = None) -> Any:
        """What its HTTP interface answers."""
        data = None if body is None else json.dumps(body).encode()
        url = f"http://127.0.0.1:{self._http}{path}"
        request = urllib.request.Request(url, data, method=method)  # not a file
        with urllib.request.urlopen(request, timeout=30) as answer:  # noqa: S310  # likewise
            return json.load(answer)

    def cluster(self, nodes: int = 1) -> Cluster:
        """Start a cluster."""
        return Cluster(self, nodes)

    def stop(self) -> None:
        """Kill it."""
        self.process.kill()
        self.process.wait()


class Cluster:
    """A cluster of a Simulacron.

    Attributes:
        ports: The port of each node; all are on 127.0.0.1.
    """

    def __init__(self, simulacron: Simulacron, nodes: int) -> None:
        self._simulacron = simulacron
        made = simulacron.ask("POST", f"/cluster?data_centers={nodes}&cassandra_version=4.0.0&name=test")
        self._id = made["id"]
        self._nodes = [node["id"] for node in made["data_centers"][0]["nodes"]]
        self.ports = [int(node["address"].rpartition(":")[2]) for node in made["data_centers"][0]["nodes"]]

    def answer(
        self,
        query: str,
        *,
        node: int | None = None,
        delay: int = 0,
        error: tuple[str, Mapping[str, Any]] | None = None,
        rows: Sequence[Mapping[str, Any]] | None = None,
        types: Mapping[str, str] | None = None,
        parameters: Mapping[str, str] | None = None,
    ) -> None:
        """Answer a query from now on.

        Args:
            query: The text.
            node: The position of the node that answers so; None: each.
            delay: Before the answer, in milliseconds.
            error: The protocol's error, such as "read_timeout", and its fields, if there is one.
            rows: The rows.
            types: The type of each of their columns.
            parameters: The type of each parameter of a prepared statement.
        """
        when: dict[str, Any] = {"query": query}
        if parameters:
            when |= {"params": dict.fromkeys(parameters, "*"), "param_types": parameters}
            if rows is None:
                # A statement without rows needs a column all the same, to be prepared.
                rows, types = [], {"none": "int"}
        then: dict[str, Any] = {"result": "void", "delay_in_ms": delay}
        if error is not None:
            then |= {"result": error[0], **error[1]}
        elif rows is not None:
            then |= {"result": "success", "rows": rows, "column_types": types}
        self._simulacron.ask("POST", f"/prime/{self._place(node)}", {"when": when, "then": then})

    def forget(self) -> None:
        """Answer each query as at first: at once, without rows."""
        self._simulacron.ask("DELETE", f"/prime/{self._id}")

    def cut(self, node: int) -> None:
        """Close the connections of a node."""
        self._simulacron.ask("DELETE", f"/connections/{self._place(node)}?type=disconnect")

    def stop(self) -> None:
        """Stop it."""
        self._simulacron.ask("DELETE", f"/cluster/{self._id}")

    def _place(self, node: int | None) -> str:
        return f"{self._id}" if node is None else f"{self._id}/0/{self._nodes[node]}"
