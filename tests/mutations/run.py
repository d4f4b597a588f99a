"""Changes each function of stock that programs execute, and shows whether the telemetry with this package follows.

    make mutations ARGS="--only asgi --core c --way before --part 3/10"

Exit status 1: the telemetry with a changed function is another one with this package than without, and `silent.txt`
does not list the function; 2: nothing could be shown.
"""
# ruff: noqa: T201  # a program that prints

from __future__ import annotations

import argparse
import json
import os
import random
import sys
import time
from collections import Counter
from dataclasses import asdict
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests/mutations"), str(ROOT / "tests"), str(ROOT / "benchmarks"), str(ROOT)]

import power  # noqa: E402
from checking import CORES, KINDS, WAYS, Checker, Row, quiet  # noqa: E402

OUTPUT = ROOT / "build/mutations"
# What is known to be silent: the way, the kind and the place of each on a line, below a line that says why; and the
# core, if the other one follows.
KNOWN = Path(__file__).with_name("silent.txt")
OUTCOMES = ("followed", "stood back", "by version", "no effect", "breaks stock", "silent")


def main(arguments=None):
    """Do what the command line asks for, and print a table."""
    options = _options(arguments)
    began = time.monotonic()
    quiet()
    if options.power:
        for number, name in enumerate(power.KINDS_OF):
            power.measure(name, options.power, options.seed + number, options.core[0])
        power.write_page(options.core[0])
        return 0
    OUTPUT.mkdir(parents=True, exist_ok=True)
    checker = Checker(options.program)
    wrong = checker.check_programs()
    for name, difference in wrong.items():
        print(f"not the same without a mutation: {name}\n    {difference}")
    if wrong:
        return 2
    jobs = _chosen(checker.functions, options)
    print(f"{len(checker.functions)} functions, {len(jobs)} mutations on {len(options.core)} cores", flush=True)
    rows = _run(checker, jobs, options)
    new = _report(rows, options)
    print(f"{time.monotonic() - began:.0f} s")
    return int(bool(new))


def _line(way, kind, place, core):
    return f"{way} {kind} {place} {core}"


def known_silent():
    """What is known to be silent: each as a line of the file, with its core."""
    lines = KNOWN.read_text(encoding="utf-8").splitlines() if KNOWN.exists() else []
    known = [line for line in lines if line and not line.startswith("#")]
    return {line if line.split()[-1] in CORES else f"{line} {core}" for line in known for core in CORES}


def _chosen(functions, options):
    known = known_silent()
    jobs = [
        (function, way, kind)
        for function in functions
        if not options.only or any(each in function.place for each in options.only)
        for way in options.way
        for kind in options.kind
        # Only its source can be changed.
        if (way == "source" or function.outermost == function.place)
        if kind not in {"result", "object"} or function.returned - {"NoneType"}
        if not options.known or any(_line(way, kind, function.place, core) in known for core in options.core)
    ]
    # What takes long stands together: in turn, the processes are ready at the same time.
    random.Random(0).shuffle(jobs)  # noqa: S311  # it is to repeat, not to be unguessable
    parts = [tuple(map(int, each.split("/"))) for each in options.part or ["0/1"]]
    chosen = sorted({number for part, of in parts for number in range(part, len(jobs), of)})
    return [jobs[number] for number in chosen[options.skip :]]


def _run(checker, jobs, options):
    """The rows of these mutations, made in so many processes."""
    files = [OUTPUT / f"{os.getpid()}-{number}.jsonl" for number in range(options.jobs)]
    children = []
    for number, file in enumerate(files):
        child = os.fork()
        if child == 0:
            _work(checker, jobs[number :: options.jobs], file, options)
        children.append(child)
    statuses = [os.waitpid(child, 0)[1] for child in children]
    if any(statuses):
        raise ChildProcessError("a process did not go through its mutations")
    rows = [Row(**json.loads(line)) for file in files for line in file.read_text(encoding="utf-8").splitlines()]
    for file in files:
        file.unlink()
    return rows


def _work(checker, jobs, file, options):
    status = 1
    try:
        checker.begin(options.core)
        with file.open("w", encoding="utf-8") as output:
            for function, way, kind in jobs:
                rows = checker.check(function, way, kind, options.core)
                if any(row.outcome == "silent" for row in rows):
                    # What two runs do not agree in is no proof.
                    again = checker.check(function, way, kind, options.core)
                    rows = [one if one.outcome != "silent" else other for one, other in zip(rows, again, strict=True)]
                for row in rows:
                    output.write(json.dumps(asdict(row)) + "\n")
                output.flush()
        checker.end()
        status = 0
    finally:
        os._exit(status)


def _report(rows, options):
    silent = [row for row in rows if row.outcome == "silent"]
    lines = {_line(row.way, row.kind, row.place, row.core): row.outcome for row in rows}
    known = known_silent()
    new = [row for row in silent if _line(row.way, row.kind, row.place, row.core) not in known]
    with (OUTPUT / "silent.txt").open("w", encoding="utf-8") as file:
        for row in sorted(silent, key=lambda row: (row.place, row.way, row.kind, row.core)):
            file.write(f"{row.place} [{row.way}, {row.kind}, {row.core}] in {row.program}\n  {row.difference}\n")
    print(f"| core | way | kind | {' | '.join(OUTCOMES)} | errors absorbed |")
    print(f"|---|---|---|{'---:|' * (len(OUTCOMES) + 1)}")
    for core in options.core:
        for way in options.way:
            for kind in options.kind:
                of = [row for row in rows if (row.core, row.way, row.kind) == (core, way, kind)]
                counts = Counter(row.outcome for row in of)
                cells = [str(counts[each]) for each in OUTCOMES] + [str(sum(row.faults > 0 for row in of))]
                print(f"| {core} | {way} | {kind} | {' | '.join(cells)} |")
    functions = len({row.place for row in silent})
    print(f"{len(silent)} silent, of {functions} functions: {OUTPUT / 'silent.txt'}; {len(new)} of them are not known:")
    for line in sorted({_line(row.way, row.kind, row.place, row.core) for row in new}):
        print(f"  {line}")
    for line in sorted(line for line, outcome in lines.items() if outcome != "silent" and line in known):
        print(f"not silent any more: {line}: {lines[line]}")
    return new


def _options(arguments):
    parser = argparse.ArgumentParser(prog="make mutations", description=__doc__.partition("\n")[0])
    parser.add_argument("--only", nargs="+", default=[], metavar="TEXT", help="functions whose places contain it")
    parser.add_argument("--program", nargs="+", default=[], metavar="TEXT", help="programs whose names contain it")
    parser.add_argument("--core", nargs="+", choices=CORES, default=CORES)
    parser.add_argument("--way", nargs="+", choices=WAYS, default=WAYS)
    parser.add_argument("--kind", nargs="+", choices=KINDS, default=KINDS[:1])
    parser.add_argument("--known", action="store_true", help="only what silent.txt lists")
    parser.add_argument(
        "--part", action="append", metavar="K/N", help="every N-th mutation, from the K-th on (from 0); several add up"
    )
    parser.add_argument(
        "--power",
        type=int,
        metavar="N",
        help="draw N changes that can be seen, and N others, and let `prove` judge",
    )
    parser.add_argument("--seed", type=int, default=20261127, help="what they are drawn by")
    parser.add_argument("--skip", type=int, default=0, metavar="NUMBER", help="leave out the first ones of these")
    parser.add_argument("--jobs", type=int, default=min(2, os.cpu_count() or 1), help="processes at a time")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    # The server's thread stays in this process, and the processes that are forked are not disturbed by it.
    sys.exit(main())
