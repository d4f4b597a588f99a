"""From recordings to a report.

The total is the CPU time of telemetry's code, by samples for the main thread and by clocks for the others, and an
estimate of what telemetry costs the rest: garbage collections, caches and waits for the interpreter lock make the
application's own functions slower, which no stack shows.
"""

from __future__ import annotations

import math
import random
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from otel_fastpath.tools.profile.attribution import advice, modules, package_parts
from otel_fastpath.tools.profile.attribution.samples import Sample, samples
from otel_fastpath.tools.profile.report import Hook, Report, Saving, Share, percent
from otel_fastpath.tools.profile.stacks import flame

if TYPE_CHECKING:
    from collections.abc import Sequence

    from otel_fastpath.tools.profile.profile_file import Recording

# The application's own functions take longer beside telemetry: with a share d of CPU in telemetry's code, by this
# part of d x (1 - d) of the whole. It was fitted to services with and without telemetry (`make profile-truth`).
INDIRECT: Final = 0.4
HOOKS, EXPORT, COLLECTION, LOGGING, EXCEPTIONS = "hooks", "export", "metrics collection", "logging", "exceptions"
KINDS: Final = (HOOKS, EXPORT, COLLECTION, LOGGING, EXCEPTIONS)
_CONFIDENCE: Final = 0.9
_DRAWS: Final = 400
# The rule of three: what no one of N samples shows is less than 3/N of the whole, with a confidence of 95 %.
_UNSEEN: Final = 3.0
# Standard deviations of a share for 90 %.
_DEVIATIONS: Final = 1.645
_FEW: Final = 200
_METHOD: Final = (
    "Samples and clocks say what telemetry's own code takes; what it costs the rest (garbage collection, caches, the"
    " interpreter lock) is an estimate and part of the total. The time of imports is not counted. What is saved is an"
    " estimate from services that were measured with and without otel-fastpath."
)
_WORTH_A_ROW: Final = 0.0005
_EXPORTING: Final = ("BatchProcessor.worker", "BatchSpanProcessor.worker", "BatchLogRecordProcessor.worker")
_COLLECTING: Final = ("PeriodicExportingMetricReader._ticker",)
_OWN: Final = "otel-fastpath: "
_RAISING: Final = frozenset({"record_exception", "format_exception", "print_exception"})


@dataclass
class _ProfileRow:
    seconds: float = 0.0
    called: Counter[str] = field(default_factory=Counter)


def report(recordings: Sequence[Recording]) -> Report:
    """The report of the processes of one profile."""
    found = samples(recordings)
    cpu = sum(each.seconds for each in found) or 1e-9
    share = _share(found, cpu, sum(each.samples for each in recordings))
    seconds = max((each.seconds for each in recordings), default=0.0)
    calls = _calls(recordings)
    hooks = _hooks(found, cpu, calls, max(seconds, 1e-9))
    requests = sum(each.requests for each in recordings)
    savings = _savings(found, cpu, recordings)
    return Report(
        headline=_headline(share, hooks, savings),
        share=share,
        hooks=hooks,
        kinds=_kinds(found, cpu),
        logging=_logging(found) / cpu,
        savings=savings,
        advice=advice.lines(found, cpu, savings, _applied(recordings)),
        notes=_notes(recordings),
        facts=_facts(recordings, requests, cpu),
        processes=len(recordings),
        seconds=seconds,
        cpu=cpu,
        requests=requests,
        samples=sum(each.samples for each in recordings),
        flame=flame(found),
    )


def _share(found: Sequence[Sample], cpu: float, number: int) -> Share:
    blocks: defaultdict[tuple[int, int], list[float]] = defaultdict(lambda: [0.0, 0.0])
    for each in found:
        blocks[each.block][1] += each.seconds
        if each.is_telemetry:
            blocks[each.block][0] += each.seconds
    direct = sum(part for part, _ in blocks.values()) / cpu
    indirect = _indirect(direct)
    draw = random.Random(len(found))  # noqa: S311  # it is to repeat, not to be unguessable
    pairs = list(blocks.values())
    drawn = []
    for _ in range(_DRAWS if pairs else 0):
        again = draw.choices(pairs, k=len(pairs))
        drawn.append(sum(part for part, _ in again) / (sum(whole for _, whole in again) or 1e-9))
    drawn.sort()
    out = round(len(drawn) * (1 - _CONFIDENCE) / 2)
    low, high = (drawn[out], drawn[-1 - out]) if drawn else (0.0, 0.0)
    # What no sample shows may be there all the same, and where all seconds are equal, the next one may not be.
    if low == high:
        more = max(_UNSEEN / max(number, 1), _DEVIATIONS * math.sqrt(low * (1 - low) / max(number, 1)))
        low, high = max(low - more, 0.0), min(high + more, 1.0)
    # The estimate may be wrong by all of itself downwards, and by half of itself upwards.
    return Share(direct + indirect, low, min(high + 1.5 * _indirect(high), 1.0), direct, indirect)


def _indirect(direct: float) -> float:
    return INDIRECT * direct * (1 - direct)


def _library(sample: Sample) -> str:
    return modules.title(sample.stack[sample.owner.begin].module)


def kind(sample: Sample) -> str:
    """The kind of telemetry that samples belong to."""
    names = {frame.name for frame in sample.stack[sample.owner.begin :]}
    if any(name in names for name in _EXPORTING):
        return EXPORT
    if any(name in names for name in _COLLECTING):
        return COLLECTION
    if any(name.rpartition(".")[2] in _RAISING for name in names) or "exceptions" in _library(sample):
        return EXCEPTIONS
    library = _library(sample)
    return LOGGING if library.endswith(("logs", "logging instrumentation")) else HOOKS


def _kinds(found: Sequence[Sample], cpu: float) -> dict[str, float]:
    sums = dict.fromkeys(KINDS, 0.0)
    for each in found:
        if each.is_telemetry:
            sums[kind(each)] += each.seconds / cpu
    return sums


def _calls(recordings: Sequence[Recording]) -> dict[str, float]:
    sums: dict[str, float] = {}
    for recording in recordings:
        for name, rate in recording.calls.items():
            sums[name] = sums.get(name, 0.0) + rate
    return sums


def _hooks(found: Sequence[Sample], cpu: float, calls: dict[str, float], seconds: float) -> tuple[Hook, ...]:
    rows: defaultdict[tuple[str, str, str], _ProfileRow] = defaultdict(_ProfileRow)
    for each in found:
        if each.is_telemetry:
            row = rows[_library(each), each.stack[each.owner.begin].function, kind(each)]
            row.seconds += each.seconds
            row.called[each.stack[each.owner.call].function if each.owner.call >= 0 else ""] += each.seconds  # type: ignore[assignment]
    made = []
    for (library, function, of_kind), row in rows.items():
        if row.seconds / cpu < _WORTH_A_ROW:
            continue
        rate = calls.get(function)
        most, most_seconds = row.called.most_common(1)[0]
        us = row.seconds / seconds / rate * 1e6 if rate else None
        made.append(Hook(library, function, of_kind, row.seconds / cpu, rate, us, most, most_seconds / cpu))
    return tuple(sorted(made, key=lambda hook: -hook.share))


def _headline(share: Share, hooks: Sequence[Hook], savings: Sequence[Saving]) -> str:
    """The share, the library that takes most of it, what that calls, and what otel-fastpath would save."""
    text = f"Telemetry takes {percent(share.total)} of the CPU ({percent(share.low)} to {percent(share.high)})"
    if not hooks:
        return f"{text}: none of its code was seen."
    libraries: Counter[str] = Counter()
    called: Counter[tuple[str, str]] = Counter()
    for hook in hooks:
        libraries[hook.library] += hook.share  # type: ignore[assignment]
        if hook.most:
            called[hook.library, hook.most] += hook.most_share  # type: ignore[assignment]
    library, most = libraries.most_common(1)[0]
    text += f", and {percent(most)} is {_named(library)}"
    function = max((pair for pair in called if pair[0] == library), key=called.__getitem__, default=None)
    if function is not None and called[function] > most / 2:
        text += f", most of it in {function[1]}"
    would_save = sum(each.saving for each in savings if not each.is_on)
    if would_save >= advice.LEAST:
        text += f"; otel-fastpath would save {percent(would_save)}"
    return f"{text}."


def _named(library: str) -> str:
    """A library in a sentence."""
    if library.startswith(_OWN):
        return f"otel-fastpath's code for {library[len(_OWN) :]}"
    return library if library.startswith(("OpenTelemetry", "otel-fastpath", "SDK", "FastAPI's")) else f"the {library}"


def _logging(found: Sequence[Sample]) -> float:
    return sum(
        each.seconds
        for each in found
        if not each.is_telemetry and any(frame.module.partition(".")[0] == "logging" for frame in each.stack)
    )


def _savings(found: Sequence[Sample], cpu: float, recordings: Sequence[Recording]) -> tuple[Saving, ...]:
    core = next((each.core for each in recordings if each.core), "")
    patches = {name: state for each in recordings for name, _, state in each.patches}
    theirs: Counter[str] = Counter()
    ours: Counter[str] = Counter()
    for each in found:
        place = _part(each) if each.is_telemetry else None
        if place is not None:
            part, is_ours = place
            (ours if is_ours else theirs)[part.name] += each.seconds / cpu  # type: ignore[assignment]
    # What OpenTelemetry's own code would take instead, in CPU that is used now; and all CPU that would be used then.
    before = {part.name: ours[part.name] / part.left(core) for part in package_parts.PARTS}
    whole = 1 + sum(before.values()) - sum(ours.values())
    made = []
    for part in package_parts.PARTS:
        is_on = any(state == "applied" and name.startswith(part.patches) for name, state in patches.items())
        skipped = tuple(name for name, state in patches.items() if state == "skipped" and name.startswith(part.patches))
        share = (ours if is_on else theirs)[part.name]
        saved = before[part.name] - share if is_on else share * (1 - part.left(core))
        if share > _WORTH_A_ROW:
            made.append(Saving(part.name, is_on=is_on, share=share, saving=saved / whole, skipped=skipped))
    return tuple(sorted(made, key=lambda saving: -saving.saving))


def _applied(recordings: Sequence[Recording]) -> frozenset[str]:
    """The names of the patches that are in force."""
    return frozenset(name for each in recordings for name, _, state in each.patches if state == "applied")


def _part(sample: Sample) -> tuple[package_parts.ProfiledFeature, bool] | None:
    """The part of otel-fastpath for the innermost code that has one."""
    for frame in reversed(sample.stack[sample.owner.begin :]):
        place = package_parts.of(frame.module)
        if place is not None:
            return place
    return None


def _notes(recordings: Sequence[Recording]) -> tuple[str, ...]:
    notes = [_METHOD]
    if sum(each.samples for each in recordings) < _FEW:
        notes.append("There are few samples: let it run longer, or under more load.")
    if any(each.lost for each in recordings):
        notes.append("There were more different stacks than are kept; those of the end are missing.")
    own = sum(each.own for each in recordings) / (sum(each.cpu for each in recordings) or 1e-9)
    notes.append(f"The profile itself took {percent(own)} of the CPU, which is not counted.")
    if any(each.python.startswith(("3.10.", "3.11.")) for each in recordings):
        notes.append("Calls and requests are counted from Python 3.12 on.")
    return tuple(notes)


def _facts(recordings: Sequence[Recording], requests: int, cpu: float) -> dict[str, str]:
    used = sum(each.cpu for each in recordings)
    collecting = sum(each.collecting for each in recordings)
    facts = {
        "processes": str(len(recordings)),
        "recorded": f"{max((each.seconds for each in recordings), default=0.0):.1f} s, {used:.2f} s of CPU,"
        f" {sum(each.samples for each in recordings)} samples",
        "Python": ", ".join(sorted({each.python for each in recordings})),
        "otel-fastpath": {"c": "compiled core", "py": "pure core"}.get(
            next((each.core for each in recordings if each.core), ""), "not active"
        ),
        "garbage collection": f"{percent(collecting / (used or 1e-9))} of the CPU",
    }
    if requests:
        facts["requests"] = f"{requests}, {cpu / requests * 1e6:,.0f} us of CPU each"
    return facts
