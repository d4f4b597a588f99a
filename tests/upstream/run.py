"""Demands that whatever passes of stock's own test suites passes with otel-fastpath active too.

Each suite runs stock (taken from the cache where nothing changed) and once for each core. Exit status 1 means that a
test broke, or that a run proves nothing; 69 that a package registry did not give what is needed; 2 that the suites
could not be run for another reason.
"""
# ruff: noqa: T201  # a program that prints

from __future__ import annotations

import argparse
import os
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

from harness.compare import Verdict, judge_ours, judge_stock, meant_differences
from harness.contrib import contrib_suites, write_locks
from harness.environment import copied_package, installed_otel, interpreter, locked_otel, provide
from harness.page import counted, write_page
from harness.paths import StockError, UnavailableError
from harness.suites import CORES, SUITES, Mode, source, stop_all

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from harness.environment import Environment
    from harness.suites import Suite


def main(arguments: Sequence[str] | None = None) -> int:
    """Run what the command line asks for and print the table."""
    options = _options(arguments)
    try:
        suites = _suites(options)
        if options.lock:
            write_locks(suites)
            return 0
        with copied_package() as package:
            base = interpreter(options.python)
            otel = options.otel_version or (locked_otel() if options.contrib else installed_otel())
            made = {lock: provide(base, otel, package, lock) for lock in dict.fromkeys(each.lock for each in suites)}
            environment = next(iter(made.values()))
            cores = _cores(environment, options.core)
            modes = [Mode(core, options.activate) for core in cores]
            verdicts = run_all(made, suites, modes, options.jobs)
            if options.page and not any(verdict.faults for verdict in verdicts):
                write_page(made, suites, _by_suite(verdicts))
    except StockError as error:
        print(f"stock: {error}", file=sys.stderr)
        return os.EX_UNAVAILABLE if isinstance(error, UnavailableError) else 2
    except KeyboardInterrupt:
        stop_all()
        return 130
    return report(environment, verdicts, cores)


def run_all(
    made: Mapping[Path | None, Environment], suites: Sequence[Suite], modes: Sequence[Mode], jobs: int
) -> list[Verdict]:
    """Run every suite in every mode, `jobs` at a time.

    A core's run of a suite waits for the stock one, so the stock runs go first.
    """
    meant = meant_differences()
    for suite in suites:
        source(made[suite.lock], suite)
    with ThreadPoolExecutor(jobs) as pool:
        stock = {suite.name: pool.submit(judge_stock, made[suite.lock], suite) for suite in suites}

        def under_us(suite: Suite, mode: Mode) -> Verdict:
            return judge_ours(made[suite.lock], suite, mode, stock[suite.name].result().result, meant)

        ours = [pool.submit(under_us, suite, mode) for suite in suites for mode in modes]
        try:
            return [future.result() for future in [*stock.values(), *ours]]
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            stop_all()
            raise


def report(environment: Environment, verdicts: Sequence[Verdict], cores: Sequence[str]) -> int:
    """Print the table and every fault; 1 if there is one."""
    python = environment.interpreter.version.split()[0]
    print(f"\nPython {python}, OpenTelemetry {environment.otel}; passed / failed, and seconds:")
    modes = ["stock", *cores]
    print(_row(["suite", *modes, "differences"]))
    for suite, found in _by_suite(verdicts).items():
        cells = [f"{counted(found[mode].result):>9} {found[mode].result.seconds:6.1f} s" for mode in modes]
        print(_row([suite, *cells, _differences(found, cores)]))
    _print_patches(verdicts)
    for verdict in verdicts:
        where = f"{verdict.suite}, {verdict.mode}"
        failed = [test for test, outcome in verdict.result.outcomes.items() if outcome == "failed"]
        if verdict.mode == "stock" and failed:
            print(f"{where}: fail without us too: {', '.join(failed)}")
        for line in verdict.gained:
            print(f"GAINED {where}: fails stock and passes here: {line}")
        for line in verdict.unsteady:
            print(f"UNSTEADY {where}: failed in one of two runs: {line}")
        for line in (line for line in verdict.result.said if not line.startswith("ERROR")):
            print(f"SAID {where}: {line}")
        for line in verdict.faults:
            print(f"FAULT {where}: {line}")
        if verdict.faults:
            print(f"      all of it: {verdict.result.log}")
    bad = sum(len(verdict.faults) for verdict in verdicts)
    print(f"{bad} faults" if bad else "Whatever passes stock passes under us.")
    return 1 if bad else 0


def _by_suite(verdicts: Sequence[Verdict]) -> dict[str, dict[str, Verdict]]:
    found: dict[str, dict[str, Verdict]] = {}
    for verdict in verdicts:
        found.setdefault(verdict.suite, {})[verdict.mode] = verdict
    return found


def _differences(found: dict[str, Verdict], cores: Sequence[str]) -> str:
    parts = []
    for core in cores:
        verdict = found[core]
        words = [f"{len(verdict.faults)} faults"] if verdict.faults else []
        words += [f"{verdict.meant} meant"] if verdict.meant else []
        words += [f"{len(verdict.unsteady)} unsteady"] if verdict.unsteady else []
        parts += [f"{core}: {', '.join(words)}"] if words else []
    return "; ".join(parts) or "none"


def _print_patches(verdicts: Sequence[Verdict]) -> None:
    """What the patches' states were, once for each distinct answer."""
    seen: dict[str, list[str]] = {}
    for verdict in verdicts:
        if verdict.mode == "stock":
            continue
        states = ", ".join(f"{number} {state}" for state, number in sorted(verdict.result.patch_states().items()))
        seen.setdefault(states or "none", []).append(f"{verdict.suite}/{verdict.mode}")
    for states, where in seen.items():
        print(f"patches: {states}  ({' '.join(where)})")
    rows = {(row["name"], row["reason"]) for v in verdicts for row in v.result.patches if row["state"] == "skipped"}
    for name, reason in sorted(rows):
        print(f"  skipped {name}: {reason}")


def _row(cells: Sequence[str]) -> str:
    return "  ".join(f"{cell:<{width}}" for cell, width in zip(cells, (32, 18, 18, 18, 0), strict=False)).rstrip()


def _cores(environment: Environment, asked: Sequence[str] | None) -> list[str]:
    """The cores to run.

    Raises:
        StockError: The compiled one is asked for by name and is not there.
    """
    cores = list(asked or CORES)
    if "c" in cores and not environment.has_compiled_core():
        line = f"there is no compiled core for Python {environment.interpreter.short} in otel_fastpath"
        if asked:
            raise StockError(line)
        print(f"stock: {line}: its runs are left out")
        cores.remove("c")
    elif "c" in cores and (old := environment.outdated_core()):
        hint = f"`make setup PYTHON_VERSION={environment.interpreter.short}` compiles it again"
        print(f"stock: {', '.join(old)} is older than its source; {hint}")
    return cores


def _suites(options: argparse.Namespace) -> list[Suite]:
    """The suites that the command line names.

    Raises:
        StockError: It names one that there is not, or its options exclude one another.
    """
    if (options.lock or options.page) and not options.contrib:
        raise StockError("--lock and --page are for the suites of opentelemetry-python-contrib: add --contrib")
    if options.page and (options.suite or options.core):
        raise StockError("the page is that of all suites with both cores: leave out --suite and --core")
    every = contrib_suites() if options.contrib else list(SUITES)
    if unknown := set(options.suite or ()) - {suite.name for suite in every}:
        names = ", ".join(suite.name for suite in every)
        raise StockError(f"no suite is called {', '.join(sorted(unknown))}: there are {names}")
    return [suite for suite in every if not options.suite or suite.name in options.suite]


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--python", help="version (3.12) or path of the interpreter; default: this one")
    parser.add_argument("--contrib", action="store_true", help="the suites of opentelemetry-python-contrib instead")
    parser.add_argument("--lock", action="store_true", help="with --contrib: resolve what its environments consist of")
    parser.add_argument("--page", action="store_true", help="with --contrib: write the docs' page if there is no fault")
    parser.add_argument("--suite", action="append", help="only this; repeatable")
    parser.add_argument("--core", action="append", choices=CORES, help="only this core; repeatable")
    parser.add_argument(
        "--otel-version", help="OpenTelemetry version; default: the installed one, or with --contrib the locked one"
    )
    parser.add_argument("--jobs", type=int, default=2, help="suites run at a time; default: 2")
    parser.add_argument("--activate", default="fastpath", help="module:function of a stand-in, to test this program")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    started = time.monotonic()
    status = main()
    print(f"{time.monotonic() - started:.0f} s")
    sys.exit(status)
