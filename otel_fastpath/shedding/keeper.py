"""The guard of this process: one thread measures, decides and sheds, once a second."""

from __future__ import annotations

import logging
import os
import threading
from typing import TYPE_CHECKING, Any, Final

from opentelemetry.metrics import Observation

from otel_fastpath.patching import faults
from otel_fastpath.patching.quiet import Quiet
from otel_fastpath.shedding import clocks, control, observables
from otel_fastpath.shedding.log_records import Logs
from otel_fastpath.shedding.request_parts import Operations
from otel_fastpath.shedding.shed import Shed
from otel_fastpath.shedding.timed_hooks import TimedHooks
from otel_fastpath.shedding.tracer_providers import GuardedProvider

if TYPE_CHECKING:
    from collections.abc import Iterator

_INTERVAL: Final = 1.0
# How long `stop` waits for the thread, at most.
_PATIENCE: Final = 5.0
_PLACE: Final = "the guard"
# How fast the shares of the parts follow: they are for people, the control law has its own.
_FOLLOW: Final = 0.4
_logger = Quiet("otel_fastpath.guard")


class Keeper:
    """Holds telemetry to a share of the CPU of this process.

    Args:
        limit: The share, above 0, at most 1.
        tracer_provider: The provider whose spans are shed; None: the global one.

    Attributes:
        state: What is shed.
    """

    def __init__(self, limit: float, tracer_provider: Any = None) -> None:
        self.limit = limit
        self.state = control.SheddingState()
        self._shed = Shed()
        self._hooks = TimedHooks()
        self._providers = GuardedProvider(tracer_provider, self._shed)
        self._operations = Operations(self._shed)
        self._logs = Logs(self._shed)
        self._parts: dict[str, float] = {}
        self._is_floor_said = False

    def start(self) -> None:
        """Measure and decide from now on; in a forked child, anew, with what the parent shed."""
        self._stopped = threading.Event()
        self._hooks.lay()
        self._clocks = clocks.Clocks(self._hooks)
        self._parts = {}
        self.state = control.renewed(self.state)
        self._thread = threading.Thread(
            target=self._run, args=(self._stopped,), name="otel-fastpath-guard", daemon=True
        )
        self._thread.start()

    def stop(self) -> None:
        """Shed nothing and measure nothing from now on."""
        self._stopped.set()
        if self._thread is not threading.current_thread():
            # It may be about to shed something.
            self._thread.join(_PATIENCE)
        self._follow(control.SheddingState())
        self._hooks.lift()

    def _run(self, stopped: threading.Event) -> None:
        while not stopped.wait(_INTERVAL):
            try:
                self.tick()
            except Exception as error:  # noqa: PERF203  # one fault, and nothing is shed any more
                faults.report(_PLACE, error)
                self.stop()

    def tick(self) -> None:
        """Measure, decide and shed once."""
        self._hooks.lay()
        cost = self._clocks.read()
        for part, seconds in cost.parts.items():
            share = control.share_of(seconds, cost.process, cost.seconds)
            self._parts[part] = self._parts.get(part, share) * (1 - _FOLLOW) + share * _FOLLOW
        before = self.state
        state = control.step(before, self.limit, cost.telemetry, cost.process, cost.seconds)
        if not self._stopped.is_set():
            self._follow(state)
            self._say(before, state)

    def _follow(self, state: control.SheddingState) -> None:
        before, self.state = self.state, state
        if (state.level, state.probability) != (before.level, before.probability):
            self._hooks.renew()
        elif state.level == control.EVERYTHING:
            return
        self._shed.follow(state)
        self._providers.follow(state)
        self._operations.follow(is_shed=state.level >= control.NO_INTERNAL_SPANS)
        self._logs.follow(is_shed=state.level >= control.FEWER_LOGS)

    def _say(self, before: control.SheddingState, state: control.SheddingState) -> None:
        share = 100 * (state.share or 0.0)
        if state.level != before.level:
            text = "Telemetry takes %.1f %% of the CPU, the limit is %g %%: %s."
            _logger.log(logging.INFO, text, share, 100 * self.limit, control.NAMES[state.level])
        if state.is_at_floor and not self._is_floor_said:
            self._is_floor_said = True
            text = (
                "Telemetry takes %.1f %% of the CPU and cannot take less, but the limit is %g %%: %s is what is left."
            )
            _logger.warning(text, share, 100 * self.limit, self._shown_parts())

    def describe(self) -> str:
        """The state in one line."""
        state = self.state
        share = "not measured yet" if state.share is None else f"{100 * state.share:.1f} %"
        parts = [f"limit {100 * self.limit:g} %", f"telemetry {share}"]
        if self._parts and state.share is not None:
            parts.append(f"of which {self._shown_parts()}")
        parts.append(control.NAMES[state.level])
        if self._shed.threshold:
            parts.append(f"traces are kept with probability {self._shed.probability:.3g}")
        if state.is_at_floor:
            parts.append("nothing more can be shed")
        sampler = self._providers.uncounted()
        if sampler:
            parts.append(f"adjusted counts are not known beside {sampler}")
        why_not = self._providers.why_not()
        return "; ".join([*parts, f"spans are not shed: {why_not}"] if why_not else parts)

    def _shown_parts(self) -> str:
        shown = {part: share for part, share in self._parts.items() if share >= 0.0005}  # noqa: PLR2004  # 0.1 %, rounded
        return ", ".join(f"{part} {100 * share:.1f} %" for part, share in shown.items()) or "nothing"

    def prices(self) -> dict[str, tuple[int, float]]:
        """Name of a timed patch -> the number of calls, and the price of one in nanoseconds."""
        return self._hooks.prices()

    def observe(self, name: str) -> Iterator[Observation]:
        """The observations of one of the instruments in `metrics`."""
        if name == observables.CPU:
            # The guard's own thread adds parts.
            for part, share in tuple(self._parts.items()):
                yield Observation(share, {observables.PART: part})
        elif name == observables.SHED:
            for kind, count in self._shed.counts().items():
                yield Observation(count, {observables.KIND: kind, observables.REASON: observables.MAX_CPU})
        elif name == observables.LEVEL:
            yield Observation(self.state.level)
        else:
            yield Observation(self._shed.probability)


_keeper: Keeper | None = None


def start(limit: float, tracer_provider: Any = None, meter_provider: Any = None) -> None:
    """Guard this process, and report to the meter provider."""
    global _keeper
    stop()
    _keeper = Keeper(limit, tracer_provider)
    _keeper.start()
    observables.report(_keeper.observe, meter_provider)


def stop() -> None:
    """Guard no longer."""
    global _keeper
    observables.stop()
    keeper, _keeper = _keeper, None
    if keeper is not None:
        keeper.stop()


def keeper() -> Keeper | None:
    """The guard of this process, if it is on."""
    return _keeper


def _after_fork() -> None:
    if _keeper is not None:
        try:
            _keeper.start()
        except Exception as error:
            faults.report(_PLACE, error)


# Not on Windows.
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
