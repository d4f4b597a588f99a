"""The cost of counting an exception, and of the counters when no exception is raised.

    python benchmarks/bench_exceptions.py           the table: without counters, and with each kind of counter
    otel-fastpath budget check --file benchmarks/budgets.toml --only exceptions

The set-ups `off`, `raised`, ... are switched on and off in turns in one process, so that the added cost is a difference
between runs of the same code a moment apart. Each figure is the least CPU time of many short rounds.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.trace import SpanKind

from otel_fastpath import exceptions
from otel_fastpath.exceptions import boundaries

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

FRAMES = 10
PROVIDER = TracerProvider(shutdown_on_exit=False)
POOL = ThreadPoolExecutor(1)
# Nanoseconds that may be added to one exception, and to one that propagates through ten frames.
GOALS = {"one_frame": 60.0, "ten_frames": 600.0}
OPERATION_GOAL = 35.0


def off() -> Iterator[None]:
    """Stock: nothing is counted."""
    yield


def raised() -> Iterator[None]:
    """The default: raised exceptions, by type."""
    yield from _counting(exceptions.Settings())


def handled() -> Iterator[None]:
    """Also handled exceptions."""
    yield from _counting(exceptions.Settings(mode="handled"))


def code() -> Iterator[None]:
    """Per raise site."""
    yield from _counting(exceptions.Settings(code=True))


def mine() -> Iterator[None]:
    """Only in the application's own code."""
    yield from _counting(exceptions.Settings(modules=("mine",)))


def operations() -> Iterator[None]:
    """Also the exceptions of each open server span."""
    provider = TracerProvider(shutdown_on_exit=False)
    settings = exceptions.Settings(operations=True)
    for _ in _counting(settings, tracer_provider=provider):
        with provider.get_tracer("bench").start_as_current_span("request", kind=SpanKind.SERVER):
            yield


def python() -> Iterator[None]:
    """The callback in Python, which can be requested."""
    yield from _counting(exceptions.Settings(python=True), "py")


def _counting(settings: exceptions.Settings, core: str | None = None, **more: Any) -> Iterator[None]:
    if not exceptions.start(settings, core, **more):
        raise RuntimeError(exceptions.status()[0].reason)
    yield
    exceptions.stop()


SETUPS = (off, raised, handled, code, mine, operations, python)


def nothing(_given: object = None) -> None:
    """The bare call."""


def one_frame(_given: object = None) -> None:
    """An exception that is handled in the frame that raises it."""
    try:
        raise ValueError("no such item")  # noqa: TRY301  # the subject
    except ValueError:
        pass


def _through(frames: int) -> None:
    if frames == 0:
        raise ValueError("no such item")
    _through(frames - 1)


def ten_frames(_given: object = None) -> None:
    """An exception that is handled ten frames above the one that raises it."""
    try:  # noqa: SIM105  # a context manager adds frames
        _through(FRAMES - 1)
    except ValueError:
        pass


def _numbers() -> Iterator[int]:
    yield 1
    yield 2


def no_exception(_given: object = None) -> int:
    """Calls, loops, generators, attributes, `try` and `with`, but no exception."""
    total = 0
    for number in _numbers():
        total += number + getattr(SETUPS, "missing", 0) + hasattr(SETUPS, "missing")
    try:
        total += len({}.get("x", ""))
    finally:
        total += 1
    return total


class Ended:
    """Uncaught exceptions, with hooks that print nothing."""

    def __init__(self) -> None:
        self.error = ValueError("no such item")
        self.loop = asyncio.new_event_loop()
        self.loop.set_exception_handler(lambda _loop, _context: None)
        self.of_thread = SimpleNamespace(exc_type=ValueError, exc_value=self.error, exc_traceback=None, thread=None)


def silent() -> Iterator[Ended]:
    """Stock: hooks that print nothing."""
    given = Ended()
    sys.excepthook = threading.excepthook = lambda *_: None
    yield given
    sys.excepthook, threading.excepthook = sys.__excepthook__, threading.__excepthook__
    given.loop.close()


def uncaught() -> Iterator[Ended]:
    """The counters of Python 3.10 and 3.11, and of later versions if `sys.monitoring` is not available."""
    for given in silent():
        boundaries.start(exceptions.Settings())
        yield given
        boundaries.stop()


def end_program(given: Ended) -> None:
    """The exception that ends the program."""
    sys.excepthook(ValueError, given.error, None)


def end_thread(given: Ended) -> None:
    """An exception that ends a thread."""
    threading.excepthook(given.of_thread)


def end_callback(given: Ended) -> None:
    """An exception in a callback of an event loop."""
    given.loop.call_exception_handler({"exception": given.error})


def set_provider(_given: object = None) -> None:
    """Set the process's tracer provider again: OpenTelemetry keeps the first one."""
    # Stock's own function warns if a provider is set; here none is.
    trace._set_tracer_provider(PROVIDER, log=False)


def thread(_given: object = None) -> None:
    """Start a thread, and wait for it."""
    started = threading.Thread(target=nothing)
    started.start()
    started.join()


def pool(_given: object = None) -> None:
    """A call in a thread pool."""
    POOL.submit(nothing).result()


CASES: tuple[Callable[[], Any], ...] = (one_frame, ten_frames, no_exception)


def measured(rounds: int, calls: int) -> dict[str, dict[str, float]]:
    """Nanoseconds of a call, by set-up and case."""
    best: dict[str, dict[str, float]] = {setup.__name__: {} for setup in SETUPS}
    for _ in range(rounds):
        for setup in SETUPS:
            found = best[setup.__name__]
            for _ in setup():
                for case in CASES:
                    found[case.__name__] = min(found.get(case.__name__, 1e12), _timed(case, calls))
    return best


def _timed(case: Callable[[], Any], calls: int) -> float:
    # The first calls after a switch make the interpreter instrument the code again.
    for _ in range(20):
        case()
    begin = time.thread_time_ns()
    for _ in range(calls):
        case()
    return (time.thread_time_ns() - begin) / calls


def show(best: dict[str, dict[str, float]]) -> list[str]:
    """Print the table; return the figures that exceed a goal."""
    names = [case.__name__ for case in CASES]
    print(f"Python {sys.version.split()[0]}, nanoseconds of CPU a call, and what counting adds")
    print(f"{'set-up':12}" + "".join(f"{name:>26}" for name in names))
    for setup, found in best.items():
        cells = [
            f"{found[name]:9.0f} {found[name] - best['off'][name]:+7.0f} {found[name] / best['off'][name]:7.2f}x"
            for name in names
        ]
        print(f"{setup:12}" + "".join(f"{cell:>26}" for cell in cells))
    over = [
        f"{name}: +{best['raised'][name] - best['off'][name]:.0f} ns, the goal is {goal:.0f}"
        for name, goal in GOALS.items()
        if best["raised"][name] - best["off"][name] > goal
    ]
    more = best["operations"]["one_frame"] - best["raised"]["one_frame"]
    if more > OPERATION_GOAL:
        over.append(f"operations: +{more:.0f} ns more, the goal is {OPERATION_GOAL:.0f}")
    return over


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=60, help="rounds of each set-up (default %(default)s)")
    parser.add_argument("--calls", type=int, default=1000, help="calls of a round (default %(default)s)")
    options = parser.parse_args()
    over = show(measured(options.rounds, options.calls))
    for line in over:
        print(f"over the goal: {line}")
    return bool(over)


if __name__ == "__main__":
    sys.exit(main())
