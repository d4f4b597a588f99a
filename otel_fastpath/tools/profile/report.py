"""What a profile says: the share of CPU that telemetry takes, the hooks that it goes to, and what to do about it."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from typing import Final

# Increased when a key of the JSON object is renamed or removed.
SCHEMA: Final = 1


@dataclass(frozen=True)
class Share:
    """The share of CPU that telemetry takes; 0.25 is a quarter.

    Attributes:
        total: `direct` and `indirect`.
        low: The lower end of the 90 % interval of the total.
        high: The upper end.
        direct: What samples and clocks found in telemetry's code.
        indirect: An estimate of how much longer the rest takes because of it, see `analysis.INDIRECT`.
    """

    total: float
    low: float
    high: float
    direct: float
    indirect: float


@dataclass(frozen=True)
class Hook:
    """One row of the table: where telemetry's code was entered.

    Attributes:
        library: The name of the instrumentation or part for people.
        hook: The function, or the thread.
        kind: One of `analysis.KINDS`.
        share: Its share of CPU.
        calls: Calls in a second; None if not counted.
        us: Microseconds of CPU for a call; None if not counted.
        most: The function, outside of telemetry's code, that most of it goes to; empty if to telemetry's own code.
        most_share: The share of CPU of that function.
    """

    library: str
    hook: str
    kind: str
    share: float
    calls: float | None
    us: float | None
    most: str
    most_share: float


@dataclass(frozen=True)
class Saving:
    """What a part of otel-fastpath saves, or would save.

    Attributes:
        part: Its name.
        is_on: Whether it is active.
        share: The share of the process's CPU that the code takes now.
        saving: What is saved already, or would be saved, as a share of the CPU that the process would use without
            otel-fastpath: an estimate from the same samples.
        skipped: The names of its patches that are skipped.
    """

    part: str
    is_on: bool
    share: float
    saving: float
    skipped: tuple[str, ...] = ()


@dataclass(frozen=True)
class Node:
    """A function in the flame graph, called in one way.

    Attributes:
        name: The function.
        kind: See `modules.kind`; what telemetry calls is telemetry's.
        value: CPU time in seconds, with what it calls.
        children: What it calls.
    """

    name: str
    kind: str
    value: float
    children: tuple[Node, ...] = ()


@dataclass(frozen=True)
class Report:
    """The report of one profile.

    Attributes:
        headline: The result in a sentence.
        share: The share of CPU that telemetry takes.
        hooks: The table, the most expensive row first.
        kinds: Kind of telemetry -> its share of CPU.
        logging: The share of CPU of the `logging` module outside of telemetry.
        savings: What the parts of otel-fastpath save or would save.
        advice: What to do, one sentence each.
        notes: What to know about these figures.
        facts: Name -> value, for people.
        processes: How many processes were profiled.
        seconds: How long each of them was, at the most.
        cpu: The CPU time of all of them in seconds, without imports and the profile itself.
        requests: The number of requests; 0 if not counted.
        samples: The number of samples.
        flame: The flame graph.
    """

    headline: str
    share: Share
    hooks: tuple[Hook, ...]
    kinds: dict[str, float]
    logging: float
    savings: tuple[Saving, ...]
    advice: tuple[str, ...]
    notes: tuple[str, ...]
    facts: dict[str, str]
    processes: int
    seconds: float
    cpu: float
    requests: int
    samples: int
    flame: Node = field(repr=False)

    def as_json(self) -> str:
        """The report as one JSON object; `schema` is the version of its keys. The stacks have files of their own."""
        document = {"schema": SCHEMA, **asdict(self)}
        del document["flame"]
        return json.dumps(document, indent=1) + "\n"


def percent(share: float) -> str:
    """A share for people."""
    return f"{share:.0%}" if share >= 0.095 else f"{share:.1%}"  # noqa: PLR2004  # two digits in all
