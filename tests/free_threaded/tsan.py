"""Runs tests on a free-threaded CPython with ThreadSanitizer, and shows the races that compiled code of ours has.

    python tests/free_threaded/tsan.py [--seconds 60] [TEST ...]

Both CPython and the compiled core are built with ThreadSanitizer. A race is ours if code in one of our modules makes
one of its two accesses, itself or in functions of CPython that it calls. Others are races of CPython's own: those that
its source names are suppressed, and so are those of `tsan.txt`; the rest is counted. Exit status 1 means that there are
races of ours, 2 that tests failed.
"""
# ruff: noqa: T201  # a program that prints

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

import provide

FOLDER = Path(__file__).resolve().parent
TESTS = (FOLDER, provide.ROOT / "tests" / "exceptions" / "test_monitor.py")
# What CPython's source has for its own tests.
STOCK = "Tools/tsan/suppressions_free_threading.txt"
# The default shows a module without its folder, which does not tell ours from another's.
SETTINGS = "exitcode=0:history_size=7:stack_trace_format='    #%n %f %S (%m+%o)'"
_FRAME = re.compile(r"^ +#\d+ (?P<function>\S+) .*\((?P<module>[^()]+)\+0x[0-9a-f]+\)", re.MULTILINE)
# In Python code, an access is that of the interpreter, whoever called the code.
_INTERPRETER = "_PyEval_EvalFrameDefault"
_ACCESS = re.compile(r"^  (?:Previous )?(?:atomic )?(?:read|write) of size", re.MULTILINE | re.IGNORECASE)


class CompiledCore:
    """A plugin of pytest that leaves out the tests of the pure core: what it shares are objects of CPython."""

    def pytest_collection_modifyitems(self, items):
        """Keep the others."""
        items[:] = [item for item in items if getattr(item, "callspec", None) is None or "py" not in params(item)]


def params(item):
    """The values of the parameters of a test."""
    return [value for value in item.callspec.params.values() if isinstance(value, str)]


def reports(folder):
    """The reports in the logs, each one once."""
    texts = [each for log in sorted(folder.glob("log.*")) for each in log.read_text(errors="replace").split("=" * 18)]
    return [text.strip("\n") for text in texts if "WARNING: ThreadSanitizer" in text]


def accesses(report):
    """The stacks of the accesses of a race: tuples of (function, module), the innermost first."""
    for part in report.split("\n\n"):
        if _ACCESS.search(part):
            yield tuple((found["function"], found["module"]) for found in _FRAME.finditer(part))


def is_ours(stack, package):
    """Whether code of the package is what makes the access."""
    for function, module in stack:
        if module.startswith(package):
            return True
        if function.startswith(_INTERPRETER):
            return False
    return False


def title(report, package):
    """The functions in which the accesses are: for ours the outermost one of CPython's, too."""
    names = []
    for stack in accesses(report):
        at = 0
        if is_ours(stack, package):
            at = next(index for index, each in enumerate(stack) if each[1].startswith(package))
        names.append(" < ".join(function for function, _ in stack[: at + 1]))
    return " / ".join(sorted(names)) or report.splitlines()[0]


def run(options):
    """Run the tests; returns their exit status and the reports."""
    python = provide.environment(provide.built(tsan=True), tsan=True)
    folder = provide.sanitized()
    logs = folder / "logs"
    shutil.rmtree(logs, ignore_errors=True)
    logs.mkdir()
    stock = next(iter(sorted((provide.CACHE / "src").glob(f"Python-3*/{STOCK}"))), None)
    known = [each.read_text() for each in (stock, FOLDER / "tsan.txt") if each is not None]
    (folder / "suppressions.txt").write_text("\n".join(known))
    environ = {
        **os.environ,
        "TSAN_OPTIONS": f"log_path={logs}/log:suppressions={folder}/suppressions.txt:{SETTINGS}",
        "OTEL_FASTPATH_STRESS_SECONDS": str(options.seconds),
        "OTEL_FASTPATH_EXTENSION": "require",
    }
    command = [python, __file__, "--inside", *(Path(each).resolve() for each in options.tests)]
    # In this folder, so that the package there is imported.
    return subprocess.run(command, cwd=folder, env=environ, check=False).returncode, reports(logs), f"{folder}/"


def inside(tests):
    """Run pytest here, in the sanitized interpreter."""
    import pytest

    sys.path.insert(0, str(Path.cwd()))
    settings = (
        "-c",
        provide.ROOT / "pyproject.toml",
        "--rootdir",
        provide.ROOT,
        "-o",
        "timeout=3000",
        "-p",
        "no:xdist",
    )
    # A million measurements take longer than a time limit here.
    chosen = ("-q", "-m", "not slow", *(tests or TESTS))
    return pytest.main([str(each) for each in (*settings, *chosen)], plugins=[CompiledCore()])


def main():
    """Run the tests and print what was found."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tests", nargs="*", help="files or node ids; without them, the tests of this folder")
    parser.add_argument("--seconds", type=float, default=60, help="how long everything is used at the same time")
    parser.add_argument("--inside", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.inside:
        return inside(options.tests)
    status, found, package = run(options)
    ours = [each for each in found if any(is_ours(stack, package) for stack in accesses(each))]
    for text in ours:
        print(f"{text}\n")
    for text, number in Counter(title(each, package) for each in ours).most_common():
        print(f"{number:6} {text}")
    unknown = sum(not all(accesses(each)) for each in found if each not in ours)
    print(f"{len(ours)} races in the code of otel-fastpath, {len(found) - len(ours)} others")
    print(f"Of these others, {unknown} have lost the stack of one access, which may be ours")
    return 1 if ours else 2 if status else 0


if __name__ == "__main__":
    sys.exit(main())
