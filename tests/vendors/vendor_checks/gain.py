"""Measures what a root span costs with a vendor's set-up, stock and with otel-fastpath.

Instructions, by valgrind's callgrind, where that is installed: they repeat. Otherwise the times of processes that take
turns, of which the ratio is of use.
"""

from __future__ import annotations

import functools
import json
import statistics
import tempfile
import threading
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from otel_fastpath.tools.budget.counting import native
from vendor_checks.catalogue import FOLDER
from vendor_checks.environment import CACHE
from vendor_checks.receiver import Receiver
from vendor_checks.ways import STOCK, RunError, certificate, execute, surroundings, work_folder

if TYPE_CHECKING:
    from vendor_checks.catalogue import Vendor
    from vendor_checks.environment import Environment

OURS = "second"
NAME = "root span"
PATIENCE_S = 900
TURNS = 5
# Below this factor, the page says where the rest is.
HALF = 2.0
_BUILDING = threading.Lock()


@dataclass(frozen=True)
class Gain:
    """The cost of start_as_current_span and end, in `unit`, stock and with otel-fastpath.

    Attributes:
        shares: Package -> its share of the time with otel-fastpath, if less than half of the cost is saved.
    """

    stock: float
    ours: float
    unit: str
    shares: dict[str, float] = field(default_factory=dict)

    @property
    def factor(self) -> float:
        """How many times cheaper it is."""
        return self.stock / self.ours


def measure(vendor: Vendor, environment: Environment) -> Gain:
    """Measure both.

    Raises:
        RunError: A process failed.
    """
    with _BUILDING:
        shim = _shim()
    with (
        tempfile.TemporaryDirectory(prefix="vendors-") as scratch,
        Receiver(vendor.answers, certificate() if vendor.tls else None) as receiver,
    ):
        if shim:
            found = [_instructions(vendor, environment, way, receiver.address, Path(scratch)) for way in (STOCK, OURS)]
            gain = Gain(*found, "1,000 instructions")
        else:
            times: dict[str, list[float]] = {STOCK: [], OURS: []}
            for _ in range(TURNS):
                for way, kept in times.items():
                    kept.append(_timed(vendor, environment, way, receiver.address)["us"])
            gain = Gain(statistics.median(times[STOCK]), statistics.median(times[OURS]), "us")
        if gain.factor >= HALF:
            return gain
        return replace(gain, shares=_timed(vendor, environment, OURS, receiver.address, VENDORS_PROFILE="1")["shares"])


@functools.cache
def _shim() -> str:
    """The library that starts and ends counting; empty if something that it needs is not installed."""
    CACHE.mkdir(parents=True, exist_ok=True)
    try:
        return str(native.build(native.INSTRUCTIONS, CACHE))
    except native.MissingToolError:
        return ""


def _command(environment: Environment) -> list[str]:
    return [str(environment.bin / "python"), str(FOLDER / "program" / "measure.py")]


def _instructions(vendor: Vendor, environment: Environment, way: str, receiver: str, scratch: Path) -> float:
    profiles = scratch / way
    profiles.mkdir()
    variables = surroundings(vendor, environment, way, receiver)
    variables |= {**native.surroundings(variables), "VENDORS_SHIM": _shim()}
    command = native.under_valgrind(_command(environment), profiles)
    execute(command, variables, work_folder(vendor), PATIENCE_S, preexec_fn=native.fix_addresses)
    found = native.read_instructions(profiles)
    if NAME not in found:
        raise RunError(f"callgrind left no profile of {way}")
    return found[NAME][0] / 1000


def _timed(vendor: Vendor, environment: Environment, way: str, receiver: str, **more: str) -> dict[str, Any]:
    work = work_folder(vendor)
    execute(_command(environment), {**surroundings(vendor, environment, way, receiver), **more}, work, PATIENCE_S)
    found: dict[str, Any] = json.loads((work / "result.json").read_text(encoding="utf-8"))
    return found
