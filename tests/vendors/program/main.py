"""Runs the program with a vendor's set-up: stock, with otel-fastpath before that, or after it.

The harness names everything by environment variables, because some vendors send the command line:

    VENDORS_SETUP             a module of `setups`
    VENDORS_WAY               "stock", or one of `ways.WAYS`
    VENDORS_LEFT_TO_LAUNCHER  "set_up" if opentelemetry-instrument sets the vendor up
    VENDORS_PARTS_LEFT_OUT    functions of `work.py` that are not run
    VENDORS_RECEIVER          the address of the loopback server that stands for the vendor's
    VENDORS_RESULT            the file that gets, as JSON, what otel-fastpath did in this process
"""

from __future__ import annotations

import importlib
import json
import logging
import os
import sys
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))


def main() -> None:
    """Set up, run the program, and flush what the vendor still has."""
    way, receiver = os.environ["VENDORS_WAY"], os.environ["VENDORS_RECEIVER"]
    logging.basicConfig(level=logging.WARNING)
    vendor = importlib.import_module(f"setups.{os.environ['VENDORS_SETUP']}")
    if way == "first":
        instrument()
    if "set_up" not in os.environ.get("VENDORS_LEFT_TO_LAUNCHER", "") or not way.startswith("launcher"):
        vendor.set_up(receiver)
    if way == "second":
        instrument()
    # Some vendors want to be set up before OpenTelemetry is imported.
    work = importlib.import_module("work")
    work.run(os.environ["VENDORS_PARTS_LEFT_OUT"].split(","))
    if hasattr(vendor, "use"):
        vendor.use()
    vendor.finish()
    Path(os.environ["VENDORS_RESULT"]).write_text(json.dumps(what_we_did()), encoding="utf-8")


def instrument() -> None:
    """Instrument this process with otel-fastpath."""
    # It keeps `opentelemetry-instrument` from doing so; otel-fastpath reads it, too.
    disabled = os.environ.pop("OTEL_PYTHON_DISABLED_INSTRUMENTATIONS")
    from otel_fastpath import FastpathInstrumentor

    FastpathInstrumentor().instrument()
    os.environ["OTEL_PYTHON_DISABLED_INSTRUMENTATIONS"] = disabled


def what_we_did() -> dict[str, object]:
    """The core and the number of patches by state; nothing of it where otel-fastpath was never imported."""
    if "otel_fastpath.instrumentor" not in sys.modules:
        return {"core": None, "patches": {}}
    from otel_fastpath import FastpathInstrumentor, compiled

    rows = FastpathInstrumentor().status()
    skipped = [f"{row.name}: {row.reason}" for row in rows if row.state.value == "skipped"]
    return {
        "core": compiled.implementation()[0],
        "patches": Counter(row.state.value for row in rows),
        "skipped": skipped,
    }


if __name__ == "__main__":
    main()
