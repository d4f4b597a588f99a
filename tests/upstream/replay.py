"""What `otel-fastpath prove` would have said on the first day of past releases: `make sources NAME=replay`.

For each of the last releases of OpenTelemetry's core, a copy of this package knows the sources of its predecessors
alone. In an environment with the release, the command tries the patches that are skipped because of it.
"""
# ruff: noqa: T201  # a program that prints

from __future__ import annotations

import argparse
import itertools
import json
import subprocess
import sys
from typing import TYPE_CHECKING, Any

from harness import core, known, released
from harness.environment import Environment, copied_package, interpreter, provide
from harness.paths import REPOSITORY, StockError
from packaging.version import Version

from otel_fastpath.tools.prove.new_statements import FILE
from otel_fastpath.trace.stock_sources import KNOWN

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

_FIRST = "1.30"
_STATEMENTS = REPOSITORY / "tests/others/known_statements.py"


def main(arguments: Sequence[str] | None = None) -> int:
    """Print a row for each release."""
    parser = argparse.ArgumentParser(prog="make sources NAME=replay", description=__doc__.partition("\n")[0])
    # The package supports none before 1.40.
    parser.add_argument("--releases", type=int, default=9, metavar="N", help="the last N (default %(default)s)")
    parser.add_argument("--programs", type=int, default=4, metavar="N", help="see otel-fastpath prove")
    options = parser.parse_args(arguments)
    try:
        every = released.versions(core.SDK, _FIRST)[-options.releases - 1 :]
        print("| release | patches lost | proven | different | not proven |\n| --- | ---: | ---: | ---: | ---: |")
        for earlier, later in itertools.pairwise(every):
            groups = _prove(earlier, later, options.programs)
            print(_row(later, groups), flush=True)
            for group in groups:
                if not group["is_proven"]:
                    why = group["missing"] or f"{len(group['differing'])} programs differ: {group['difference']}"
                    print(f"    {', '.join(group['patches'])}: {why}", flush=True)
    except StockError as error:
        print(f"sources: {error}", file=sys.stderr)
        return 2
    return 0


def _row(release: str, groups: list[dict[str, Any]]) -> str:
    counts = dict.fromkeys(("proven", "different", "not proven"), 0)
    for group in groups:
        outcome = "proven" if group["is_proven"] else "different" if group["differing"] else "not proven"
        counts[outcome] += len(group["patches"])
    return f"| {release} | {' | '.join(map(str, (sum(counts.values()), *counts.values())))} |"


def _prove(earlier: str, later: str, programs: int) -> list[dict[str, Any]]:
    """What the command finds beside a release, knowing those before it."""
    base = interpreter()
    with copied_package() as package:
        _run(provide(base, earlier, package), str(_STATEMENTS), str(package / FILE.relative_to(REPOSITORY)))
        _forget(package / KNOWN.file.relative_to(REPOSITORY), earlier)
        command = ("-m", "otel_fastpath", "prove", "--programs", str(programs), "--json", "-")
        found: list[dict[str, Any]] = json.loads(_run(provide(base, later, package), *command))["groups"]
        return found


def _forget(file: Path, last: str) -> None:
    """Forget the sources that no release up to the last one has."""
    kept = {
        place: {fingerprint: texts for fingerprint, texts in found.items() if _oldest(texts) <= Version(last)}
        for place, found in known.load(file).items()
    }
    known.write(file, kept)


def _oldest(texts: dict[str, str]) -> Version:
    return min(Version(release) for of in texts.values() for release in of.split())


def _run(environment: Environment, *arguments: str) -> str:
    done = subprocess.run(
        [str(environment.python), *arguments],
        # The module is looked for here at first.
        cwd=environment.package,
        env={"PYTHONPATH": str(environment.package), "PATH": "/usr/bin:/bin"},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode not in {0, 1} or (done.returncode == 1 and not done.stdout):
        raise StockError(f"{environment.otel}: {done.stderr[-2000:]}")
    return done.stdout


if __name__ == "__main__":
    sys.exit(main())
