"""A host that a signal interrupts at random instants, as a time limit of Celery or RQ does.

python -m faultcheck.alarms JOB
"""

from __future__ import annotations

import gc
import random
import signal
import sys
import time
import traceback
from collections import Counter
from typing import TYPE_CHECKING, Any

from faultcheck.host import Host
from faultcheck.interruptions import Interrupted, Limit, main

if TYPE_CHECKING:
    from collections.abc import Iterator

    from faultcheck.job import Job

# Timers are not exact to less than this.
_SHORTEST_S = 0.00002
_STOCKS = ("opentelemetry/sdk/trace/export/", "opentelemetry/context/")


class Alarmed(Interrupted):
    """One workload, interrupted by a timer."""

    def prepare(self) -> None:
        """Take the signal, and note what nobody can catch."""
        self.hits = self.unraisable = 0
        self.is_armed, self.where = False, ""
        signal.signal(signal.SIGALRM, self._interrupt)
        sys.unraisablehook = self._note

    def _interrupt(self, _number: int, frame: Any) -> None:
        if self.is_armed:
            self.hits += 1
            self.where = "".join(traceback.format_stack(frame)[-12:])
            raise Limit

    def _note(self, unraisable: Any) -> None:
        self.unraisable += isinstance(unraisable.exc_value, Limit)

    def run_with_alarm(self, delay_s: float) -> dict[str, Any]:
        """A run in which the signal arrives after so many seconds, if that is before its end."""
        self.hits = self.unraisable = 0
        self.open.spans.clear()
        host, stopped = Host(), ""
        try:
            self.is_armed = True
            signal.setitimer(signal.ITIMER_REAL, delay_s)
            self.workload.run(host)
            self.is_armed = False
        except Limit:
            stopped = "Limit"
        self.is_armed = False
        signal.setitimer(signal.ITIMER_REAL, 0)
        host.forget()
        gc.collect()
        return {"outcomes": host.outcomes, "moved": host.moved, "open": self.open.names(), "stopped": stopped}


def check(job: Job, workload: str) -> Iterator[dict[str, Any]]:
    """A row for each kind of result, with how often it was seen; the number of instants is `job.parts`."""
    checked = Alarmed(job, workload)
    if job.core == "stock":
        checked.workload.instrument = lambda: None  # type: ignore[method-assign]
    checked.make_ready()
    checked.prepare()
    without = checked.run_with_alarm(0)
    began = time.monotonic()
    checked.run_with_alarm(0)
    whole = time.monotonic() - began
    rng = random.Random(job.part)  # noqa: S311  # instants
    seen: Counter[str] = Counter()
    while seen["interrupted"] < job.parts:
        found = checked.run_with_alarm(rng.uniform(_SHORTEST_S, whole))
        if not checked.hits:
            seen["over before"] += 1
            continue
        seen["interrupted"] += 1
        before = dict(seen)
        differs = any(found["outcomes"].get(step) != expected for step, expected in without["outcomes"].items())
        reached = differs or found["stopped"] or checked.unraisable
        # Stock's processor and its `detach` log what is raised in them.
        is_stocks = any(each in checked.where for each in _STOCKS)
        seen["swallowed, in stock's code" if is_stocks else "swallowed"] += not reached
        seen["raised twice"] += sum("Limit" in each for each in found["outcomes"].values()) > 1
        seen["context moved"] += any(step not in without["moved"] for step in found["moved"])
        seen["span open"] += len(found["open"]) > len(without["open"])
        if job.lines and any(seen[name] > before.get(name, 0) for name in job.lines):
            yield {"place": checked.where, "number": 1}
    for name, number in sorted(seen.items()):
        yield {"place": name, "number": number}


if __name__ == "__main__":
    import json

    from faultcheck.job import Job

    sys.exit(main(Job(**json.loads(sys.argv[1])), check))
