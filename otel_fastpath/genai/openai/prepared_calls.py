"""What calls of OpenAI's client have in common, worked out once. Plain Python; compiled as `prepared_calls_c`."""

from __future__ import annotations

from sys import getsizeof
from typing import TYPE_CHECKING

from opentelemetry.trace import SpanKind

from otel_fastpath.compiled.helpers import get_item
from otel_fastpath.genai.rule_kinds import TOKEN_TYPE
from otel_fastpath.metrics.instruments.bound import BoundHistogram
from otel_fastpath.patching.cache import Cache
from otel_fastpath.wrapping.replacements import Replacements

if TYPE_CHECKING:
    from typing import Any

    from openai._models import FinalRequestOptions
    from opentelemetry.metrics import Histogram
    from opentelemetry.util import types

    from otel_fastpath.genai.openai.endpoints import Endpoint
    from otel_fastpath.wrapping.labels import Labels


# The most bytes cached for the series of one target, the largest series, and the size of each besides its texts.
_MOST_SERIES = 1 << 16
_LARGEST_SERIES = 1 << 12
_EACH = 1024
_NO_BODY: dict[str, object] = {}


class CallMetrics:
    """The histograms for calls with the same attributes, bound to these."""

    __slots__ = ("duration", "first_chunk", "input", "next_chunk", "output")

    def __init__(self, histograms: tuple[Histogram, ...], attributes: dict[str, types.AttributeValue]) -> None:
        durations, tokens, first_chunks, next_chunks = histograms
        self.duration = BoundHistogram(durations, attributes)
        self.input = BoundHistogram(tokens, {**attributes, TOKEN_TYPE: "input"})
        self.output = BoundHistogram(tokens, {**attributes, TOKEN_TYPE: "output"})
        self.first_chunk = BoundHistogram(first_chunks, attributes)
        self.next_chunk = BoundHistogram(next_chunks, attributes)


class Target:
    """What calls of one endpoint, provider and model have in common.

    Args:
        endpoint: The endpoint, see `endpoints`.
        name: The name of the span.
        start: The attributes that a span starts with; they must not be changed.
        histograms: The histograms of durations, tokens, first and further chunks.
        labels: Bounds the sets of their labels.
    """

    __slots__ = (
        *("_by_values", "_kept", "_labels", "endpoint", "error", "fixed", "has_result", "histograms", "is_fetched"),
        *("is_inference", "more", "name", "nests", "options", "request", "result", "series_names", "shape", "start"),
        "started",
    )

    def __init__(
        self,
        endpoint: Endpoint,
        name: str,
        start: dict[str, types.AttributeValue],
        histograms: tuple[Histogram, ...],
        labels: Labels,
    ) -> None:
        self._labels = labels
        self.endpoint = endpoint
        self.name = name
        self.start = start
        self.histograms = histograms
        self._kept = Cache(_MOST_SERIES, _LARGEST_SERIES)
        self._by_values = self._kept.items
        self.request = endpoint.request
        self.result = endpoint.result
        self.more = endpoint.more
        self.fixed = endpoint.fixed
        self.series_names = endpoint.series
        self.shape = endpoint.content
        self.is_inference = endpoint.is_inference
        self.is_fetched = endpoint.is_fetched
        self.has_result = endpoint.has_result
        self.options = endpoint.options
        self.started = endpoint.started
        self.error = endpoint.error
        self.nests = endpoint.nests

    def series(self, attributes: dict[str, object], which: tuple[str, ...]) -> CallMetrics:
        """The metrics of a call with these attributes; those named in `which` are also attributes of the metrics."""
        # Only strings: another value from the server may not be hashable.
        values = []
        for name in which:
            value = attributes.get(name)
            values.append(value if isinstance(value, str) else None)
        key = tuple(values)
        found = get_item(self._by_values, key)
        if found is None:
            own = dict(self.start)
            for at, name in enumerate(which):
                if key[at] is not None:
                    own[name] = key[at]
            found = CallMetrics(self.histograms, self._labels.bounded(own))
            self._kept.keep(key, found, _EACH + sum(map(getsizeof, key)))
        return found


class PreparedCalls:
    """What all calls of one set-up have in common.

    Args:
        telemetry: The `telemetry.OpenAITelemetry` that does the rest.

    Attributes:
        replacements: Of functions of stock, which then records the calls.
        tracer: Starts the spans.
        targets: Method, path, identity of the base URL, class of the client, model -> target.
    """

    __slots__ = (
        *("always", "captures", "events", "has_meter", "kind", "on_span", "replacements", "targets", "telemetry"),
        "tracer",
    )

    def __init__(self, telemetry: Any) -> None:
        settings = telemetry.settings
        self.telemetry = telemetry
        self.replacements = Replacements(None if telemetry.by_stock is None else telemetry.by_stock.functions)
        self.tracer = telemetry.tracer
        self.kind = SpanKind.CLIENT
        self.has_meter = telemetry.has_meter
        self.events = settings.events
        self.captures = settings.captures
        self.on_span = settings.on_span
        # Whether a call that is not sampled is instrumented all the same.
        self.always = settings.events or settings.hook is not None
        self.targets: dict[tuple[str, str, int, type, str | None], Target] = {}


def body_of(options: FinalRequestOptions) -> dict[str, object]:
    """The request's body, with what the caller added to it."""
    body = options.json_data
    if type(body) is not dict:
        body = dict(body) if isinstance(body, dict) else _NO_BODY
    extra = options.extra_json
    return {**body, **extra} if isinstance(extra, dict) else body
