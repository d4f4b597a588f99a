"""The hosts of `make faults`, which use a library as services do: as paths, each in a process of its own."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "faults"))

from faultcheck.places import FaultsError
from faultcheck.servers import possible, servers

if TYPE_CHECKING:
    from collections.abc import Mapping

# Workload -> the libraries that it goes through: folders of the package.
HOSTS: Final[Mapping[str, tuple[str, ...]]] = {
    "asyncpg": ("db/asyncpg",),
    "psycopg": ("db/psycopg",),
    "psycopg2": ("db/psycopg2", "db/dbapi"),
    "redis": ("db/redis",),
    # mysqlclient's wrapper is the same code: both drivers share their cursors.
    "pymysql": ("db/pymysql", "db/mysqlclient"),
    "cassandra": ("db/cassandra",),
    "sqlalchemy": ("db/sqlalchemy",),
    "sqlite3": ("db/sqlite3", "db/dbapi"),
    "http-clients": ("http/requests", "http/urllib3", "http/httpx"),
    "http-async-clients": ("http/httpx", "http/aiohttp_client"),
    "asgi-servers": ("http/asgi", "http/fastapi"),
    "fastapi-own": ("http/fastapi",),
    "wsgi-servers": ("http/wsgi", "http/flask", "http/django"),
    "aiohttp-server": ("http/aiohttp_server",),
    "openai-async": ("genai/openai",),
    "celery": ("messaging/celery",),
    "kafka": ("messaging/kafka_python", "messaging/aiokafka", "messaging/confluent_kafka"),
    "rabbitmq": ("messaging/aio_pika", "messaging/pika"),
    "anthropic": ("genai/anthropic",),
    "grpc": ("rpc/grpc",),
    "aws": ("cloud/botocore", "cloud/aws_lambda"),
    # No library: what the instrumentations of several use.
    "genai-calls": (),
}
__all__ = ["HOSTS", "FaultsError", "Hosting", "possible", "servers"]


class Hosting:
    """A host that is ready, with the package in place where a core is named.

    Args:
        name: One of `HOSTS`.
        core: "c" or "py"; empty leaves the package out.
        servers: Name of a server -> its URL or port, as `faultcheck.servers` starts them.
    """

    def __init__(self, name: str, core: str, servers: Mapping[str, str]) -> None:
        from faultcheck.workloads import WORKLOADS

        self._workload = WORKLOADS[name](core or "py", servers)
        self._workload.prepare()
        if core:
            self._workload.instrument()
        self._workload.begin()

    def once(self) -> None:
        """Go through its steps; what they raise is part of it."""
        from faultcheck.host import Host

        current = Host()
        self._workload.run(current)
        current.forget()
        self.settle()

    def settle(self) -> None:
        """Let go of what was recorded."""
        self._workload.settle()
        self._workload.telemetry.taken()
