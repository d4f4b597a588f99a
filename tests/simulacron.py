"""Simulacron, a server that speaks Cassandra's protocol and answers what a test asks it to: for tests.

It is a program in Java from Maven's repository, kept in ~/.cache/otel-fastpath, and starts in two seconds.
"""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import time
import urllib.request
from pathlib import Path

VERSION = "0.12.0"
ARTIFACT = f"com.datastax.oss.simulacron:simulacron-standalone:{VERSION}"
COPY = "org.apache.maven.plugins:maven-dependency-plugin:3.6.1:copy"
CACHE = Path.home() / ".cache" / "otel-fastpath" / "simulacron"
STARTING = 60.0
FETCHING = 300.0


class MissingError(Exception):
    """What it needs is not there; the message names it."""


def jar():
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


def free_ports():
    """The first of ten ports of the loopback interface that nobody uses, one after the other."""
    while True:
        with socket.socket() as listener:
            listener.bind(("127.0.0.1", 0))
            first = listener.getsockname()[1]
        if first < 60_000 and all(_is_free(first + number) for number in range(1, 10)):
            return first


def _is_free(port):
    with socket.socket() as listener:
        return listener.connect_ex(("127.0.0.1", port)) != 0


class Simulacron:
    """A running Simulacron.

    Args:
        folder: A folder for its log.
    """

    def __init__(self, folder):
        self._http = free_ports()
        self._port = free_ports()
        self._log = Path(folder) / "simulacron.log"
        words = ["java", "-Xmx96m", "-XX:+UseSerialGC", "-jar", jar(), "-i", "127.0.0.1"]
        words += ["-p", self._http, "-s", self._port]
        with self._log.open("wb") as log:
            self.process = subprocess.Popen(list(map(str, words)), stdout=log, stderr=subprocess.STDOUT)
        end = time.monotonic() + STARTING
        while _is_free(self._http):
            if self.process.poll() is not None or time.monotonic() > end:
                self.stop()
                raise MissingError(f"Simulacron does not start: {self._log.read_text('utf-8', 'replace')[-500:]}")
            time.sleep(0.05)

    def ask(self, method, path, body=None):
        """What its HTTP interface answers."""
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(f"http://127.0.0.1:{self._http}{path}", data, method=method)  # noqa: S310  # not a file
        with urllib.request.urlopen(request, timeout=30) as answer:  # noqa: S310  # likewise
            return json.load(answer)

    def cluster(self, nodes=1):
        """Start a cluster."""
        return Cluster(self, nodes)

    def stop(self):
        """Kill it."""
        self.process.kill()
        self.process.wait()


class Cluster:
    """A cluster of a Simulacron.

    Attributes:
        ports: The port of each node; all are on 127.0.0.1.
    """

    def __init__(self, simulacron, nodes):
        self._simulacron = simulacron
        made = simulacron.ask("POST", f"/cluster?data_centers={nodes}&cassandra_version=4.0.0&name=test")
        self._id = made["id"]
        self._nodes = [node["id"] for node in made["data_centers"][0]["nodes"]]
        self.ports = [int(node["address"].rpartition(":")[2]) for node in made["data_centers"][0]["nodes"]]

    def answer(self, query, node=None, delay=0, error=None, rows=None, types=None, parameters=None):
        """Answer a query from now on.

        Args:
            query: The text; None: any text.
            node: The position of the node that answers so; None: each.
            delay: Before the answer, in milliseconds.
            error: The protocol's error, as "read_timeout", and its fields, if there is one.
            rows: The rows, as dictionaries.
            types: The type of each column.
            parameters: The type of each parameter of a prepared statement.
        """
        when = {"query": query}
        if parameters:
            # A statement without rows needs a column all the same, to be prepared.
            rows, types = ([], {"none": "int"}) if rows is None else (rows, types)
            when |= {"params": {name: "*" for name in parameters}, "param_types": parameters}
        then = {"result": "void", "delay_in_ms": delay}
        if rows is not None:
            then = {"result": "success", "rows": rows, "column_types": types, "delay_in_ms": delay}
        if error is not None:
            then = {"result": error[0], "delay_in_ms": delay, **error[1]}
        place = f"/prime/{self._id}" if node is None else f"/prime/{self._id}/0/{self._nodes[node]}"
        self._simulacron.ask("POST", place, {"when": when, "then": then})

    def forget(self):
        """Answer each query as at first."""
        self._simulacron.ask("DELETE", f"/prime/{self._id}")

    def cut(self, node=0):
        """Close the connections of a node."""
        self._simulacron.ask("DELETE", f"/connections/{self._id}/0/{self._nodes[node]}?type=disconnect")

    def log(self):
        """The queries that it got."""
        return self._simulacron.ask("GET", f"/log/{self._id}")

    def stop(self):
        """Stop it."""
        self._simulacron.ask("DELETE", f"/cluster/{self._id}")
