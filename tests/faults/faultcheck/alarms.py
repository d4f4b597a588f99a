"""A host each of whose operations a signal interrupts at a random instant, as a time limit of Celery or RQ does.

python -m faultcheck.alarms JOB
"""

from __future__ import annotations

import asyncio
import contextlib
import gc
import random
import signal
import sys
import time
import traceback
from collections import Counter, defaultdict
from typing import TYPE_CHECKING, Any

from faultcheck.host import Host
from faultcheck.interruptions import TOOL_ID, Handling, Interrupted, Limit, main, swallowed_by
from faultcheck.places import REPOSITORY

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from faultcheck.job import Job

# Timers are not exact to less than this.
_SHORTEST_S = 0.00002
# A shorter operation is repeated for this long: the instant must be inside of it.
_LONG_S = 0.0005
# Whatever takes longer after that, with so little of the processor, waits for what the interrupted code did not give
# back, such as the lock of a queue. A loop of events may turn for ever.
_STUCK_S = 2.0
_LITTLE_S = 0.1
_FOR_EVER_S = 20.0
# A signal may be so late, on a busy machine.
_LATE_S = 0.2
_OWN = f'"{REPOSITORY}/otel_fastpath/'
# Lines of a stack: of three functions.
_INNERMOST = 6
# Without an operation that is interrupted, so many runs are enough to see that it never will be.
_MOST_RUNS = 4


class StuckError(KeyboardInterrupt):
    """What frees a host that waits for ever: libraries catch each `Exception`, and loops of events whatever else."""


def _is_watching(frame: Any) -> bool:
    """Whether a callback of `sys.monitoring` is at work: what it raises would end a `with` block without its exit."""
    for _ in range(_INNERMOST):
        if frame is not None:
            if frame.f_code in Handling.CALLBACKS:
                return True
            frame = frame.f_back
    return False


def _asks_closed(stack: str) -> bool:
    """Whether a file's `closed` was interrupted, which finalizers of C ask, and take each exception for a "no"."""
    return any(line.endswith(", in closed") for line in stack.splitlines()[-_INNERMOST:])


def _current_task() -> asyncio.Task[Any] | None:
    """The task that runs in this thread, if one does."""
    try:
        return asyncio.current_task()
    except RuntimeError:
        return None


class Alarm:
    """A timer that interrupts an operation, and frees the host if it waits for ever after that.

    Attributes:
        is_armed: Whether it will interrupt.
        is_hit: Whether it has.
        where: The stack that it interrupted.
        task: The task that it interrupted, which may be one of a library.
    """

    def __init__(self) -> None:
        self.is_armed = self.is_hit = False
        self.where = ""
        self.task: asyncio.Task[Any] | None = None
        self._used = self._since = 0.0
        signal.signal(signal.SIGALRM, self._interrupt)

    def _interrupt(self, _number: int, frame: Any) -> None:
        if _is_watching(frame):
            # No application has callbacks of `sys.monitoring`: a little later.
            signal.setitimer(signal.ITIMER_REAL, _SHORTEST_S)
            return
        was_armed, self.is_armed = self.is_armed, False
        used, self._used = self._used, time.process_time()
        signal.setitimer(signal.ITIMER_REAL, _STUCK_S)
        if not was_armed and self._used - used > _LITTLE_S and time.monotonic() - self._since < _FOR_EVER_S:
            return
        self.where = "".join(traceback.format_stack(frame)[-24:])
        self.is_hit, self.task = was_armed, _current_task()
        raise Limit if was_armed else StuckError

    def arm(self, delay_s: float) -> None:
        """Interrupt after so many seconds."""
        self.is_hit = False
        self.is_armed = True
        signal.setitimer(signal.ITIMER_REAL, delay_s)

    def disarm(self) -> None:
        """Do not, if it has not come to that."""
        self.is_armed = False
        self._used, self._since = time.process_time(), time.monotonic()
        signal.setitimer(signal.ITIMER_REAL, _STUCK_S)

    def stop(self) -> None:
        """Leave the host alone."""
        self.is_armed = False
        signal.setitimer(signal.ITIMER_REAL, 0)


class AlarmedHost(Host):
    """A host of which each step is interrupted.

    Args:
        alarm: Interrupts it.
        delay_of: How long after its beginning a step is interrupted; None: never.
        judge: Called after each step that was interrupted, with its name.
    """

    def __init__(self, alarm: Alarm, delay_of: Callable[[str], float | None], judge: Callable[[str], None]) -> None:
        super().__init__()
        self._alarm = alarm
        self._delay_of = delay_of
        self._judge = judge
        self.seconds: dict[str, float] = {}

    def step(self, name: str, function: Callable[..., Any], *args: Any) -> Any:
        """As the host's own."""
        result = super().step(name, self._repeat, name, function, args)
        if self._alarm.is_hit:
            self._judge(name)
        return result

    async def astep(self, name: str, function: Callable[..., Any], *args: Any) -> Any:
        """As the host's own."""
        result = await super().astep(name, self._repeat_async, name, function, args)
        if self._alarm.is_hit:
            self._judge(name)
        return result

    def _repeat(self, name: str, function: Callable[..., Any], args: tuple[Any, ...]) -> Any:
        alarm, delay_s, began = self._alarm, self._delay_of(name), time.monotonic()
        if delay_s is None:
            try:
                return function(*args)
            finally:
                self.seconds[name] = time.monotonic() - began
        try:
            alarm.arm(delay_s)
            while True:
                result = function(*args)
                if alarm.is_hit or time.monotonic() - began > delay_s + _LATE_S:
                    return result
        finally:
            alarm.disarm()

    async def _repeat_async(self, name: str, function: Callable[..., Any], args: tuple[Any, ...]) -> Any:
        alarm, delay_s, began = self._alarm, self._delay_of(name), time.monotonic()
        if delay_s is None:
            try:
                return await function(*args)
            finally:
                self.seconds[name] = time.monotonic() - began
        try:
            alarm.arm(delay_s)
            while True:
                result = await function(*args)
                if alarm.is_hit or time.monotonic() - began > delay_s + _LATE_S:
                    return result
        finally:
            alarm.disarm()


class Alarmed(Interrupted):
    """One workload, interrupted by a timer in each of its operations."""

    def prepare(self, wanted: int) -> None:
        """Take the signal, and see how long each operation takes.

        Args:
            wanted: So many instants in each.
        """
        self.alarm, self.handling = Alarm(), Handling()
        self.wanted, self.random = wanted, random.Random(self.job.part)  # noqa: S311  # instants
        self.seen: Counter[str] = Counter()
        self.hits: Counter[str] = Counter()
        self.places: defaultdict[str, Counter[str]] = defaultdict(Counter)
        for _ in range(2):
            self.host = AlarmedHost(self.alarm, lambda _name: None, self._judge)
            self.workload.run(self.host)
            self.alarm.stop()
        self.without, self.seconds = self.host, self.host.seconds
        self._end_run()
        self.left = Counter(self.open.names())
        self.handling.watch()
        sys.monitoring.set_events(TOOL_ID, self.handling.events())

    def _delay_of(self, name: str) -> float | None:
        if self.hits[name] >= self.wanted:
            return None
        self.unraisable, self.handling.where = 0, ""
        return self.random.uniform(_SHORTEST_S, max(_LONG_S, self.seconds.get(name, 0)))

    def _judge(self, name: str) -> None:
        self.hits[name] += 1
        outcome = self.host.outcomes[name]
        if outcome == self.without.outcomes.get(name):
            self._note(self._kind_of_swallowed(), name)
        elif "Limit" not in outcome:
            # A library's own error, or one of ours in the place of the limit.
            self._note("another error", f"{name}: {outcome[:300]}")
        if name in self.host.moved and name not in self.without.moved:
            self._note("current", name)
        self._judge_open(name)
        self.alarm.is_hit, self.alarm.task = False, None

    def _kind_of_swallowed(self) -> str:
        task = self.alarm.task
        if task is not None and task.done() and not task.cancelled() and isinstance(task.exception(), Limit):
            # It has ended a task that the host did not wait for.
            return "swallowed by a library"
        return "in a finalizer" if self._is_finalizers() else swallowed_by(self.handling.where)

    def _is_finalizers(self) -> bool:
        """Whether the interpreter dropped it: it says so, but not where it asks whether a file is closed."""
        is_ours = self.job.core == "c" or _OWN in self.alarm.where
        return bool(self.unraisable) or _asks_closed(self.alarm.where) or not (self.handling.where or is_ours)

    def _judge_open(self, name: str) -> None:
        """Look for spans that the operation has left open: the exception and its frames hold none any more."""
        if Counter(self.open.names()) - self.left:
            gc.collect()
            for span, number in (Counter(self.open.names()) - self.left).items():
                self._note("open", f"{name}: {span}", number)
        self.open.spans.clear()

    def _note(self, kind: str, name: str, number: int = 1) -> None:
        self.seen[kind] += number
        self.places[kind][f"{name}\n{self.alarm.where}{self.handling.where}"] += number

    def run_with_alarms(self) -> int:
        """One run in which each operation is interrupted that was not so often enough; gives how many were."""
        before = self.hits.total()
        self.open.spans.clear()
        self.host = AlarmedHost(self.alarm, self._delay_of, self._judge)
        # What an earlier run did not give back may be waited for anywhere.
        self.alarm.disarm()
        try:
            self.workload.run(self.host)
        except (Limit, asyncio.CancelledError):
            # A loop of the host's ended, or what was left of it was cancelled.
            self.seen["between"] += 1
        except StuckError:
            innermost = "".join(self.alarm.where.splitlines(keepends=True)[-_INNERMOST:])
            self._note("hung" if _OWN in innermost else "stuck in a library", "between")
        self.seen["late"] += sum(
            "Limit" in outcome and not self.hits[name] for name, outcome in self.host.outcomes.items()
        )
        with contextlib.suppress(StuckError):
            self._end_run()
        self.alarm.stop()
        return self.hits.total() - before

    def _end_run(self) -> None:
        self.host.forget()
        gc.collect()
        self.workload.settle()
        self.workload.telemetry.taken()


def check(job: Job, workload: str) -> Iterator[dict[str, Any]]:
    """A row for each kind of result, with how often it was seen; each operation is interrupted `job.parts` times."""
    checked = Alarmed(job, workload)
    checked.make_ready()
    checked.prepare(job.parts)
    fruitless = 0
    while fruitless < _MOST_RUNS and any(checked.hits[name] < job.parts for name in checked.without.outcomes):
        fruitless = 0 if checked.run_with_alarms() else fruitless + 1
    hits = [checked.hits[name] for name in checked.without.outcomes]
    yield {"place": "operations", "number": len(hits)}
    yield {"place": "instants", "number": sum(hits)}
    yield {"place": "fewest", "number": min(hits)}
    for name, number in sorted(checked.seen.items()):
        yield {"place": name, "number": number}
    for kind in job.lines:
        for place, number in checked.places[kind].most_common(8):
            yield {"place": f"{kind}: {place}", "number": number}


if __name__ == "__main__":
    import json

    from faultcheck.job import Job

    sys.exit(main(Job(**json.loads(sys.argv[1])), check))
