"""What a host does while lines fail, by name."""

from __future__ import annotations

from faultcheck.workloads.anthropic_messages import AnthropicMessages
from faultcheck.workloads.asgi_servers import ASGIServers, ASGIServersHooks, FastAPIsOwn
from faultcheck.workloads.aws_calls import AwsCalls
from faultcheck.workloads.celery_tasks import CeleryTasks
from faultcheck.workloads.clients import OpenAI, OpenAIAsync, OpenAIStreams
from faultcheck.workloads.databases import Asyncpg, AsyncpgOptions, AsyncpgPools
from faultcheck.workloads.dbapi import Psycopg2, PyMySQL
from faultcheck.workloads.drivers import Psycopg, SQLAlchemy, SQLite3
from faultcheck.workloads.exporting import Encoding
from faultcheck.workloads.genai_calls import GenAICalls
from faultcheck.workloads.grpc_calls import GrpcCalls
from faultcheck.workloads.http_clients import (
    HTTPClients,
    HTTPClientsAsync,
    HTTPClientsAsyncHooks,
    HTTPClientsHooks,
)
from faultcheck.workloads.http_servers import AiohttpServer, AiohttpServerCaptured
from faultcheck.workloads.kafka_messages import KafkaMessages
from faultcheck.workloads.placing import SetUp
from faultcheck.workloads.rabbit_messages import RabbitMessages
from faultcheck.workloads.signals import Collection, Exceptions, Logs, Metrics, Propagation, Scrapes
from faultcheck.workloads.spans import Decorators, Errors, Processors, Spans
from faultcheck.workloads.stores import Cassandra, Redis
from faultcheck.workloads.wsgi_servers import WSGIServers, WSGIServersHooks

# The longest first: the others fill what is left.
WORKLOADS = {
    "set-up": SetUp,
    "openai-streams": OpenAIStreams,
    "openai-async": OpenAIAsync,
    "openai": OpenAI,
    "genai-calls": GenAICalls,
    "celery": CeleryTasks,
    "kafka": KafkaMessages,
    "rabbitmq": RabbitMessages,
    "anthropic": AnthropicMessages,
    "grpc": GrpcCalls,
    "aws": AwsCalls,
    "asyncpg": Asyncpg,
    "asyncpg-options": AsyncpgOptions,
    "asyncpg-pools": AsyncpgPools,
    "psycopg": Psycopg,
    "psycopg2": Psycopg2,
    "redis": Redis,
    "pymysql": PyMySQL,
    "cassandra": Cassandra,
    "sqlalchemy": SQLAlchemy,
    "sqlite3": SQLite3,
    "http-clients-hooks": HTTPClientsHooks,
    "http-clients": HTTPClients,
    "http-async-clients-hooks": HTTPClientsAsyncHooks,
    "http-async-clients": HTTPClientsAsync,
    "asgi-servers-hooks": ASGIServersHooks,
    "asgi-servers": ASGIServers,
    "fastapi-own": FastAPIsOwn,
    "wsgi-servers-hooks": WSGIServersHooks,
    "wsgi-servers": WSGIServers,
    "aiohttp-server-captured": AiohttpServerCaptured,
    "aiohttp-server": AiohttpServer,
    "collection": Collection,
    "spans": Spans,
    "processors": Processors,
    "errors": Errors,
    "decorators": Decorators,
    "propagation": Propagation,
    "metrics": Metrics,
    "scrapes": Scrapes,
    "encoding": Encoding,
    "logs": Logs,
    "exceptions": Exceptions,
}
