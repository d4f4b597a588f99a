"""A real Cassandra for tests, which Maven brings: it takes half a minute to start, and 600 MB of memory."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[3]))

from java_servers import MissingError, libraries

from examples.gevent_cassandra.simulacron import free_ports, is_free

VERSION = "5.0.4"
FETCHING = 540.0
STARTING = 240.0
SETTINGS = """
cluster_name: otel-fastpath
num_tokens: 1
partitioner: org.apache.cassandra.dht.Murmur3Partitioner
endpoint_snitch: SimpleSnitch
commitlog_sync: periodic
commitlog_sync_period: 10000ms
listen_address: 127.0.0.1
rpc_address: 127.0.0.1
native_transport_port: {port}
storage_port: {storage}
ssl_storage_port: {ssl}
seed_provider:
  - class_name: org.apache.cassandra.locator.SimpleSeedProvider
    parameters:
      - seeds: 127.0.0.1:{storage}
"""
# What Cassandra's own jvm17-server.options opens.
EXPORTED = (
    *("java.base/jdk.internal.misc", "java.base/jdk.internal.ref", "java.base/jdk.internal.perf"),
    *("java.base/sun.nio.ch", "java.base/java.lang.ref", "java.base/java.lang.reflect", "java.rmi/sun.rmi.registry"),
    *("java.rmi/sun.rmi.server", "java.rmi/sun.rmi.transport.tcp", "java.sql/java.sql", "jdk.unsupported/sun.misc"),
    "java.management.rmi/com.sun.jmx.remote.internal.rmi",
)
OPENED = (
    *("java.base/java.lang", "java.base/java.lang.module", "java.base/java.lang.reflect", "java.base/java.io"),
    *("java.base/java.nio", "java.base/java.util", "java.base/java.util.concurrent", "java.base/sun.nio.ch"),
    *("java.base/java.util.concurrent.atomic", "java.base/jdk.internal.loader", "java.base/jdk.internal.math"),
    *("java.base/jdk.internal.module", "java.base/jdk.internal.ref", "java.base/jdk.internal.reflect"),
    *("java.base/jdk.internal.util.jar", "jdk.management/com.sun.management.internal"),
)


class Cassandra:
    """A running server with one node.

    Args:
        folder: A folder for its data.

    Attributes:
        port: Its port on 127.0.0.1.
    """

    def __init__(self, folder):
        jars = libraries("cassandra", "org.apache.cassandra", "cassandra-all", VERSION, FETCHING)
        self.port = free_ports()
        settings = folder / "cassandra.yaml"
        made = SETTINGS.format(port=self.port, storage=self.port + 1, ssl=self.port + 2)
        settings.write_text(made, encoding="utf-8")
        opened = [
            f"--add-{kind}={name}=ALL-UNNAMED"
            for kind, names in (("exports", EXPORTED), ("opens", OPENED))
            for name in names
        ]
        options = {
            "cassandra.config": settings.as_uri(),
            "cassandra.storagedir": folder,
            "cassandra.ring_delay_ms": 1,
            "cassandra.skip_wait_for_gossip_to_settle": 0,
            "cassandra.superuser_setup_delay_ms": 0,
            "cassandra.jmx.local.port": self.port + 3,
            "jdk.attach.allowAttachSelf": "true",
        }
        memory = ["-Xms256m", "-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-XX:MaxDirectMemorySize=128m"]
        command = ["java", *memory, *opened, *(f"-D{name}={value}" for name, value in options.items())]
        log = folder / "log"
        with log.open("wb") as output:
            self.process = subprocess.Popen(
                [*command, "-cp", f"{jars}/*", "org.apache.cassandra.service.CassandraDaemon"],
                stdout=output,
                stderr=subprocess.STDOUT,
                cwd=folder,
            )
        end = time.monotonic() + STARTING
        while is_free(self.port):
            if self.process.poll() is not None or time.monotonic() > end:
                self.stop()
                raise MissingError(f"Cassandra does not start: {log.read_text('utf-8', 'replace')[-2000:]}")
            time.sleep(0.2)

    def stop(self):
        """Kill it."""
        self.process.kill()
        self.process.wait()
