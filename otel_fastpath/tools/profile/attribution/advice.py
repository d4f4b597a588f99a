"""What to do about what a profile found: a sentence for each matter that takes at least a hundredth of the CPU."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from otel_fastpath.tools.profile.attribution.eager_messages import formatted_early
from otel_fastpath.tools.profile.report import percent

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence

    from otel_fastpath.tools.profile.attribution.owners import Frame
    from otel_fastpath.tools.profile.attribution.samples import Sample
    from otel_fastpath.tools.profile.report import Saving

# What is less than this share of the CPU is not worth a sentence.
LEAST: Final = 0.01


def _named(*names: str) -> Callable[[Frame], bool]:
    """Whether the function is one of these."""
    return lambda frame: frame.name.rpartition(".")[2] in names


class _AdviceRule(NamedTuple):
    """What a telemetry frame, or one below it, looks like, and the advice.

    Attributes:
        is_it: Looks at a frame.
        text: The advice.
        patches: The patches that the advice asks for; it is not given where one of them is in force.
    """

    is_it: Callable[[Frame], bool]
    text: str
    patches: tuple[str, ...] = ()


_RULES: Final = (
    _AdviceRule(
        lambda frame: frame.module.startswith(("importlib.metadata", "importlib_metadata")),
        "an instrumentation looks the version of a package up on each call; the patches `versions.*` store the result",
        ("versions.",),
    ),
    _AdviceRule(
        _named("_set_send_span"),
        'each message of an ASGI request is a span: exclude_spans=["send", "receive"] leaves them out',
    ),
    _AdviceRule(
        _named("collect_custom_headers_attributes", "sanitize_header_values", "normalise_request_header_name"),
        "header capture looks through the headers: unset OTEL_INSTRUMENTATION_HTTP_CAPTURE_HEADERS_* that find nothing",
    ),
    _AdviceRule(
        _named("record_exception", "format_exception", "print_exception"),
        "stack traces of exceptions are formatted: catch expected ones in the span; otel-fastpath formats each once",
        ("span.record_exception",),
    ),
    _AdviceRule(
        lambda frame: frame.module.startswith(("opentelemetry.sdk._logs", "opentelemetry.instrumentation.logging")),
        "log records are exported: raise the level of the handler if those of low levels are not read",
    ),
    _AdviceRule(
        lambda frame: frame.module.startswith("opentelemetry.exporter.otlp"),
        "spans and metrics are encoded and sent: otel-fastpath's OTLP encoder makes this cheaper",
        ("otlp.",),
    ),
    _AdviceRule(
        _named("_get_route_details", "_get_default_span_details"),
        "the route of a request is looked for twice; the patches `fastapi.route` and `starlette.route` make this cheap",
        ("fastapi.route", "starlette.route"),
    ),
)


def lines(found: Sequence[Sample], cpu: float, savings: Sequence[Saving], applied: Collection[str]) -> tuple[str, ...]:
    """The advice, the most profitable first.

    Args:
        found: The samples.
        cpu: Their sum, in seconds.
        savings: What the parts of otel-fastpath save.
        applied: The names of the patches that are in force in the process.
    """
    made: list[tuple[float, str]] = []
    for rule in _RULES:
        if rule.patches and any(name.startswith(rule.patches) for name in applied):
            continue
        share = sum(each.seconds for each in found if each.is_telemetry and _any(rule.is_it, each)) / cpu
        if share >= LEAST:
            made.append((share, f"-{percent(share)} of the CPU at most: {rule.text}."))
    for line, seconds in formatted_early(found).items():
        if seconds >= LEAST * cpu:
            text = "formats a message before it is called, also where that level is off; pass the values as arguments"
            made.append((seconds / cpu, f"-{percent(seconds / cpu)} of the CPU at most: {line} {text}."))
    made += [
        (each.saving, f"{each.part}: {', '.join(each.skipped)} skipped here; `otel-fastpath status` says why.")
        for each in savings
        if each.skipped
    ]
    off = [each for each in savings if not each.is_on]
    would_save = sum(each.saving for each in off)
    if would_save >= LEAST:
        names = ", ".join(each.part for each in off)
        text = "turn on the parts of otel-fastpath that are off here"
        made.append((would_save, f"-{percent(would_save)} of the CPU: {text}: {names}."))
    return tuple(text for _, text in sorted(made, key=lambda pair: -pair[0]))


def _any(is_it: Callable[[Frame], bool], sample: Sample) -> bool:
    return any(is_it(frame) for frame in sample.stack[sample.owner.begin :])
