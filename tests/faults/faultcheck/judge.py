"""What a fault did to the host and to its telemetry: a run with it, compared with one without."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from faultcheck.host import Host

# Detail of an item, of which there may be more where something else is missing.
_DETAIL = ("  ", "gauge ")
# Between what was collected and when.
COLLECTED = ", collected in "
# The item that a workload counts spans under that were exported more than once.
TWICE = "the same span twice"
_MOST = 6


@dataclass
class Run:
    """One run of a workload.

    Attributes:
        outcomes: Step -> what came of it.
        moved: The steps after which the current context was another.
        telemetry: Item -> how often it arrived.
        said: How many faults were counted or logged.
        stopped: What the workload itself failed with; empty where it did not.
    """

    outcomes: dict[str, str]
    moved: list[str]
    telemetry: dict[str, float]
    said: int = 0
    stopped: str = ""

    @classmethod
    def of(cls, host: Host, telemetry: Counter[str], said: int, stopped: str) -> Run:
        """Of what the host and the exporters have got."""
        return cls(dict(host.outcomes), list(host.moved), dict(telemetry), said, stopped)

    def as_json(self) -> dict[str, Any]:
        """For the way between processes."""
        return asdict(self)


@dataclass
class Verdict:
    """What a fault at one line did.

    Attributes:
        host: What the host got instead of its own.
        context: The steps after which the context was another.
        twice: The telemetry that was sent more often than it should.
        lost: What did not arrive, or arrived otherwise; no failure.
        is_silent: Whether the fault was neither counted nor logged; no failure.
        is_hung: Whether the process hung or died.
    """

    host: list[str] = field(default_factory=list)
    context: list[str] = field(default_factory=list)
    twice: list[str] = field(default_factory=list)
    lost: list[str] = field(default_factory=list)
    is_silent: bool = False
    is_hung: bool = False

    @property
    def is_kept(self) -> bool:
        """Whether the host was unaffected and its context restored."""
        return not (self.host or self.context or self.is_hung)

    @property
    def is_fine(self) -> bool:
        """Whether nothing was sent twice, either."""
        return self.is_kept and not self.twice


def judge(label: str, run: Run, without: Run, into: Verdict) -> None:
    """Add what one run shows; the label says which of the runs it is."""
    if run.stopped:
        into.host.append(f"{label}: the workload stopped: {run.stopped}")
    for step, expected in without.outcomes.items():
        got = run.outcomes.get(step, "was not reached")
        if got != expected:
            into.host.append(f"{label}: {step}: {got}, instead of: {expected}"[:400])
    into.context.extend(f"{label}: {step}" for step in run.moved if step not in without.moved)
    expected_groups = _groups(without)
    more = {group for group, amount in _groups(run).items() if amount > expected_groups[group]}
    for item in sorted(run.telemetry.keys() | without.telemetry.keys()):
        got, expected = run.telemetry.get(item, 0), without.telemetry.get(item, 0)
        # What should not be there at all follows from another fault: that the host raised, which is told by itself.
        if got > expected and _group(item) in more and (expected or item == TWICE) and not item.startswith(_DETAIL):
            into.twice.append(f"{label}: {item}: {got:g} instead of {expected:g}")
        elif got != expected:
            into.lost.append(f"{label}: {item.strip()}: {got:g} instead of {expected:g}")


def _group(item: str) -> str:
    """What a span or measurement is one of: with another name, or with other attributes, there are no more of them."""
    kind, is_of_span, _ = item.partition(" of span ")
    if is_of_span or item.startswith("span "):
        return f"{kind if is_of_span else 'span'} in {item.rpartition(' in ')[2]}"
    metric, has_attributes, rest = item.partition(" with ")
    return f"{metric}{''.join(rest.rpartition(COLLECTED)[1:])}" if has_attributes and COLLECTED in rest else metric


def _groups(run: Run) -> Counter[str]:
    found: Counter[str] = Counter()
    for item, amount in run.telemetry.items():
        found[_group(item)] += amount
    return found


def shortened(found: list[str]) -> list[str]:
    """The first few."""
    return found if len(found) <= _MOST else [*found[:_MOST], f"and {len(found) - _MOST} more"]
