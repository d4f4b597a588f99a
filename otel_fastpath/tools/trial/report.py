"""What a trial has found: three lines, where the rest of the cost is, and the next step."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from otel_fastpath.tools.bench import saving
from otel_fastpath.tools.bench.turns import WAYS
from otel_fastpath.tools.budget.results import SCHEMA
from otel_fastpath.tools.common.program import STOCK
from otel_fastpath.tools.common.render.document import BAD, GOOD, PLAIN, UNSURE, Cell, Document, Table, figure

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from otel_fastpath.tools.bench.saving import EstimatedSaving
    from otel_fastpath.tools.bench.turns import Turn
    from otel_fastpath.tools.profile.report import Report
    from otel_fastpath.tools.verify.comparing import Comparison

_MOST_ROWS: Final = 8
# What less of the CPU goes to is not worth a line.
_LEAST_SHARE: Final = 0.005
# From here upwards, microseconds have no decimals.
_WHOLE: Final = 10
_OF_THE_REST: Final = (
    "the rows are a sample of what runs in telemetry's code; what is missing in their sum is the service's own code, "
    "which runs slower between it"
)


@dataclass(frozen=True)
class TrialResult:
    """What was found.

    Attributes:
        url: The page that was asked for.
        command: Starts the service.
        turns: Way -> its measurements.
        comparison: Of what arrived; None: it could not be made.
        why_not_compared: The reason for that.
        profile: Of the service with otel-fastpath; None: nothing was recorded.
        is_instrumented: Whether the command runs `opentelemetry-instrument`, or the service sets OpenTelemetry up.
        is_added: Whether otel-fastpath had to be added to a service that sets OpenTelemetry up.
        notes: Further remarks.
    """

    url: str
    command: Sequence[str]
    turns: Mapping[str, Sequence[Turn]]
    comparison: Comparison | None
    why_not_compared: str
    profile: Report | None
    is_instrumented: bool
    is_added: bool
    notes: Sequence[str]

    @property
    def saving(self) -> EstimatedSaving:
        """The estimate."""
        return saving.estimate(*([each.microseconds for each in self.turns[way]] for way in WAYS))

    @property
    def is_different(self) -> bool:
        """Whether other telemetry arrives with otel-fastpath."""
        return self.comparison is not None and bool(self.comparison.differences)

    @property
    def is_clear(self) -> bool:
        """Whether the costs can be distinguished from noise."""
        return self.saving.is_known


def document(found: TrialResult) -> Document:
    """The report for people."""
    lines = Table(("telemetry", "what was found"), tuple((Cell(name), cell) for name, cell in _lines(found)))
    rest = _rest(found)
    return Document(
        title=f"What telemetry costs this service: {found.url}",
        summary=_summary(found),
        tables=(lines, Table(("library", ">us a request", ">of its CPU"), rest, "Where the rest is"))
        if rest
        else (lines,),
        notes=(*([_OF_THE_REST] if rest else []), *found.notes),
        advice=f"next: {_next_step(found)}",
    )


def machine(found: TrialResult) -> dict[str, Any]:
    """The report as JSON."""
    estimate = found.saving
    return {
        "schema": SCHEMA,
        "url": found.url,
        "microseconds": {"bare": estimate.bare, "stock": estimate.stock, "fastpath": estimate.fastpath},
        "saved": estimate.value if estimate.is_known else None,
        "interval": estimate.interval if estimate.is_known else None,
        "ways": {way: [each._asdict() for each in found.turns[way]] for way in WAYS},
        "is_the_same": None if found.comparison is None else not found.is_different,
        "counts": {} if found.comparison is None else dict(found.comparison.counts),
        "rest": [dict(zip(("library", "microseconds", "share"), each, strict=True)) for each in _libraries(found)],
        "next": _next_step(found),
        "notes": list(found.notes),
    }


def _lines(found: TrialResult) -> tuple[tuple[str, Cell], ...]:
    estimate = found.saving
    stock, ours = estimate.stock - estimate.bare, estimate.fastpath - estimate.bare
    spans = sum(each.received.get("traces", 0) for each in found.turns[STOCK])
    requests = sum(each.requests for each in found.turns[STOCK])
    share, number = max(stock, 0) / estimate.stock, round(spans / requests, 1)
    now = f"{_us(stock)} us of CPU a request, {share:.0%} of the total, for {figure(number)} span{'s' * (number != 1)}"
    then = f"{_us(ours)} us of CPU a request"
    return (
        ("now", Cell(now if estimate.is_clear else "cannot be distinguished from noise")),
        ("with otel-fastpath", Cell(then if found.is_clear else "cannot be distinguished from noise")),
        ("what arrives", _sameness(found)),
    )


def _sameness(found: TrialResult) -> Cell:
    comparison = found.comparison
    if comparison is None:
        return Cell(f"not compared: {found.why_not_compared}", UNSURE)
    if comparison.differences:
        first = comparison.differences[0]
        return Cell(f"differs: {first.signal} {first.name}: {first.field}: {first.stock} -> {first.fastpath}", BAD)
    return Cell(f"the same: {comparison.counted}", GOOD)


def _summary(found: TrialResult) -> Cell:
    if not found.is_clear:
        return Cell("no saving can be distinguished from noise: ask for a page that makes more spans, by --url", UNSURE)
    estimate = found.saving
    text = f"otel-fastpath takes away {estimate.value:.0%} of what telemetry costs"
    if estimate.interval is None:
        return Cell(f"{text} (too few rounds to say how sure that is: more --seconds give an interval)", PLAIN)
    low, high = estimate.interval
    return Cell(f"{text} ({low:.0%} to {high:.0%} with 90% confidence)", GOOD if low > 0 else UNSURE)


def _rest(found: TrialResult) -> tuple[tuple[Cell, ...], ...]:
    return tuple(
        (Cell(library), Cell(_us(microseconds)), Cell(f"{share:.1%}"))
        for library, microseconds, share in _libraries(found)[:_MOST_ROWS]
        if share >= _LEAST_SHARE
    )


def _libraries(found: TrialResult) -> list[tuple[str, float, float]]:
    """Each library with what its telemetry still costs: microseconds a request, and the share of the service's CPU."""
    if found.profile is None:
        return []
    shares: defaultdict[str, float] = defaultdict(float)
    for hook in found.profile.hooks:
        shares[hook.library] += hook.share
    whole = found.saving.fastpath
    return sorted(((name, share * whole, share) for name, share in shares.items()), key=lambda each: -each[1])


def _us(microseconds: float) -> str:
    return f"{microseconds:,.0f}" if microseconds >= _WHOLE else f"{microseconds:.1f}"


def _next_step(found: TrialResult) -> str:
    command = " ".join(found.command)
    if found.is_different:
        return f"see each difference: otel-fastpath verify --ready {found.url} --load 'curl {found.url}' {command}"
    if not found.is_instrumented:
        return f"start it by `opentelemetry-instrument {command}`, which loads otel-fastpath by itself"
    if found.is_added:
        return "call otel_fastpath.FastpathInstrumentor().instrument() where the service sets OpenTelemetry up"
    if found.profile is not None and found.profile.advice:
        return found.profile.advice[0]
    return "nothing: otel-fastpath is in use"
