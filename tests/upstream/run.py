"""Demands that whatever passes of upstream's own test suites passes with otel-fastpath active too.

Each suite runs stock (taken from the cache where nothing changed) and once for each core. Exit status 1 means that a
test broke, or that a run proves nothing; 2 that the suites could not be run.
"""
# ruff: noqa: T201  # a program that prints

from __future__ import annotations

import argparse
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

from harness.compare import Verdict, judge_ours, judge_stock, meant_differences
from harness.environment import copied_package, installed_otel, interpreter, provide
from harness.paths import UpstreamError
from harness.released import sdist
from harness.suites import CORES, SUITES, Mode, stop_all

if TYPE_CHECKING:
    from collections.abc import Sequence

    from harness.environment import Environment
    from harness.suites import Suite


def main(arguments: Sequence[str] | None = None) -> int:
    """Run what the command line asks for and print the table."""
    options = _options(arguments)
    try:
        with copied_package() as package:
            environment = provide(interpreter(options.python), options.otel_version or installed_otel(), package)
            suites = [suite for suite in SUITES if suite.name in (options.suite or [suite.name])]
            cores = _cores(environment, options.core)
            modes = [Mode(core, options.activate) for core in cores]
            verdicts = run_all(environment, suites, modes, options.jobs)
    except UpstreamError as error:
        print(f"upstream: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        stop_all()
        return 130
    return report(environment, verdicts, cores)


def run_all(environment: Environment, suites: Sequence[Suite], modes: Sequence[Mode], jobs: int) -> list[Verdict]:
    """Run every suite in every mode, `jobs` at a time.

    A core's run of a suite waits for the stock one, so the stock runs go first.
    """
    meant = meant_differences()
    for suite in suites:
        sdist(suite.distribution, environment.otel)
    with ThreadPoolExecutor(jobs) as pool:
        stock = {suite.name: pool.submit(judge_stock, environment, suite) for suite in suites}

        def under_us(suite: Suite, mode: Mode) -> Verdict:
            return judge_ours(environment, suite, mode, stock[suite.name].result().result, meant)

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
    print(f"\nPython {python}, OpenTelemetry {environment.otel}; passed, and seconds:")
    modes = ["stock", *cores]
    print(_row(["suite", *modes, "differences"]))
    by_suite: dict[str, dict[str, Verdict]] = {}
    for verdict in verdicts:
        by_suite.setdefault(verdict.suite, {})[verdict.mode] = verdict
    for suite, found in by_suite.items():
        cells = [f"{len(found[mode].result.passed()):5d} {found[mode].result.seconds:6.1f} s" for mode in modes]
        print(_row([suite, *cells, _differences(found, cores)]))
    _print_patches(verdicts)
    for verdict in verdicts:
        where = f"{verdict.suite}, {verdict.mode}"
        failed = [test for test, outcome in verdict.result.outcomes.items() if outcome == "failed"]
        if verdict.mode == "stock" and failed:
            print(f"{where}: fail without us too: {', '.join(failed)}")
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
    return "  ".join(f"{cell:<16}" for cell in cells).rstrip()


def _cores(environment: Environment, asked: Sequence[str] | None) -> list[str]:
    """The cores to run.

    Raises:
        UpstreamError: The compiled one is asked for by name and is not there.
    """
    cores = list(asked or CORES)
    if "c" in cores and not environment.has_compiled_core():
        line = f"there is no compiled core for Python {environment.interpreter.short} in otel_fastpath"
        if asked:
            raise UpstreamError(line)
        print(f"upstream: {line}: its runs are left out")
        cores.remove("c")
    elif "c" in cores and (old := environment.outdated_core()):
        hint = f"`make setup PYTHON_VERSION={environment.interpreter.short}` compiles it again"
        print(f"upstream: {', '.join(old)} is older than its source; {hint}")
    return cores


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--python", help="version (3.12) or path of the interpreter; default: this one")
    names = [suite.name for suite in SUITES]
    parser.add_argument("--suite", action="append", choices=names, help="only this; repeatable")
    parser.add_argument("--core", action="append", choices=CORES, help="only this core; repeatable")
    parser.add_argument("--otel-version", help="OpenTelemetry version; default: the installed one")
    parser.add_argument("--jobs", type=int, default=2, help="suites run at a time; default: 2")
    parser.add_argument("--activate", default="fastpath", help="module:function of a stand-in, to test this program")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    started = time.monotonic()
    status = main()
    print(f"{time.monotonic() - started:.0f} s")
    sys.exit(status)
