"""The stock instrumentations that can be loaded when their library is imported, and the modules of the libraries.

What is not named here is loaded at the start, as without this package: what patches the standard library or the
interpreter (asyncio, logging, sqlite3, system_metrics, threading, urllib, ...), instrumentations of other projects, and
those that run code of the user's: Django's imports the settings of the service, that of AWS Lambda its handler.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

from otel_fastpath.patching.interpreter import read_field

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

# The instrumentation's distribution, without "opentelemetry-instrumentation-", and its entry point -> the
# distributions that it names in its metadata as those that it instruments -> the module whose import they begin with;
# empty: not this entry point's.
_KNOWN: Final[Mapping[tuple[str, str], Mapping[str, str]]] = {
    ("aio-pika", "aio-pika"): {"aio-pika": "aio_pika"},
    ("aiohttp-client", "aiohttp-client"): {"aiohttp": "aiohttp"},
    ("aiohttp-server", "aiohttp-server"): {"aiohttp": "aiohttp.web"},
    ("aiokafka", "aiokafka"): {"aiokafka": "aiokafka"},
    ("aiopg", "aiopg"): {"aiopg": "aiopg"},
    ("asyncclick", "asyncclick"): {"asyncclick": "asyncclick"},
    ("asyncpg", "asyncpg"): {"asyncpg": "asyncpg"},
    ("boto3sqs", "boto3"): {"boto3": "boto3"},
    ("botocore", "aiobotocore"): {"aiobotocore": "aiobotocore", "botocore": ""},
    ("botocore", "botocore"): {"aiobotocore": "", "botocore": "botocore"},
    ("cassandra", "cassandra"): {"cassandra-driver": "cassandra", "scylla-driver": "cassandra"},
    ("celery", "celery"): {"celery": "celery"},
    ("click", "click"): {"click": "click"},
    ("confluent-kafka", "confluent_kafka"): {"confluent-kafka": "confluent_kafka"},
    ("falcon", "falcon"): {"falcon": "falcon"},
    ("fastapi", "fastapi"): {"fastapi": "fastapi"},
    ("flask", "flask"): {"flask": "flask"},
    ("genai-anthropic", "anthropic"): {"anthropic": "anthropic"},
    ("genai-openai", "openai"): {"openai": "openai"},
    ("grpc", "grpc_aio_client"): {"grpcio": "grpc"},
    ("grpc", "grpc_aio_server"): {"grpcio": "grpc"},
    ("grpc", "grpc_client"): {"grpcio": "grpc"},
    ("grpc", "grpc_server"): {"grpcio": "grpc"},
    ("httpx", "httpx"): {"httpx": "httpx", "httpx2": ""},
    ("httpx", "httpx2"): {"httpx": "", "httpx2": "httpx2"},
    ("jinja2", "jinja2"): {"jinja2": "jinja2"},
    ("kafka-python", "kafka"): {"kafka-python": "kafka", "kafka-python-ng": "kafka"},
    ("mysql", "mysql"): {"mysql-connector-python": "mysql.connector"},
    ("mysqlclient", "mysqlclient"): {"mysqlclient": "MySQLdb"},
    ("openai-v2", "openai"): {"openai": "openai"},
    ("pika", "pika"): {"pika": "pika"},
    ("psycopg", "psycopg"): {"psycopg": "psycopg"},
    ("psycopg2", "psycopg2"): {"psycopg2": "psycopg2", "psycopg2-binary": "psycopg2"},
    ("pymemcache", "pymemcache"): {"pymemcache": "pymemcache"},
    ("pymongo", "pymongo"): {"pymongo": "pymongo"},
    ("pymysql", "pymysql"): {"pymysql": "pymysql"},
    ("pyramid", "pyramid"): {"pyramid": "pyramid"},
    ("redis", "redis"): {"redis": "redis"},
    ("requests", "requests"): {"requests": "requests"},
    ("sqlalchemy", "sqlalchemy"): {"sqlalchemy": "sqlalchemy"},
    ("starlette", "starlette"): {"starlette": "starlette"},
    ("structlog", "structlog"): {"structlog": "structlog"},
    ("tornado", "tornado"): {"tornado": "tornado"},
    ("urllib3", "urllib3"): {"urllib3": "urllib3"},
}

_PREFIX: Final = "opentelemetry-instrumentation-"
# The extras by which an instrumentation names what it instruments.
_INSTRUMENTS: Final = ('extra=="instruments"', 'extra=="instruments-any"')


def awaited(entry_point: Any) -> tuple[str, ...]:
    """The modules whose import an instrumentation can wait for; none if it must be loaded at once.

    A release that instruments a library which this table does not have is loaded at once.
    """
    distribution = getattr(entry_point, "dist", None)
    if distribution is None:
        return ()
    name = _normalized((read_field(distribution, "Name") or [distribution.name])[0])
    known = _KNOWN.get((name.removeprefix(_PREFIX), entry_point.name)) if name.startswith(_PREFIX) else None
    if known is None:
        return ()
    instrumented = {_normalized(each) for each in _instrumented(read_field(distribution, "Requires-Dist"))}
    if not instrumented or not instrumented <= known.keys():
        return ()
    return tuple(dict.fromkeys(module for each, module in known.items() if module and each in instrumented))


def _instrumented(requirements: Iterable[str]) -> Iterator[str]:
    """The distributions that an instrumentation says it instruments."""
    for each in requirements:
        requirement, _, marker = each.partition(";")
        marker = marker.replace(" ", "").replace("'", '"')
        if any(extra in marker for extra in _INSTRUMENTS):
            # A specifier, or extras of its own, may follow the name.
            end = next((at for at, char in enumerate(requirement) if not (char.isalnum() or char in "._-")), None)
            yield requirement[:end]


def _normalized(distribution: str) -> str:
    return re.sub(r"[-_.]+", "-", distribution).lower()
