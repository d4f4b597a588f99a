"""The programs of the libraries that are installed with their instrumentations."""

from __future__ import annotations

import importlib
from typing import Final

from otel_fastpath.tools.prove.program import Program

_FOLDER: Final = f"{__name__.rpartition('.')[0]}.libraries"
# What a library is called, and the module with its program.
_LIBRARIES: Final = {
    "ASGI": "server_programs.asgi_program",
    "Starlette": "server_programs.starlette_program",
    "FastAPI": "server_programs.fastapi_program",
    "FastAPI's own": "server_programs.fastapi_own_program",
    "WSGI": "server_programs.wsgi_program",
    "Flask": "server_programs.flask_program",
    "Django": "server_programs.django_program",
    "aiohttp.web": "server_programs.aiohttp_web_program",
    "aiohttp": "aiohttp_client_program",
    "httpx": "httpx_program",
    "requests": "requests_program",
    "urllib3": "urllib3_program",
    "gRPC": "grpc_program",
    "Celery": "message_programs.celery_program",
    "kafka-python": "message_programs.kafka_python_program",
    "aiokafka": "message_programs.aiokafka_program",
    "botocore": "botocore_program",
    "Lambda": "lambda_program",
    "DB-API": "dbapi_program",
    "sqlite3": "sqlite3_program",
    "SQLAlchemy": "sqlalchemy_program",
    "OpenAI": "openai_program",
    "genai": "genai_program",
    "logging": "logging_program",
    "structlog": "structlog_program",
}
# Stock measures its pool without its name: docs/differences.md.
_LEFT_OUT: Final = {"SQLAlchemy": frozenset({"metrics"})}


def library_programs(first: int, number: int) -> list[Program]:
    """So many programs of each library, from this seed on."""
    found = []
    for library, module in _LIBRARIES.items():
        try:
            run = importlib.import_module(f"{_FOLDER}.{module}").PROGRAM
        except ImportError:
            # The library, or its instrumentation, is not installed.
            continue
        left_out = _LEFT_OUT.get(library, frozenset())
        found += [
            Program(f"{library} {seed}", seed, run, is_exact=False, left_out=left_out)
            for seed in range(first, first + number)
        ]
    return found
