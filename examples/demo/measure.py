"""The measurement: the same requests to every service, in turn, round after round."""

import asyncio
import random
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import psutil

from examples.demo.load import Load, send
from examples.demo.mix import SHOP, Mix, calls
from examples.demo.processes import Child, Interrupts

CONNECTIONS = 8
SEED = 20269


class WrongAnswerError(RuntimeError):
    """A service gave a wrong answer."""


@dataclass
class Leg:
    """One of the compared services, and its measurements."""

    name: str
    port: int
    child: Child
    requests: int = 0
    cpu_per_request: list[float] = field(default_factory=list)
    requests_per_second: list[float] = field(default_factory=list)
    latencies: list[float] = field(default_factory=list)
    _mark: float | None = None

    def mark(self, requests: int) -> None:
        """Record the CPU time since the last mark, if there is one, as that of this number of requests."""
        now = cpu_seconds(self.child.process.pid)
        if self._mark is not None:
            self.cpu_per_request.append((now - self._mark) / requests)
        self._mark = now

    def quantile(self, share: float) -> float:
        """The latency that this share of the measured requests did not exceed."""
        return statistics.quantiles(self.latencies, n=1000, method="inclusive")[round(share * 1000) - 1]


def cpu_seconds(pid: int) -> float:
    """The CPU time that a process has used so far, user and system."""
    if sys.platform == "linux":
        # The clock of another process: nanoseconds where /proc has ticks of 10 ms (clock_getcpuclockid(3)).
        return time.clock_gettime(~pid << 3 | 2)
    times = psutil.Process(pid).cpu_times()
    return float(times.user + times.system)


@dataclass(frozen=True)
class Plan:
    """How much to send: a number of rounds, with a number of requests each, of a mix."""

    requests: int
    rounds: int
    mix: Mix = SHOP


def measure(
    legs: Sequence[Leg], plan: Plan, interrupts: Interrupts, progress: Callable[[float], None], run: int = 0
) -> None:
    """Send every round to every leg, in an order that changes from round to round.

    Telemetry is exported some seconds after a request, when another leg is already under load. So the CPU time of a
    round is counted from its beginning to the beginning of the leg's next round.

    Args:
        legs: The services; each gets exactly the same requests.
        plan: How much to send.
        interrupts: Keeps interrupts out of the event loop.
        progress: Called with the share that is done.
        run: The number of the run: the requests are the same in each, the order of the legs is not.
    """
    order = random.Random(SEED + run)  # noqa: S311 - it is to repeat, not to be unguessable
    for leg in legs:
        _round(leg, plan, SEED, interrupts)
    for done in range(plan.rounds):
        for leg in order.sample(legs, len(legs)):
            leg.mark(plan.requests)
            load = _round(leg, plan, SEED + 1 + done, interrupts)
            leg.requests_per_second.append(plan.requests / load.seconds)
            leg.latencies += load.latencies
        progress((done + 1) / plan.rounds)


def _round(leg: Leg, plan: Plan, seed: int, interrupts: Interrupts) -> Load:
    try:
        load = interrupts.run(send(leg.port, calls(plan.requests, seed, plan.mix), CONNECTIONS))
    except (OSError, asyncio.TimeoutError) as error:
        raise WrongAnswerError(f"{leg.name} broke off ({error!r}) and {leg.child.state(1.0)}") from error
    if load.wrong:
        wrong = f"{len(load.wrong)} of {plan.requests} answers were wrong, as {load.wrong[0]}"
        raise WrongAnswerError(f"{leg.name}: {wrong}; it {leg.child.state()}")
    leg.requests += plan.requests
    return load


def settle(legs: Sequence[Leg], plan: Plan, exported: Callable[[], object], seconds: float) -> None:
    """Wait until nothing was exported for this time; then the last round is also complete."""
    last, since = exported(), time.monotonic()
    while time.monotonic() - since < seconds:
        time.sleep(0.2)
        now = exported()
        if now != last:
            last, since = now, time.monotonic()
    for leg in legs:
        leg.mark(plan.requests)
