"""Where the telemetry of the calls goes: tracer, histograms, logger, and what was worked out for them before."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from opentelemetry import _logs, metrics, trace
from opentelemetry.metrics import _internal as _metrics_internal

from otel_fastpath.core.bound import bind
from otel_fastpath.wrap.openai import _names as names
from otel_fastpath.wrap.openai._providers import Site, site_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from opentelemetry.metrics import Histogram

    from otel_fastpath.wrap.openai._endpoints import Endpoint

_logger = logging.getLogger(__name__)

SECONDS: Final = (0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92)
TOKENS: Final = tuple(4**power for power in range(14))
_FIRST_CHUNK: Final = (
    "Time to receive the first chunk, measured from when the client issues the generation request to when the first"
    " chunk is received in the response stream."
)
_NEXT_CHUNK: Final = (
    "Time per output chunk, recorded for each chunk received after the first one, measured as the time elapsed from"
    " the end of the previous chunk to the end of the current chunk."
)
# Name, unit, description, bounds; as in `opentelemetry-util-genai` 1.3b0.
HISTOGRAMS: Final = (
    ("gen_ai.client.operation.duration", "s", "Duration of GenAI client operation", SECONDS),
    ("gen_ai.client.token.usage", "{token}", "Number of input and output tokens used by GenAI clients", TOKENS),
    ("gen_ai.client.operation.time_to_first_chunk", "s", _FIRST_CHUNK, SECONDS),
    ("gen_ai.client.operation.time_per_output_chunk", "s", _NEXT_CHUNK, SECONDS),
)
# Models and hosts are few; what is not is worked out again.
_MOST: Final = 512


@dataclass(frozen=True)
class Scope:
    """The instrumentation scope that the telemetry names."""

    name: str
    version: str


@dataclass(frozen=True)
class Settings:
    """What is captured, and where it is put.

    Attributes:
        on_span: Whether content becomes span attributes.
        on_event: Whether content becomes attributes of events.
        events: Whether there are events.
        hook: Called with the content of every inference; None where there is none.
        longest: How many characters of a text of the content are kept.
    """

    on_span: bool = False
    on_event: bool = False
    events: bool = False
    hook: Any = None
    longest: int = 1 << 16

    @property
    def captures(self) -> bool:
        """Whether content is kept at all."""
        return self.on_span or self.on_event or self.hook is not None


class Series:
    """The histograms with the attributes of calls that are alike, each bound when it is first used."""

    __slots__ = ("_attributes", "_histograms", "_made")

    def __init__(self, histograms: tuple[Histogram, ...], attributes: dict[str, Any]) -> None:
        self._histograms = histograms
        self._attributes = attributes
        self._made: dict[str, Any] = {}

    @property
    def duration(self) -> Any:
        """Seconds of a call."""
        return self._made.get("duration") or self._bind("duration", 0)

    @property
    def first_chunk(self) -> Any:
        """Seconds until the first chunk."""
        return self._made.get("first") or self._bind("first", 2)

    @property
    def next_chunk(self) -> Any:
        """Seconds from one chunk to the next."""
        return self._made.get("next") or self._bind("next", 3)

    def tokens(self, kind: str) -> Any:
        """Tokens of this kind: "input" or "output"."""
        return self._made.get(kind) or self._bind(kind, 1, {names.TOKEN_TYPE: kind})

    def _bind(self, name: str, index: int, more: Mapping[str, Any] | None = None) -> Any:
        record = bind(self._histograms[index], {**self._attributes, **(more or {})}).record
        self._made[name] = record
        return record


class Target:
    """What calls of one endpoint, provider and model have in common.

    Attributes:
        endpoint: The endpoint.
        name: Of the span.
        start: The attributes that a span starts with; not to be changed.
    """

    __slots__ = ("_histograms", "_series", "endpoint", "name", "start")

    def __init__(self, endpoint: Endpoint, site: Site, model: str | None, histograms: tuple[Histogram, ...]) -> None:
        self.endpoint = endpoint
        self.name = f"{endpoint.operation} {model}" if model else endpoint.operation
        start = {
            names.OPERATION: endpoint.operation,
            names.PROVIDER: site.provider,
            names.MODEL: model,
            names.SERVER_ADDRESS: site.address,
            names.SERVER_PORT: site.port,
        }
        self.start: dict[str, Any] = {name: value for name, value in start.items() if value is not None}
        self._histograms = histograms
        self._series: dict[tuple[Any, ...], Series] = {}

    def series(self, attributes: Mapping[str, Any], which: tuple[str, ...]) -> Series:
        """The metrics of a call with these attributes, of which the ones named are the metrics' as well."""
        key = (len(which), *[attributes.get(name) for name in which])
        found = self._series.get(key)
        if found is None:
            own = {name: attributes[name] for name in which if attributes.get(name) is not None}
            found = Series(self._histograms, {**self.start, **own})
            if len(self._series) < _MOST:
                self._series[key] = found
        return found


class Telemetry:
    """The telemetry of all calls, from when it is put in place until something else is.

    Args:
        scope: What the telemetry names as its source.
        settings: What is captured.
        providers: `tracer_provider`, `meter_provider` and `logger_provider`, where they are not the global ones.
    """

    def __init__(self, scope: Scope, settings: Settings, providers: Mapping[str, Any]) -> None:
        url = names.SCHEMA_URL
        self.settings = settings
        self.tracer: Any = trace.get_tracer(scope.name, scope.version, providers.get("tracer_provider"), schema_url=url)
        meter = metrics.get_meter(
            scope.name, scope.version, meter_provider=providers.get("meter_provider"), schema_url=url
        )
        self.logger = _logs.get_logger(scope.name, scope.version, providers.get("logger_provider"), schema_url=url)
        self.histograms = tuple(
            meter.create_histogram(name, unit, description, explicit_bucket_boundaries_advisory=list(bounds))
            for name, unit, description, bounds in HISTOGRAMS
        )
        self._always = settings.events or settings.hook is not None
        self._own_tracer = providers.get("tracer_provider") is not None
        self._own_meter = providers.get("meter_provider") is not None
        self._targets: dict[tuple[Any, ...], tuple[Any, Target]] = {}
        self._known: dict[tuple[Endpoint, Site, str | None], Target] = {}

    @property
    def measures(self) -> bool:
        """Whether somebody set up metrics."""
        return self._own_meter or _metrics_internal._METER_PROVIDER is not None

    @property
    def listens(self) -> bool:
        """Whether a call that is not sampled is told of all the same."""
        return self._always or self._own_meter or _metrics_internal._METER_PROVIDER is not None

    @property
    def is_idle(self) -> bool:
        """Whether nobody set up anything that could see a call."""
        return not (self._own_tracer or trace._TRACER_PROVIDER is not None or self.listens)

    def target(self, endpoint: Endpoint, client: Any, model: Any) -> Target:
        """What calls like this one have in common."""
        url = client._base_url
        key = (id(url), type(client), endpoint, model)
        try:
            return self._targets[key][1]
        except (KeyError, TypeError):
            model = model if isinstance(model, str) else None
        site = site_of(type(client), url)
        found = self._known.get((endpoint, site, model))
        if found is None:
            found = Target(endpoint, site, model, self.histograms)
            if len(self._known) < _MOST:
                self._known[endpoint, site, model] = found
        if len(self._targets) < _MOST:
            # The URL is kept, so that no other can have its identity.
            self._targets[id(url), type(client), endpoint, model] = url, found
        return found
