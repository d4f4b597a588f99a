"""A process in which an exception of the host's arrives at each line and at each C call's return of this package.

    python -m faultcheck.interruptions JOB

As a signal handler's does, such as a time limit of Celery or RQ: it is raised once, between two instructions, by a
function that none of our code called. The host must get it, with its context as it was, and no span may stay open.
With the core "stock", OpenTelemetry's instrumentations are put in place instead of this package, and the places are
those of OpenTelemetry's packages.
"""
# ruff: noqa: T201  # part of a program that prints

from __future__ import annotations

import functools
import gc
import importlib
import json
import os
import sys
import time
import traceback
import warnings
from collections import Counter
from typing import TYPE_CHECKING, Any

from opentelemetry.sdk.trace import SpanProcessor

from faultcheck import stock
from faultcheck.children import ChildError, in_child
from faultcheck.host import Host
from faultcheck.lines import relative, relative_of_stock
from faultcheck.process import Checked

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from faultcheck.job import Job

    Check = Callable[[Job, str], Iterator[dict[str, Any]]]

TOOL_ID = 3
# A line: its number; the return of a C call: the first line of the function and the offset of the call.
Place = tuple[str, str]


class Limit(Exception):  # noqa: N818  # as the host's own
    """What the host is interrupted with."""


class Open(SpanProcessor):
    """Keeps the spans that have started."""

    def __init__(self) -> None:
        self.spans: list[Any] = []

    def on_start(self, span: Any, parent_context: Any = None) -> None:  # noqa: ARG002  # called by keyword
        """One more."""
        self.spans.append(span)

    def names(self) -> list[str]:
        """The names of those that have not ended."""
        return [span.name for span in self.spans if span.is_recording()]


def swallowed_by(where: str) -> str:
    """The kind of result of an exception that nobody got, by the function that caught it last."""
    if where.startswith("opentelemetry/"):
        return "swallowed by stock"
    # The loops and threads of a library go on. Compiled code does not say that it caught it.
    return "swallowed" if not where or relative(where) is not None else "swallowed by a library"


class Handling:
    """Watches who catches the host's exception.

    Attributes:
        where: The file and line of the function that caught it last, and did not raise it again.
        CALLBACKS: The code of the functions that `sys.monitoring` calls.
    """

    def __init__(self) -> None:
        self.where = ""

    @staticmethod
    def events() -> int:
        """What `sys.monitoring` has to send."""
        events = sys.monitoring.events
        return events.EXCEPTION_HANDLED | events.RERAISE | events.RAISE

    def watch(self) -> None:
        """From now on, with the tool's id of this module."""
        self.where = ""
        monitoring, events = sys.monitoring, sys.monitoring.events
        if monitoring.get_tool(TOOL_ID) is None:
            monitoring.use_tool_id(TOOL_ID, "interruptions")
        monitoring.register_callback(TOOL_ID, events.EXCEPTION_HANDLED, self._on_handled)
        monitoring.register_callback(TOOL_ID, events.RERAISE, self._on_raised)
        monitoring.register_callback(TOOL_ID, events.RAISE, self._on_raised)

    def _on_handled(self, code: Any, offset: int, error: BaseException) -> None:
        if isinstance(error, Limit):
            line = next((line for start, end, line in code.co_lines() if start <= offset < end), 0)
            self.where = f"{code.co_filename.rpartition('/site-packages/')[2]}:{line or code.co_firstlineno}"

    def _on_raised(self, _code: Any, _offset: int, error: BaseException) -> None:
        if isinstance(error, Limit):
            self.where = ""

    CALLBACKS = frozenset({_on_handled.__code__, _on_raised.__code__})


class Interrupter:
    """Watches the lines and the C calls of one package, and raises at one place.

    Args:
        name_of: The name of a file that is watched; None for any other.
    """

    def __init__(self, name_of: Callable[[str], str | None]) -> None:
        self._name_of = name_of
        self.handling = Handling()
        self.hits = 0
        self._place: Place | None = None
        self.seen: dict[Place, None] = {}

    def arm(self, place: Place | None) -> None:
        """Raise when the place is reached for the first time; None: only take down which places are reached."""
        self.hits, self._place, self.seen = 0, place, {}
        monitoring, events = sys.monitoring, sys.monitoring.events
        # C_RETURN comes with CALL.
        wanted = events.LINE | events.CALL | self.handling.events()
        self.handling.watch()

        def on_line(code: Any, line: int) -> Any:
            name = self._name_of(code.co_filename)
            if name is None:
                return monitoring.DISABLE
            if self._is_reached((name, str(line))):
                raise Limit
            return None

        def on_return(code: Any, offset: int, function: Any, _argument: Any) -> Any:
            name = self._name_of(code.co_filename)
            if name is not None and self._is_reached(
                (name, f"{code.co_firstlineno}+{offset} {getattr(function, '__name__', '')}")
            ):
                raise Limit

        monitoring.register_callback(TOOL_ID, events.LINE, on_line)
        monitoring.register_callback(TOOL_ID, events.C_RETURN, on_return)
        monitoring.set_events(TOOL_ID, wanted)
        monitoring.restart_events()

    def disarm(self) -> None:
        """Stop."""
        sys.monitoring.set_events(TOOL_ID, 0)

    def _is_reached(self, place: Place) -> bool:
        self.seen[place] = None
        if place != self._place or self.hits:
            return False
        self.hits += 1
        return True


class Interrupted(Checked):
    """One workload, whose host is interrupted."""

    def __init__(self, job: Job, workload: str) -> None:
        super().__init__(job, workload)
        self.name = workload

    def make_ready(self) -> None:
        """Count open spans from the start."""
        self.open = Open()
        self.unraisable = 0
        sys.unraisablehook = self._note_unraisable
        if self.job.core == "stock":
            instrument = functools.partial(stock.instrument, self.name, self.workload.telemetry)
            self.workload.instrument = instrument  # type: ignore[method-assign]
        self.interrupter = Interrupter(relative_of_stock if self.job.core == "stock" else relative)
        self.workload.telemetry.tracer_provider.add_span_processor(self.open)
        super().make_ready()

    def _note_unraisable(self, unraisable: Any) -> None:
        """What a finalizer raises cannot reach anybody: with stock's generators, too."""
        self.unraisable += isinstance(unraisable.exc_value, Limit)

    def run_once(self, place: Place | None) -> dict[str, Any]:
        """What a run does in which the exception arrives at this place; after one without, where plans are made."""
        self.workload.run(Host())
        gc.collect()
        self.open.spans.clear()
        self.unraisable = 0
        self.interrupter.arm(place)
        host = Host()
        stopped = ""
        try:
            self.workload.run(host)
        except BaseException as error:
            stopped = "".join(traceback.format_exception(error)[-4:])[-600:]
        finally:
            self.interrupter.disarm()
        host.forget()
        gc.collect()
        self.workload.settle()
        said = self._said()
        return {
            "outcomes": host.outcomes,
            "moved": host.moved,
            "open": self.open.names(),
            "handled": self.interrupter.handling.where,
            "unraisable": self.unraisable,
            "stopped": stopped,
            "hits": self.interrupter.hits,
            "seen": list(self.interrupter.seen),
            "said": said,
        }

    def verdict(self, place: Place, without: dict[str, Any]) -> dict[str, Any]:
        """What was wrong after an interruption there."""
        try:
            found = in_child(lambda: self.run_once(place), self.job.limit_s)
        except ChildError as error:
            return {"hung": str(error)[:2000]}
        differing = {
            step: found["outcomes"].get(step, "not reached")
            for step, expected in without["outcomes"].items()
            if found["outcomes"].get(step) != expected
        }
        reached = bool(differing) or bool(found["stopped"])
        verdict: dict[str, Any] = {}
        if found["hits"] and not reached:
            kind = "in a finalizer" if found["unraisable"] else swallowed_by(found["handled"])
            verdict[kind] = f"{found['said'] - without['said']} reported, in {found['handled']}"
        raised = sum("Limit" in got for got in differing.values())
        if reached and not raised and "Limit" not in found["stopped"]:
            # A server of a library answers with an error of its own.
            kind = swallowed_by(found["handled"])
            verdict["strange" if kind == "swallowed" else kind] = differing
        if raised > 1:
            verdict["more"] = differing
        if moved := [step for step in found["moved"] if step not in without["moved"]]:
            verdict["current"] = moved
        if left := list((Counter(found["open"]) - Counter(without["open"])).elements()):
            verdict["open"] = left
        if found["stopped"] and "Limit" not in found["stopped"]:
            verdict["stopped"] = found["stopped"]
        return verdict


def check(job: Job, workload: str) -> Iterator[dict[str, Any]]:
    """A row for each place."""
    checked = Interrupted(job, workload)
    checked.make_ready()
    without = in_child(lambda: checked.run_once(None), job.limit_s * 3)
    places = [tuple(place) for place in without["seen"]]
    wanted = job.lines
    kept = [each for each in places if not wanted or any(one in "{}:{}".format(*each) for one in wanted)]
    for place in kept[job.part :: job.parts]:
        yield {"place": "{}:{}".format(*place), **checked.verdict(place, without)}


def main(job: Job, check: Check = check) -> int:
    """Check each workload in a process of its own; gives how many could not be checked."""
    warnings.simplefilter("ignore")
    for name in ("faultcheck.workloads", "otel_fastpath.instrumentor"):
        importlib.import_module(name)
    failed, running = 0, 0
    for workload in job.workloads:
        if running == max(1, job.processes):
            failed += os.wait()[1] != 0
            running -= 1
        if os.fork() == 0:
            _write(job, workload, check)
        running += 1
    return failed + sum(os.wait()[1] != 0 for _ in range(running))


def _write(job: Job, workload: str, check: Check) -> None:
    status = 1
    try:
        began, rows, bad = time.monotonic(), 0, 0
        with open(f"{job.output}/{job.core}-{workload}.jsonl", "w", encoding="utf-8") as file:  # noqa: PTH123
            for found in check(job, workload):
                file.write(json.dumps(found) + "\n")
                file.flush()
                rows, bad = rows + 1, bad + (len(found) > 1)
        print(f"{job.core:2} {workload}: {rows} places, {bad} bad, {time.monotonic() - began:.0f} s", flush=True)
        status = 0
    except BaseException as error:
        print(f"{job.core:2} {workload}: {''.join(traceback.format_exception(error))[-4000:]}", flush=True)
    finally:
        os._exit(status)


if __name__ == "__main__":
    from faultcheck.job import Job

    sys.exit(main(Job(**json.loads(sys.argv[1]))))
