"""Measures a root span with a vendor's set-up: counts instructions if VENDORS_SHIM names a library, else takes times.

Reads the same environment variables as `main.py`.
"""

from __future__ import annotations

import importlib
import json
import os
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from main import instrument

from otel_fastpath.tools.budget.counting import native
from otel_fastpath.tools.budget.counting.callables import Running, nothing

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
            Path(os.environ["VENDORS_RESULT"]).write_text(json.dumps({"us": min(times)}), encoding="utf-8")
    sys.stdout.flush()
    # What is left is not exported: under valgrind that takes long, and nobody reads it.
    os._exit(0)


if __name__ == "__main__":
    main()
