"""The table of features. To remove a feature, delete its folder and the line or two with its name here.

This module is imported when instrumenting, not before.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from otel_fastpath.exceptions import register as exceptions
from otel_fastpath.logs import register as logs
from otel_fastpath.metrics import register as metrics
from otel_fastpath.others import register as others
from otel_fastpath.otlp import register as otlp
from otel_fastpath.patching.declarations import Declarations
from otel_fastpath.shedding import register as shedding
from otel_fastpath.trace import register as trace
from otel_fastpath.wrapping.wrappers import Libraries

if TYPE_CHECKING:
    from otel_fastpath.patching.feature import Feature

_STOCK: Final = "opentelemetry.instrumentation"

# The folder of each library, in the order of the status, and the modules whose import loads it.
LIBRARIES: Final = Libraries(
    "libraries",
    parts=(
        Declarations("http.asgi.patches", f"{_STOCK}.asgi", f"{_STOCK}.fastapi", f"{_STOCK}.starlette"),
        Declarations("http.fastapi.patches", "fastapi"),
        Declarations("http.wsgi.patches", f"{_STOCK}.wsgi"),
        Declarations("http.flask.patches", f"{_STOCK}.flask"),
        Declarations("http.django.patches", f"{_STOCK}.django"),
        Declarations("http.aiohttp_server.patches", f"{_STOCK}.aiohttp_server"),
        Declarations("http.httpx.patches", f"{_STOCK}.httpx"),
        Declarations("http.requests.patches", f"{_STOCK}.requests"),
        Declarations("http.aiohttp_client.patches", f"{_STOCK}.aiohttp_client"),
        Declarations("http.urllib3.patches", f"{_STOCK}.urllib3"),
        Declarations("db.dbapi.patches", f"{_STOCK}.dbapi"),
        Declarations("db.asyncpg", "asyncpg", f"{_STOCK}.asyncpg", wrapper="asyncpg"),
        Declarations("db.psycopg", "psycopg", "psycopg_pool", f"{_STOCK}.psycopg", wrapper="psycopg"),
        Declarations("db.psycopg2", "psycopg2", f"{_STOCK}.psycopg2", wrapper="psycopg2"),
        Declarations("db.sqlite3", "sqlite3", "aiosqlite", f"{_STOCK}.sqlite3", wrapper="sqlite3"),
        Declarations("db.pymysql", "pymysql", f"{_STOCK}.pymysql", wrapper="pymysql"),
        Declarations("db.mysqlclient", "MySQLdb", f"{_STOCK}.mysqlclient", wrapper="mysqlclient"),
        Declarations("db.sqlalchemy", "sqlalchemy", f"{_STOCK}.sqlalchemy", wrapper="sqlalchemy"),
        Declarations("db.redis", "redis", f"{_STOCK}.redis", wrapper="redis"),
        Declarations("db.cassandra", "cassandra", f"{_STOCK}.cassandra", wrapper="cassandra"),
        Declarations(
            "genai.openai",
            "openai",
            "logfire._internal.integrations.llm_providers",
            "openinference.instrumentation.openai",
            f"{_STOCK}.genai.openai",
            f"{_STOCK}.openai",
            f"{_STOCK}.openai_v2",
            wrapper="openai",
        ),
        Declarations("genai.anthropic.patches", f"{_STOCK}.genai.anthropic"),
        Declarations("messaging.celery.patches", f"{_STOCK}.celery"),
        Declarations("messaging.kafka_python.patches", f"{_STOCK}.kafka"),
        Declarations("messaging.aiokafka.patches", f"{_STOCK}.aiokafka"),
        Declarations("messaging.confluent_kafka.patches", f"{_STOCK}.confluent_kafka"),
        Declarations("messaging.aio_pika.patches", f"{_STOCK}.aio_pika"),
        Declarations("messaging.pika.patches", f"{_STOCK}.pika"),
        Declarations("rpc.grpc.patches", f"{_STOCK}.grpc"),
        Declarations("cloud.aws_lambda.patches", f"{_STOCK}.aws_lambda"),
        Declarations("cloud.botocore.patches", f"{_STOCK}.botocore"),
        Declarations("wrapping.gevent", "gevent", wrapper="gevent"),
    ),
    without="Libraries are not wrapped.",
)

# In the order in which their patches are applied.
FEATURES: Final[tuple[Feature, ...]] = (
    others.FEATURE,
    trace.FEATURE,
    metrics.FEATURE,
    logs.FEATURE,
    otlp.FEATURE,
    LIBRARIES,
    exceptions.FEATURE,
    shedding.FEATURE,
)
