"""A real Kafka for tests, which Maven brings: one node, which takes five seconds to start, and 400 MB of memory."""

from __future__ import annotations

import socket
import subprocess
import time

from java_servers import MissingError, libraries

VERSION = "4.1.0"
FETCHING = 300.0
STARTING = 60.0
CLUSTER = "otelfastpathotelfastpa"
SETTINGS = """
process.roles=broker,controller
node.id=1
controller.quorum.voters=1@127.0.0.1:{controller}
controller.listener.names=CONTROLLER
listeners=PLAINTEXT://127.0.0.1:{port},CONTROLLER://127.0.0.1:{controller}
advertised.listeners=PLAINTEXT://127.0.0.1:{port}
listener.security.protocol.map=PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT
log.dirs={folder}
offsets.topic.replication.factor=1
offsets.topic.num.partitions=1
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
share.coordinator.state.topic.replication.factor=1
group.initial.rebalance.delay.ms=0
num.partitions=1
"""


def free_ports():
    """Two ports of this machine that nobody listens at."""
    with socket.socket() as one, socket.socket() as other:
        one.bind(("127.0.0.1", 0))
        other.bind(("127.0.0.1", 0))
        return one.getsockname()[1], other.getsockname()[1]


class Kafka:
    """A running broker.

    Args:
        folder: A folder for its data.

    Attributes:
        address: Where it listens.
    """

    def __init__(self, folder):
        jars = libraries("kafka", "org.apache.kafka", "kafka_2.13", VERSION, FETCHING)
        port, controller = free_ports()
        self.address = f"127.0.0.1:{port}"
        settings = folder / "server.properties"
        settings.write_text(SETTINGS.format(port=port, controller=controller, folder=folder / "data"), encoding="utf-8")
        java = ["java", "-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-cp", f"{jars}/*"]
        log = folder / "log"
        # What would make the folder for data takes a second process of Java.
        (folder / "data").mkdir()
        made = f"version=1\ncluster.id={CLUSTER}\nnode.id=1\ndirectory.id={CLUSTER}\n"
        (folder / "data" / "meta.properties").write_text(made, encoding="utf-8")
        with log.open("wb") as output:
            self._process = subprocess.Popen(
                [*java, "kafka.Kafka", settings], stdout=output, stderr=subprocess.STDOUT, cwd=folder
            )
        end = time.monotonic() + STARTING
        while not self._listens(port):
            if self._process.poll() is not None or time.monotonic() > end:
                self.stop()
                raise MissingError(f"Kafka does not start: {log.read_text('utf-8', 'replace')[-2000:]}")
            time.sleep(0.1)

    @staticmethod
    def _listens(port):
        with socket.socket() as found:
            return found.connect_ex(("127.0.0.1", port)) == 0

    def stop(self):
        """Kill it."""
        self._process.kill()
        self._process.wait()
