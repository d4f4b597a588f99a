"""The telemetry of the calls: tracer, histograms, logger, and what is worked out for them in advance."""

from __future__ import annotations

import logging
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from opentelemetry import _logs, metrics, trace
from opentelemetry._logs import LogRecord

from otel_fastpath.compiled import hot
from otel_fastpath.genai import conventions as names
from otel_fastpath.genai.openai import completion_hooks as hooks
from otel_fastpath.genai.openai.content import Captured, ContentShape
from otel_fastpath.genai.openai.endpoints import ERROR_AND_MODEL, TABLE, endpoint_of
from otel_fastpath.genai.openai.providers import site_of
from otel_fastpath.patching.cache import Cache
from otel_fastpath.patching.outcome import call_guarded
from otel_fastpath.wrapping.labels import Labels

if TYPE_CHECKING:
    from collections.abc import Mapping

    from otel_fastpath.genai.openai.by_stock import ByStock
    from otel_fastpath.genai.openai.endpoints import Endpoint

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
_PLACE: Final = "the event of an OpenAI call"
# The labels of its metrics that an application, or a server, makes up.
_OF_CALLS: Final = (names.MODEL, names.RESPONSE_MODEL, names.ERROR_TYPE, names.RESPONSE_TIER, names.FINGERPRINT)
_OF_SERVERS: Final = (names.SERVER_ADDRESS, names.SERVER_PORT)
# The most bytes cached for what calls have in common, the largest entry, and the size of each besides its texts: there
# are few models and hosts.
_MOST: Final = 1 << 20
_LARGEST: Final = 1 << 14
_EACH: Final = 4096


@dataclass(frozen=True)
class TelemetryScope:
    """The instrumentation scope that the telemetry names."""

    name: str
    version: str


@dataclass(frozen=True)
class CaptureSettings:
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


class _ObjectIdentity(int):
    """The identity of an object, which no other object gets while this holds on to it; equal to the plain number."""

    owner: Any

    @classmethod
    def of(cls, owner: Any) -> _ObjectIdentity:
        """That of this object."""
        made = cls(id(owner))
        made.owner = owner
        return made


class OpenAITelemetry:
    """The telemetry of all calls of one set-up.

    Args:
        scope: The instrumentation scope.
        settings: What is captured.
        providers: `tracer_provider`, `meter_provider` and `logger_provider`, if they are not the global ones.
        only: The endpoints whose calls are instrumented; None: all.
        by_stock: Stock's own code, if this stands for it.

    Attributes:
        calls: What all calls have in common, as `calls` works with it.
    """

    def __init__(
        self,
        scope: TelemetryScope,
        settings: CaptureSettings,
        providers: Mapping[str, Any],
        only: frozenset[Endpoint] | None = None,
        by_stock: ByStock | None = None,
    ) -> None:
        self.by_stock = by_stock
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
        self.has_meter = providers.get("meter_provider") is not None
        prepared_calls = hot.genai_openai_prepared_calls
        self.calls: Any = prepared_calls.PreparedCalls(self)
        self._new_target: Any = prepared_calls.Target
        self._only = only
        self._labels = Labels("openai", _OF_CALLS, _OF_SERVERS)
        self._known = Cache(_MOST, _LARGEST)
        self._targets = Cache(_MOST, _LARGEST)
        self.calls.targets = self._targets.items

    def target(self, key: tuple[str, str, int, type, str | None], url: Any) -> Any:
        """What calls like this one have in common.

        Args:
            key: Method, path, identity of the base URL, class of the client, model.
            url: The base URL.

        Returns:
            The `prepared_calls.Target`; None if such calls are not instrumented.
        """
        method, path, _, kind, model = key
        endpoint = endpoint_of(method, path)
        if self._only is not None and endpoint not in self._only:
            return None
        site = site_of(kind, url)
        # A subclass of str, such as an enum, may equal another model without being shown like it.
        is_kept = model is None or type(model) is str
        found = self._known.items.get((endpoint, site, model)) if is_kept else None
        size = _EACH + 2 * sys.getsizeof(model) + sys.getsizeof(site.address)
        if found is None:
            start = {
                names.OPERATION: endpoint.operation,
                names.PROVIDER: site.provider,
                names.MODEL: model,
                names.SERVER_ADDRESS: site.address,
                names.SERVER_PORT: site.port,
            }
            found = self._new_target(
                endpoint,
                f"{endpoint.operation} {model}" if model else endpoint.operation,
                {name: value for name, value in start.items() if value is not None},
                self.histograms,
                self._labels,
            )
            if is_kept:
                self._known.keep((endpoint, site, model), found, size)
        # A path that is not in the table may contain an identifier, and would not be used again.
        if is_kept and (method, path) in TABLE:
            self._targets.keep((method, path, _ObjectIdentity.of(url), kind, model), found, size)
        return found

    def conversation(self, context: Any) -> str | None:
        """The conversation that a call in this context belongs to."""
        return hooks.conversation(context)

    def capture(self, shape: ContentShape, body: Any) -> Captured:
        """Keep the content of a request."""
        return Captured(shape, body)

    def with_content(self, call: Any) -> dict[str, Any]:
        """The attributes of a call's span, and its content."""
        attributes: dict[str, Any] = call.attributes.copy()
        call.captured.on_span(attributes, self.settings.longest)
        return attributes

    def publish(self, call: Any, which: tuple[str, ...]) -> None:
        """Add to the `util.genai` call around this one what this call and its metrics would have reported."""
        attributes = call.attributes
        own = {name: attributes[name] for name in which if name not in ERROR_AND_MODEL and name in attributes}
        hooks.publish(call.outer, attributes, own, call.captured, self.settings.hook)

    def tell(self, call: Any) -> None:
        """Emit the event of a call that has ended, and pass its content to the completion hook."""
        settings = self.settings
        record = None
        if call.target.is_inference and settings.events:
            record = call_guarded(_PLACE, self._record, call)
        if settings.hook is not None and call.target.shape is not None:
            call_guarded(_PLACE, hooks.call_hook, settings.hook, call.captured, call.span, record)
        if record is not None:
            call_guarded(_PLACE, self.logger.emit, record)

    def _record(self, call: Any) -> LogRecord:
        attributes = {**call.target.start, **call.attributes}
        if call.captured is not None and self.settings.on_event:
            call.captured.on_event(attributes, self.settings.longest)
        return LogRecord(event_name=names.EVENT, attributes=attributes, context=call.context)
