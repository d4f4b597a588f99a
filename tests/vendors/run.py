"""Compares what vendors' packages send with otel-fastpath to what they send without it, and measures the gain.

    make vendors
    make vendors ARGS="--only sentry --only logfire --no-gain"
    make vendors ARGS="--markdown build/vendors.md"

Each vendor has an environment of its own with its newest releases, under .cache/vendors. The program runs stock, with
otel-fastpath before and after the vendor's set-up, and twice under opentelemetry-instrument, without and with
otel-fastpath. Exit status 1: something differs. Exit status 2: nothing differs, but a vendor could not be checked,
because its environment cannot be made or its stock run fails.
"""
# ruff: noqa: T201  # a program that prints

from __future__ import annotations

import argparse
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

from vendor_checks import page
from vendor_checks.catalogue import vendors
from vendor_checks.check import Result, check

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from vendor_checks.catalogue import Vendor


def main(arguments: Sequence[str] | None = None) -> int:
    """Check what the command line asks for and print the table."""
    options = _options(arguments)
    names = {vendor.name for vendor in vendors()}
    chosen = [vendor for vendor in vendors() if _is_chosen(vendor, options.only, names)]
    if not chosen:
        print(f"no vendor's name begins with {' or '.join(options.only)}", file=sys.stderr)
        return 2
    results = []
    with ThreadPoolExecutor(options.jobs) as pool:
        for result, seconds in pool.map(lambda vendor: _timed(vendor, has_gain=options.gain), chosen):
            results.append(result)
            print(_line(result), f"{seconds:.0f} s", sep="; ", flush=True)
            for line in (*result.faults, *filter(None, [result.unavailable]), *result.notes):
                print(f"  {line}", flush=True)
    print(f"\n{page.table(results)}")
    if options.markdown:
        options.markdown.write_text(page.document(results), encoding="utf-8")
    bad = [result.vendor.name for result in results if result.faults]
    unchecked = [result.vendor.name for result in results if result.unavailable]
    equal = [result.vendor.name for result in results if not result.faults and not result.unavailable]
    for title, names in (("equal", equal), ("not equal", bad), ("not checked", unchecked)):
        if names:
            print(f"{title}: {', '.join(names)}")
    return 1 if bad else 2 if unchecked else 0


def _timed(vendor: Vendor, *, has_gain: bool) -> tuple[Result, float]:
    began = time.monotonic()
    return check(vendor, has_gain=has_gain), time.monotonic() - began


def _is_chosen(vendor: Vendor, only: Sequence[str], names: Collection[str]) -> bool:
    """Whether it is asked for: a whole name is that vendor alone."""
    return not only or any(vendor.name == text if text in names else vendor.name.startswith(text) for text in only)


def _line(result: Result) -> str:
    state = f"{len(result.faults)} faults" if result.faults else f"{result.items} items, equal"
    if result.unavailable and not result.faults:
        state = "not checked"
    found = f"gain x{result.gain.factor:.1f}" if result.gain else ""
    return "; ".join(filter(None, [f"{result.vendor.name} {result.version}".strip(), state, found]))


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument(
        "--only", action="append", default=[], help="only the vendor of this name, or those that begin so; repeatable"
    )
    parser.add_argument("--no-gain", dest="gain", action="store_false", help="do not measure, only compare")
    parser.add_argument(
        "--jobs", type=int, default=1, help="vendors at a time: instructions repeat, times do not (default %(default)s)"
    )
    parser.add_argument("--markdown", type=Path, metavar="FILE", help="also write the table to this file")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    sys.exit(main())
