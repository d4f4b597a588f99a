"""A real Cassandra for tests, which Maven brings: it takes half a minute to start, and 600 MB of memory."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[3]))

from examples.gevent_cassandra.simulacron import MissingError, free_ports, is_free

VERSION = "5.0.4"
CACHE = Path.home() / ".cache" / "otel-fastpath" / f"cassandra-{VERSION}"
FETCHING = 540.0
STARTING = 240.0
PROJECT = f"""
<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>otel-fastpath</groupId><artifactId>cassandra</artifactId><version>1</version>
  <dependencies>
    <dependency><groupId>org.apache.cassandra</groupId><artifactId>cassandra-all</artifactId><version>{VERSION}</version></dependency>
  </dependencies>
</project>
"""
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


def libraries():
    """The folder with its jars, which Maven fills if it is not there yet.

    Raises:
        MissingError: There is no Java or no Maven, or Maven cannot bring them.
    """
    if CACHE.exists():
        return CACHE
    if shutil.which("java") is None or shutil.which("mvn") is None:
        raise MissingError("no java or no mvn is installed: apt-get install default-jdk-headless maven")
    folder = CACHE.with_name(f"{CACHE.name}-new-{os.getpid()}")
    folder.mkdir(parents=True)
    project = folder / "pom.xml"
    project.write_text(PROJECT, encoding="utf-8")
    command = ["mvn", "-q", "-B", "-f", project, "dependency:copy-dependencies", f"-DoutputDirectory={folder}"]
    try:
        subprocess.run([*command, "-DincludeScope=runtime"], check=True, capture_output=True, timeout=FETCHING)
        folder.rename(CACHE)
    except (OSError, subprocess.SubprocessError) as error:
        raise MissingError(f"Maven does not bring Cassandra: {getattr(error, 'stdout', '') or error}") from error
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return CACHE


class Cassandra:
    """A running server with one node.

    Args:
        folder: A folder for its data.

    Attributes:
        port: Its port on 127.0.0.1.
    """

    def __init__(self, folder):
        jars = libraries()
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
