"""Which signals FastAPI's own telemetry emits, as its configuration and the providers say. Compiled as `signals_c`."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any, Final

from fastapi.telemetry import _api
from opentelemetry import _logs, metrics, trace
from opentelemetry._logs import _internal as _logs_api
from opentelemetry.environment_variables import _OTEL_PYTHON_LOGGER_PROVIDER

from otel_fastpath.compiled.facts import Facts
from otel_fastpath.http.servers.variables import VARIABLES, encoded
from otel_fastpath.patching.stock import as_defined

if TYPE_CHECKING:
    from collections.abc import Callable

api: Any = _api
_logs_globals = vars(_logs_api)
_LOGGER_PROVIDER: Final = encoded(_OTEL_PYTHON_LOGGER_PROVIDER)
_unreplaced = Facts([(_logs, "get_logger_provider", as_defined(_logs_api, "get_logger_provider"))])
# Providers are abstract classes, which `isinstance` asks in a Python function.
_is_kind: Callable[[type, type], bool] = functools.lru_cache(maxsize=16)(issubclass)


def _given(config: Any, name: str, get: Callable[[], Any]) -> Any:
    """The provider of a signal: the application's or the global one; None if that is not configured yet."""
    provider = config[name]
    if provider:
        return provider
    provider = get()
    return None if config[name] is None and api._unconfigured(provider) else provider


def tracing_provider(config: Any) -> Any:
    """The provider of tracers; None: no spans."""
    provider = _given(config, "tracer_provider", trace.get_tracer_provider) if config["tracing"] else None
    return None if _is_kind(type(provider), trace.NoOpTracerProvider) else provider


def is_metering(config: Any, scope: Any) -> bool:
    """Whether to record the metrics of this request."""
    if not config["metrics"] or scope["type"] == "websocket":
        return False
    provider = _given(config, "meter_provider", metrics.get_meter_provider)
    return provider is not None and not _is_kind(type(provider), metrics.NoOpMeterProvider)


def is_logging(config: Any) -> bool:
    """Whether to emit log records."""
    # Stock's function reads the environment in every call, while no provider is set.
    if not config["logs"] or (
        config["logger_provider"] is None
        and _logs_globals["_LOGGER_PROVIDER"] is None
        and _LOGGER_PROVIDER not in VARIABLES
        and _unreplaced.hold()
    ):
        return False
    provider = _given(config, "logger_provider", _logs.get_logger_provider)
    return provider is not None and not _is_kind(type(provider), _logs.NoOpLoggerProvider)
