"""The hot modules in the core that is used: `hot.trace_span_start` is `otel_fastpath.trace.span_start`, or its twin.

An editor and mypy follow these names to the source. `make docs-tables` makes them from the files that give the modules
C types, `*_c.pxd` and `*_c.pyx`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

# The compiled twins. Either all or none are used, because they import each other.
# Twins made from the tree:
TWINS: Final = (
    "cloud.aws_lambda.lambda_events_c",
    "cloud.botocore.aws_calls_c",
    "cloud.botocore.aws_extensions_c",
    "cloud.botocore.aws_headers_c",
    "cloud.botocore.aws_hooks_c",
    "compiled.facts_c",
    "db.entering_c",
    "db.outer_c",
    "db.cassandra.requests_c",
    "db.dbapi.execution_c",
    "db.queries.sql_c",
    "db.queries.summary_c",
    "db.sqlalchemy.checkouts_c",
    "genai.anthropic.created_messages_c",
    "genai.anthropic.streamed_messages_c",
    "genai.openai.calls_c",
    "genai.openai.prepared_calls_c",
    "genai.openai.reading.iterators_c",
    "genai.openai.reading.models_c",
    "http.client_c",
    "http.conventions_c",
    "http.redaction_c",
    "http.scopes_c",
    "http.server_c",
    "http.aiohttp_client.calls_c",
    "http.aiohttp_server.requests_c",
    "http.asgi.headers_c",
    "http.asgi.requests_c",
    "http.asgi.routes_c",
    "http.asgi.serving_c",
    "http.asgi.shapes_c",
    "http.clients.outgoing_c",
    "http.django.middleware_c",
    "http.fastapi.bound_instruments_c",
    "http.fastapi.operations_c",
    "http.fastapi.requests_c",
    "http.fastapi.scope_attributes_c",
    "http.fastapi.signals_c",
    "http.flask.hooks_c",
    "http.httpx.calls_c",
    "http.requests.hooks_c",
    "http.servers.activations_c",
    "http.servers.asgi_messages_c",
    "http.servers.environs_c",
    "http.servers.parents_c",
    "http.servers.responses_c",
    "http.servers.server_metrics_c",
    "http.urllib3.hooks_c",
    "http.wsgi.middleware_c",
    "logs.correlation_c",
    "logs.handling_c",
    "logs.known_loggers_c",
    "logs.records.cleaning_c",
    "logs.records.emitting_c",
    "logs.records.logger_emit_c",
    "logs.records.queueing_c",
    "logs.records.record_c",
    "logs.records.stock_records_c",
    "logs.records.structlog_events_c",
    "messaging.message_headers_c",
    "messaging.message_hooks_c",
    "messaging.aio_pika.aio_pika_hooks_c",
    "messaging.aiokafka.aiokafka_hooks_c",
    "messaging.celery.task_attributes_c",
    "messaging.celery.task_hooks_c",
    "messaging.confluent_kafka.confluent_hooks_c",
    "messaging.kafka_python.kafka_hooks_c",
    "messaging.pika.pika_hooks_c",
    "metrics.exponential_points_c",
    "metrics.points_c",
    "metrics.instruments.bound_c",
    "metrics.instruments.consuming_c",
    "metrics.instruments.exemplars_c",
    "metrics.instruments.exponential_c",
    "metrics.instruments.observing_c",
    "metrics.instruments.recording_c",
    "metrics.instruments.series_c",
    "others.genai_calls.call_fields_c",
    "others.genai_calls.contents_c",
    "others.genai_calls.finishing_c",
    "others.genai_calls.invocations_c",
    "others.genai_calls.stream_reading_c",
    "others.propagators.aws_xray_c",
    "others.propagators.b3_c",
    "others.propagators.jaeger_c",
    "others.suppression.suppressing_c",
    "otlp.encoder_c",
    "patching.plans_c",
    "patching.swapping.switches_c",
    "rpc.grpc.sent_calls_c",
    "rpc.grpc.served_calls_c",
    "trace.by_name_c",
    "trace.exporting_c",
    "trace.span_start_c",
    "trace.stock_steps_c",
    "trace.tracer_c",
    "trace.context.baggage_functions_c",
    "trace.context.context_functions_c",
    "trace.context.current_context_c",
    "trace.context.current_span_c",
    "trace.context.scope_c",
    "trace.planning.plan_c",
    "trace.propagation.baggage_c",
    "trace.propagation.carriers_c",
    "trace.propagation.composite_c",
    "trace.propagation.global_propagator_c",
    "trace.propagation.trace_context_c",
    "trace.spans.attributes_c",
    "trace.spans.bounding_c",
    "trace.spans.ending_c",
    "trace.spans.events_c",
    "trace.spans.identity_c",
    "trace.spans.links_c",
    "trace.spans.recorded_c",
    "trace.spans.span_c",
    "wrapping.call_span_c",
    "wrapping.replacements_c",
    "wrapping.starting_c",
)
# End of the twins.
_DOTTED: Final = {twin.removesuffix("_c").replace(".", "_"): twin.removesuffix("_c") for twin in TWINS}

if TYPE_CHECKING:
    # Names made from the tree:
    from otel_fastpath.cloud.aws_lambda import lambda_events as cloud_aws_lambda_lambda_events
    from otel_fastpath.cloud.botocore import aws_calls as cloud_botocore_aws_calls
    from otel_fastpath.cloud.botocore import aws_extensions as cloud_botocore_aws_extensions
    from otel_fastpath.cloud.botocore import aws_headers as cloud_botocore_aws_headers
    from otel_fastpath.cloud.botocore import aws_hooks as cloud_botocore_aws_hooks
    from otel_fastpath.compiled import facts as compiled_facts
    from otel_fastpath.db import entering as db_entering
    from otel_fastpath.db import outer as db_outer
    from otel_fastpath.db.cassandra import requests as db_cassandra_requests
    from otel_fastpath.db.dbapi import execution as db_dbapi_execution
    from otel_fastpath.db.queries import sql as db_queries_sql
    from otel_fastpath.db.queries import summary as db_queries_summary
    from otel_fastpath.db.sqlalchemy import checkouts as db_sqlalchemy_checkouts
    from otel_fastpath.genai.anthropic import created_messages as genai_anthropic_created_messages
    from otel_fastpath.genai.anthropic import streamed_messages as genai_anthropic_streamed_messages
    from otel_fastpath.genai.openai import calls as genai_openai_calls
    from otel_fastpath.genai.openai import prepared_calls as genai_openai_prepared_calls
    from otel_fastpath.genai.openai.reading import iterators as genai_openai_reading_iterators
    from otel_fastpath.genai.openai.reading import models as genai_openai_reading_models
    from otel_fastpath.http import client as http_client
    from otel_fastpath.http import conventions as http_conventions
    from otel_fastpath.http import redaction as http_redaction
    from otel_fastpath.http import scopes as http_scopes
    from otel_fastpath.http import server as http_server
    from otel_fastpath.http.aiohttp_client import calls as http_aiohttp_client_calls
    from otel_fastpath.http.aiohttp_server import requests as http_aiohttp_server_requests
    from otel_fastpath.http.asgi import headers as http_asgi_headers
    from otel_fastpath.http.asgi import requests as http_asgi_requests
    from otel_fastpath.http.asgi import routes as http_asgi_routes
    from otel_fastpath.http.asgi import serving as http_asgi_serving
    from otel_fastpath.http.asgi import shapes as http_asgi_shapes
    from otel_fastpath.http.clients import outgoing as http_clients_outgoing
    from otel_fastpath.http.django import middleware as http_django_middleware
    from otel_fastpath.http.fastapi import bound_instruments as http_fastapi_bound_instruments
    from otel_fastpath.http.fastapi import operations as http_fastapi_operations
    from otel_fastpath.http.fastapi import requests as http_fastapi_requests
    from otel_fastpath.http.fastapi import scope_attributes as http_fastapi_scope_attributes
    from otel_fastpath.http.fastapi import signals as http_fastapi_signals
    from otel_fastpath.http.flask import hooks as http_flask_hooks
    from otel_fastpath.http.httpx import calls as http_httpx_calls
    from otel_fastpath.http.requests import hooks as http_requests_hooks
    from otel_fastpath.http.servers import activations as http_servers_activations
    from otel_fastpath.http.servers import asgi_messages as http_servers_asgi_messages
    from otel_fastpath.http.servers import environs as http_servers_environs
    from otel_fastpath.http.servers import parents as http_servers_parents
    from otel_fastpath.http.servers import responses as http_servers_responses
    from otel_fastpath.http.servers import server_metrics as http_servers_server_metrics
    from otel_fastpath.http.urllib3 import hooks as http_urllib3_hooks
    from otel_fastpath.http.wsgi import middleware as http_wsgi_middleware
    from otel_fastpath.logs import correlation as logs_correlation
    from otel_fastpath.logs import handling as logs_handling
    from otel_fastpath.logs import known_loggers as logs_known_loggers
    from otel_fastpath.logs.records import cleaning as logs_records_cleaning
    from otel_fastpath.logs.records import emitting as logs_records_emitting
    from otel_fastpath.logs.records import logger_emit as logs_records_logger_emit
    from otel_fastpath.logs.records import queueing as logs_records_queueing
    from otel_fastpath.logs.records import record as logs_records_record
    from otel_fastpath.logs.records import stock_records as logs_records_stock_records
    from otel_fastpath.logs.records import structlog_events as logs_records_structlog_events
    from otel_fastpath.messaging import message_headers as messaging_message_headers
    from otel_fastpath.messaging import message_hooks as messaging_message_hooks
    from otel_fastpath.messaging.aio_pika import aio_pika_hooks as messaging_aio_pika_aio_pika_hooks
    from otel_fastpath.messaging.aiokafka import aiokafka_hooks as messaging_aiokafka_aiokafka_hooks
    from otel_fastpath.messaging.celery import task_attributes as messaging_celery_task_attributes
    from otel_fastpath.messaging.celery import task_hooks as messaging_celery_task_hooks
    from otel_fastpath.messaging.confluent_kafka import confluent_hooks as messaging_confluent_kafka_confluent_hooks
    from otel_fastpath.messaging.kafka_python import kafka_hooks as messaging_kafka_python_kafka_hooks
    from otel_fastpath.messaging.pika import pika_hooks as messaging_pika_pika_hooks
    from otel_fastpath.metrics import exponential_points as metrics_exponential_points
    from otel_fastpath.metrics import points as metrics_points
    from otel_fastpath.metrics.instruments import bound as metrics_instruments_bound
    from otel_fastpath.metrics.instruments import consuming as metrics_instruments_consuming
    from otel_fastpath.metrics.instruments import exemplars as metrics_instruments_exemplars
    from otel_fastpath.metrics.instruments import exponential as metrics_instruments_exponential
    from otel_fastpath.metrics.instruments import observing as metrics_instruments_observing
    from otel_fastpath.metrics.instruments import recording as metrics_instruments_recording
    from otel_fastpath.metrics.instruments import series as metrics_instruments_series
    from otel_fastpath.others.genai_calls import call_fields as others_genai_calls_call_fields
    from otel_fastpath.others.genai_calls import contents as others_genai_calls_contents
    from otel_fastpath.others.genai_calls import finishing as others_genai_calls_finishing
    from otel_fastpath.others.genai_calls import invocations as others_genai_calls_invocations
    from otel_fastpath.others.genai_calls import stream_reading as others_genai_calls_stream_reading
    from otel_fastpath.others.propagators import aws_xray as others_propagators_aws_xray
    from otel_fastpath.others.propagators import b3 as others_propagators_b3
    from otel_fastpath.others.propagators import jaeger as others_propagators_jaeger
    from otel_fastpath.others.suppression import suppressing as others_suppression_suppressing
    from otel_fastpath.otlp import encoder as otlp_encoder
    from otel_fastpath.patching import plans as patching_plans
    from otel_fastpath.patching.swapping import switches as patching_swapping_switches
    from otel_fastpath.rpc.grpc import sent_calls as rpc_grpc_sent_calls
    from otel_fastpath.rpc.grpc import served_calls as rpc_grpc_served_calls
    from otel_fastpath.trace import by_name as trace_by_name
    from otel_fastpath.trace import exporting as trace_exporting
    from otel_fastpath.trace import span_start as trace_span_start
    from otel_fastpath.trace import stock_steps as trace_stock_steps
    from otel_fastpath.trace import tracer as trace_tracer
    from otel_fastpath.trace.context import baggage_functions as trace_context_baggage_functions
    from otel_fastpath.trace.context import context_functions as trace_context_context_functions
    from otel_fastpath.trace.context import current_context as trace_context_current_context
    from otel_fastpath.trace.context import current_span as trace_context_current_span
    from otel_fastpath.trace.context import scope as trace_context_scope
    from otel_fastpath.trace.planning import plan as trace_planning_plan
    from otel_fastpath.trace.propagation import baggage as trace_propagation_baggage
    from otel_fastpath.trace.propagation import carriers as trace_propagation_carriers
    from otel_fastpath.trace.propagation import composite as trace_propagation_composite
    from otel_fastpath.trace.propagation import global_propagator as trace_propagation_global_propagator
    from otel_fastpath.trace.propagation import trace_context as trace_propagation_trace_context
    from otel_fastpath.trace.spans import attributes as trace_spans_attributes
    from otel_fastpath.trace.spans import bounding as trace_spans_bounding
    from otel_fastpath.trace.spans import ending as trace_spans_ending
    from otel_fastpath.trace.spans import events as trace_spans_events
    from otel_fastpath.trace.spans import identity as trace_spans_identity
    from otel_fastpath.trace.spans import links as trace_spans_links
    from otel_fastpath.trace.spans import recorded as trace_spans_recorded
    from otel_fastpath.trace.spans import span as trace_spans_span
    from otel_fastpath.wrapping import call_span as wrapping_call_span
    from otel_fastpath.wrapping import replacements as wrapping_replacements
    from otel_fastpath.wrapping import starting as wrapping_starting
    # End of the names.
else:

    def __getattr__(name: str) -> Any:
        if name not in _DOTTED:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        from otel_fastpath import compiled  # noqa: PLC0415  # it has the names above

        found = globals()[name] = compiled.load(_DOTTED[name])
        return found


def forget() -> None:
    """Look each module up again, because another core may have been chosen."""
    for name in _DOTTED:
        globals().pop(name, None)
