"""Measures a root span with a vendor's set-up: counts instructions if VENDORS_SHIM names a library, else takes times.

With VENDORS_PROFILE, it finds which packages these times are in.

Reads the same environment variables as `main.py`.
"""

from __future__ import annotations

import cProfile
import importlib
import json
import os
import pstats
import sys
import sysconfig
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

sys.path.insert(0, str(Path(__file__).parent))

from main import instrument

from otel_fastpath.tools.budget.counting import native
from otel_fastpath.tools.budget.counting.callables import Running, nothing

if TYPE_CHECKING:
    from collections.abc import Callable

NAME = "root span"
# All spans of a run fit into a batch processor's queue.
BLOCK, BLOCKS = 150, 9


def main() -> None:
    """Set up and measure."""
    vendor = importlib.import_module(f"setups.{os.environ['VENDORS_SETUP']}")
    way = os.environ["VENDORS_WAY"]
    if way == "first":
        instrument()
    vendor.set_up(os.environ["VENDORS_RECEIVER"])
    if way == "second":
        instrument()
    from opentelemetry import trace

    tracer = trace.get_tracer("vendors.program")

    def span() -> None:
        with tracer.start_as_current_span(NAME):
            pass

    with Running(nothing, span) as running:
        if shim := os.environ.get("VENDORS_SHIM"):
            native.dump_profiles(running, shim, NAME)
        else:
            times = [running.instrumented.block(BLOCK) / BLOCK / 1000 for _ in range(BLOCKS)]
            result = {"us": min(times), "shares": shares(span) if os.environ.get("VENDORS_PROFILE") else {}}
            Path(os.environ["VENDORS_RESULT"]).write_text(json.dumps(result), encoding="utf-8")
    sys.stdout.flush()
    # What is left is not exported: under valgrind that takes long, and nobody reads it.
    os._exit(0)


def shares(span: Callable[[], None]) -> dict[str, float]:
    """Of the time of spans, the share of each package; the time of a C function is that of what calls it."""
    profile = cProfile.Profile()
    profile.enable()
    for _ in range(BLOCK):
        span()
    profile.disable()
    found: Counter[str] = Counter()
    for (file, _, _), (_, _, own, _, callers) in pstats.Stats(profile).stats.items():
        if file != "~":
            found[package(file)] += own
        else:
            found.update({package(caller): seconds for (caller, _, _), (_, _, seconds, _) in callers.items()})
    return {name: seconds / found.total() for name, seconds in found.most_common()}


def package(file: str) -> str:
    """The package of a file. Compiled code has no file: its time is that of this one."""
    installed = Path(sysconfig.get_path("purelib"))
    if not Path(file).is_relative_to(installed):
        return "otel_fastpath" if file in {"~", __file__} or "otel_fastpath" in file else "Python's library"
    first, *more = Path(file).relative_to(installed).parts
    return f"{first}.{more[0]}" if first == "opentelemetry" else first


if __name__ == "__main__":
    main()
