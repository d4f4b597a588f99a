"""Each hook of this project is run by a scenario with a budget: a new patch brings its own."""

from __future__ import annotations

from fnmatch import fnmatchcase
from pathlib import Path

import pytest

from otel_fastpath import FastpathInstrumentor
from otel_fastpath.tools.budget import declare

FILES = [Path(__file__).parents[3] / "benchmarks" / name for name in ("budgets.toml", "accelerated.toml")]

# Names of patches (the rows of the status) -> the scenario that runs what they put in place.
RUN_BY = {
    "versions.*.parse": "version numbers of a schema URL",
    "versions.schema_url": "version numbers of a schema URL",
    "versions.openai": "version of a distribution",
    "versions.*.pydantic": "version of a distribution",
    "versions.dbapi": "version of a distribution",
    "genai.start": "genai, chat",
    "genai.chunk": "genai, chat streamed",
    "genai.finish": "genai, chat",
    "genai.merge": "genai, chat within another",
    "celery.hooks": "celery, run",
    "kafka_python.hooks": "kafka-python, receive",
    "anthropic.hooks": "anthropic, create",
    "anthropic.request": "anthropic, create",
    "anthropic.response": "anthropic, create",
    "anthropic.chunk": "anthropic, stream of 25 events",
    "genai.stream": "anthropic, stream of 25 events",
    "genai.stream.async": "anthropic, stream of 25 events",
    "aiokafka.hooks": "aiokafka, receive",
    "aio_pika.hooks": "aio-pika, send",
    "aio_pika.callback": "aio-pika, receive",
    "confluent_kafka.produce": "confluent-kafka, send",
    "confluent_kafka.poll": "confluent-kafka, receive",
    "confluent_kafka.consume": "confluent-kafka, receive 10",
    "pika.publish": "pika, send",
    "pika.callback": "pika, receive",
    "pika.popleft": "pika, receive the next",
    "grpc.aio_client_*": "grpc client, asyncio, unary to unary",
    "grpc.client_inject": "grpc client, unary to stream",
    "grpc.client_*": "grpc client, unary to unary",
    "grpc.aio_server_*": "grpc server, asyncio, unary to unary",
    "grpc.server_*": "grpc server, unary to unary",
    "botocore.calls": "aws, S3",
    "aiobotocore.calls": "aws, aiobotocore",
    "aws_lambda.links": "lambda, three messages of SQS",
    "aws_lambda.*": "lambda, REST API",
    "openllmetry.run_async": "openllmetry, request of a chat",
    "openllmetry.accumulate": "openllmetry, stream of 20 chunks",
    "openinference.redact": "openinference, request of a chat",
    "openinference.accumulate": "openinference, stream of 20 chunks",
    "openinference.chat_chunk": "openinference, stream of 20 chunks",
    "openinference.chunk": "openinference, legacy stream of 20 chunks",
    "tracer.get_tracer": "tracer asked for again",
    "metrics.get_meter": "meter asked for again",
    "utils.is_instrumentation_enabled": "is_instrumentation_enabled",
    "utils.is_http_instrumentation_enabled": "is_http_instrumentation_enabled",
    "utils.suppress_instrumentation": "suppress_instrumentation",
    "utils.suppress_http_instrumentation": "suppress_http_instrumentation",
    "context.*tach": "attach and detach",
    "context.get_value": "get_value",
    "context.set_value": "set_value",
    "trace.set_span_in_context": "set_span_in_context",
    "trace.get_current_span": "get_current_span, below a span",
    "baggage.get_all": "baggage.get_all",
    "baggage.get_baggage": "get_baggage, none",
    "baggage.set_baggage": "set_baggage",
    "trace.use_span": "use_span",
    "trace.*_tracer": "no SDK configured",
    "propagation.extract": "TraceContext extract",
    "propagation.inject": "TraceContext inject",
    "propagation.extract_baggage": "W3C baggage, extract",
    "propagation.inject_baggage": "W3C baggage, inject",
    "propagation.extract_each": "propagators, extract",
    "propagation.inject_each": "propagators, inject",
    "b3.extract": "B3 multi, extract",
    "b3.inject_multi": "B3 multi, inject",
    "b3.inject_single": "B3 single, inject",
    "jaeger.extract": "Jaeger, extract",
    "jaeger.inject": "Jaeger, inject",
    "xray.extract": "X-Ray, extract",
    "xray.inject": "X-Ray, inject",
    "tracer.start_span": "start_span",
    "span.set_attribute": "set_attribute",
    "span.set_attributes": "set_attributes, 7",
    "span.add_link": "add_link, 3 attributes",
    "span.set_status": "set_status",
    "span.update_name": "update_name",
    "span.get_span_context": "get_span_context",
    "span.add_event": "add_event, 3 attributes",
    "span.record_exception": "record_exception, 5 frames",
    "span.end": "start_span",
    "batch_processor.on_end": "a batch processor that filters",
    "simple_processor.on_end": "SimpleSpanProcessor",
    "tracer.start_as_current_span": "start_as_current_span",
    "metrics.counter": "counter.add, 3 attributes",
    "metrics.updowncounter": "up_down_counter.add, 3 attributes",
    "metrics.histogram": "histogram.record, 3 attributes",
    "metrics.gauge": "gauge.set, 3 attributes",
    "metrics.collect": "collect 128 histogram points",
    "metrics.observe": "collect 100 observations",
    "logs.get_logger": "logger asked for again",
    "logs.record": "log record given",
    "logs.emit": "log record given to a processor, 7 attributes",
    "prometheus.open_metrics_page": "scrape as OpenMetrics",
    "prometheus.counter": "scrape of 128 counter points",
    "prometheus.gauge": "scrape of 128 counter points",
    "prometheus.*": "scrape of 128 histogram points",
    "logs.*": "log record, exception of 5 frames",
    "otlp.http_spans": "otlp, one more span, 7 attributes",
    "otlp.grpc_spans": "otlp over grpc, one more span, 7 attributes",
    "otlp.http_logs": "otlp, one more log record, 7 attributes",
    "otlp.grpc_logs": "otlp over grpc, one more log record, 7 attributes",
    "fastapi_own.*": "FastAPI's own telemetry",
    "otlp.http_request": "otlp, sending a batch over HTTP",
    "otlp.*_metrics": "OTLP, 128 histogram points",
    "otlp.http_metrics_count": "collect and encode 128 histogram points",
    "asyncpg.execute": "asyncpg, fetchrow",
    "asyncpg.fetch*": "asyncpg, fetchrow",
    "asyncpg.executemany": "asyncpg, executemany",
    "asyncpg.prepare": "asyncpg, prepare",
    "asyncpg.copy_*": "asyncpg, copy_from_table",
    "asyncpg.statement.*": "asyncpg, statement.fetch",
    "asyncpg.cursor.*": "asyncpg, cursor of 50 rows in a round trip",
    "asyncpg.pool.*": "asyncpg, pool, acquire and release",
    "asyncpg.connect*": "asyncpg, connect",
    "psycopg.*cursor.execute": "psycopg, execute",
    "psycopg.*cursor.executemany": "psycopg, executemany",
    "psycopg.*cursor.stream": "psycopg, stream of 50 rows",
    "psycopg.*cursor.copy": "psycopg, copy",
    "psycopg.*server_cursor.*_gen": "psycopg, server cursor of 50 rows in a round trip",
    "psycopg.*commit": "psycopg, transaction",
    "psycopg.*rollback": "psycopg, transaction",
    "psycopg.*tpc_*": "psycopg, transaction",
    "psycopg.*transaction.*": "psycopg, transaction",
    "psycopg.*pipeline.*": "psycopg, pipeline of two",
    "psycopg.connect*": "psycopg, connect",
    "psycopg.*pool.*": "psycopg, pool",
    "psycopg.official.*execution": "psycopg, execute of a stock cursor",
    "psycopg2.connect": "psycopg2, execute",
    "psycopg2.execute_*": "psycopg2, execute_values of two pages",
    "psycopg2.official.execution": "psycopg2, execute",
    "sqlite3.*connect": "sqlite3, execute",
    "sqlite3.aiosqlite.*": "sqlite3, execute in a thread",
    "pymysql.execute*": "pymysql, execute",
    "pymysql.callproc": "pymysql, execute",
    "pymysql.begin": "pymysql, commit",
    "pymysql.commit": "pymysql, commit",
    "pymysql.rollback": "pymysql, commit",
    "pymysql.connect": "pymysql, connect",
    "mysqlclient.*": "pymysql, execute",
    "dbapi.execution": "pymysql, execute",
    "dbapi.query": "dbapi, execute of another driver",
    "dbapi.comment": "dbapi, execute with a comment",
    "sqlalchemy.execute": "sqlalchemy, select",
    "sqlalchemy.default": "sqlalchemy, select",
    "sqlalchemy.insertmany": "sqlalchemy, insertmanyvalues",
    "sqlalchemy.commit": "sqlalchemy, commit",
    "sqlalchemy.rollback": "sqlalchemy, commit",
    "sqlalchemy.connect": "sqlalchemy, connect",
    "sqlalchemy.ping": "sqlalchemy, connect and select",
    "sqlalchemy.pool.*": "sqlalchemy, connect and select",
    "redis.command": "redis, command",
    "redis.pipeline.command": "redis, command",
    "redis.cluster.command": "redis, command",
    "redis.pubsub.command": "redis, command",
    "redis.cluster_pubsub.command": "redis, command",
    "redis.async_*command": "redis, command, async",
    "redis.*pipeline": "redis, pipeline of ten",
    "redis.async_*pipeline": "redis, pipeline of ten, async",
    "redis.official.*": "redis, command of a stock client",
    "cassandra.execute": "cassandra, execute_async",
    "cassandra.speculative": "cassandra, execute_async",
    "cassandra.result": "cassandra, execute",
    "cassandra.exception": "cassandra, execute",
    "cassandra.wait*": "cassandra, execute",
    "cassandra.prepare": "cassandra, prepare",
    "cassandra.connect": "cassandra, connect",
    "cassandra.page": "cassandra, page",
    "cassandra.*back": "cassandra, callbacks",
    "gevent.*": "gevent, spawn",
    "openai.request*": "openai, chat call",
    "openai.stream*": "openai, chat stream of 22 chunks",
    "openai.socket.*": "openai, websocket session",
    "asgi.request": "ASGI request",
    "fastapi.*": "FastAPI request",
    "starlette.route": "Starlette request",
    "wsgi.request": "WSGI request",
    "flask.*": "Flask request",
    "django.*": "Django request",
    "aiohttp_server.request": "aiohttp.web request",
    "httpx.sync": "httpx",
    "httpx.async": "httpx, async",
    "requests.send": "requests",
    "urllib3.urlopen": "urllib3",
    "aiohttp_client.trace_config": "aiohttp client",
    "exceptions": "exception, one frame",
    "guard": "guard, a span that is counted",
}
# What runs when something is set up or configured, and not for each call.
ONCE = (
    "tracer.configuration",
    "openai.logfire",
    "redis.observability.*",
    "*.instrument",
    "*.uninstrument",
    "*.instrumentation_dependencies",
)


@pytest.fixture(scope="module")
def hooks():
    """The names of all patches."""
    return [row.name for row in FastpathInstrumentor().status()]


@pytest.fixture(scope="module")
def scenarios():
    """The scenarios' names, without their variants'."""
    return {name.partition("[")[0] for file in FILES for name in declare.read(file).scenarios}


def test_every_hook_is_run_by_a_scenario(hooks, scenarios):
    """Or is one that costs once."""
    per_call = [name for name in hooks if not any(fnmatchcase(name, pattern) for pattern in ONCE)]

    missing = [name for name in per_call if not any(fnmatchcase(name, pattern) for pattern in RUN_BY)]

    assert not missing
    assert set(RUN_BY.values()) <= scenarios


@pytest.mark.parametrize("pattern", [*RUN_BY, *ONCE])
def test_no_line_of_these_tables_is_left_over(pattern, hooks):
    """A hook that is gone takes its line with it."""
    assert any(fnmatchcase(name, pattern) for name in hooks)
