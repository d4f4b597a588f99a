"""The measurement: the clients send many short rounds of the same requests to each service in turn.

Other work on the machine adds up to a half to the CPU time of a round if the machine is overloaded. So the cost of a
request is the mean of the third of the rounds that were disturbed least, and more rounds are run while the verdict is
open.
"""

import itertools
import json
import math
import random
import statistics
import time
import urllib.request
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import psutil

from examples.demo.measure import WrongAnswerError, cpu_seconds
from examples.demo.processes import Child
from examples.founding_case.services import FASTPATH, WITH, WITHOUT

WARM_UP = 75
ROUND_PATIENCE_S = 300
SEED = 20250124
# A round of the slow one takes as long as several of the others, and the verdict does not rest on it.
WITH_EVERY = 6
# The share of a leg's rounds that counts, and how many there have to be.
LEAST_DISTURBED, FEWEST_ROUNDS = 1 / 3, 9
# Of the resampled ratios, the share within the interval, and how many there are.
CONFIDENCE, SAMPLES = 0.9, 2000


@dataclass
class Leg:
    """One of the services, and its measurements."""

    name: str
    port: int
    child: Child
    requests: int = 0
    rounds: list[float] = field(default_factory=list)
    requests_per_second: list[float] = field(default_factory=list)
    latencies: list[float] = field(default_factory=list)
    _mark: tuple[int, float] | None = None

    @property
    def cpu_per_request(self) -> float:
        """Seconds, of the least disturbed rounds."""
        return _least_disturbed(self.rounds)

    def mark(self, requests: int) -> None:
        """Note the CPU time used since the last mark as that of the round that began there, and begin another."""
        now = self._cpu()
        if self._mark is not None:
            sent, then = self._mark
            self.rounds.append((now - then) / sent)
        self._mark = (requests, now)

    def _cpu(self) -> float:
        """That of gunicorn and its workers."""
        master = psutil.Process(self.child.process.pid)
        return sum(cpu_seconds(process.pid) for process in (master, *master.children(recursive=True)))


@dataclass(frozen=True)
class Ratio:
    """How much more CPU one service took for a request than another, and between what it may be."""

    value: float
    low: float
    high: float

    @classmethod
    def of(cls, leg: Leg, base: Leg) -> "Ratio":
        """The ratio of the two; the interval by drawing rounds anew."""
        draw = random.Random(SEED)  # noqa: S311 - it is to repeat, not to be unguessable

        def drawn(rounds: Sequence[float]) -> float:
            return _least_disturbed(draw.choices(rounds, k=len(rounds)))

        ratios = sorted(drawn(leg.rounds) / drawn(base.rounds) for _ in range(SAMPLES))
        out = round(SAMPLES * (1 - CONFIDENCE) / 2)
        return cls(leg.cpu_per_request / base.cpu_per_request, ratios[out], ratios[-1 - out])


def _least_disturbed(rounds: Sequence[float]) -> float:
    return statistics.mean(sorted(rounds)[: math.ceil(len(rounds) * LEAST_DISTURBED)])


@dataclass(frozen=True)
class Plan:
    """How much is sent.

    Attributes:
        requests: The number of requests in a round.
        least: The minimum duration in seconds.
        seconds: No new round starts after this time.
        most: The highest ratio allowed; the measurement ends early when the ratio is surely below or surely above it.
    """

    requests: int
    least: float
    seconds: float
    most: float


def measure(legs: Mapping[str, Leg], world: str, plan: Plan, progress: Callable[[float], None]) -> None:
    """Send rounds to the services in turn.

    Spans are exported up to half a second after their request. So the CPU time of a round is that from its beginning to
    the beginning of the service's next one, and another service's lies between.

    Args:
        legs: The services by name.
        world: The address of the clients.
        plan: How much to send.
        progress: Called with the share that is done.
    """
    for leg in legs.values():
        _round(leg, world, WARM_UP)
    began = time.monotonic()
    for index in itertools.count():
        for leg in legs.values():
            if leg.name == WITH and index % WITH_EVERY:
                continue
            leg.mark(plan.requests)
            load = _round(leg, world, plan.requests)
            leg.requests_per_second.append(plan.requests / load["seconds"])
            leg.latencies += load["latencies"]
        past = time.monotonic() - began
        progress(min(1.0, past / plan.seconds))
        if past > plan.seconds or (past > plan.least and _is_decided(legs, plan.most)):
            break


def _is_decided(legs: Mapping[str, Leg], most: float) -> bool:
    if len(legs[WITHOUT].rounds) < FEWEST_ROUNDS:
        return False
    ratio = Ratio.of(legs[FASTPATH], legs[WITHOUT])
    return ratio.high <= most or ratio.low > most


def settle(legs: Mapping[str, Leg], exported: Callable[[], object], seconds: float) -> None:
    """Wait until nothing was exported for this time; then the last round is also complete."""
    last, since = exported(), time.monotonic()
    while time.monotonic() - since < seconds:
        time.sleep(0.2)
        now = exported()
        if now != last:
            last, since = now, time.monotonic()
    for leg in legs.values():
        leg.mark(1)


def _round(leg: Leg, world: str, requests: int) -> dict[str, Any]:
    wish = urllib.request.Request(f"{world}/round?port={leg.port}&requests={requests}", method="POST")  # noqa: S310 - loopback
    with urllib.request.urlopen(wish, timeout=ROUND_PATIENCE_S) as answer:  # noqa: S310 - likewise
        load: dict[str, Any] = json.load(answer)
    if load["wrong"]:
        many, one = len(load["wrong"]), load["wrong"][0]
        raise WrongAnswerError(
            f"{leg.name}: {many} of {requests} answers were wrong, as {one}; it {leg.child.state(1.0)}"
        )
    leg.requests += requests
    return load
