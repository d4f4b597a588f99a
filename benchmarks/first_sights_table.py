"""The table of what is seen for the first time, and of more in turn than is kept: stock, pure and compiled.

    make bench NAME=first-sights ARGS="--markdown build/bench/first-sights.md"

The rows are the scenarios of budgets.toml that are counted with stock, too: the budgets are held to the same figures.
"""

from __future__ import annotations

import argparse
import fnmatch
import sys
from pathlib import Path

from table import _document

from otel_fastpath.tools.budget import declare, measuring
from otel_fastpath.tools.budget.counting import processes
from otel_fastpath.tools.budget.outputs import add_outputs, write
from otel_fastpath.tools.common.render import progress

FILE = Path(__file__).with_name("budgets.toml")
ROWS = ("*seen*", "new *", "*included routers*")
# The names of the variants in the file, and those of the columns.
COLUMNS = {"stock": "stock", "py": "pure", "c": "compiled"}
TITLE = "Seen for the first time, and more in turn than is kept"


def main() -> int:
    """Count, print, and write the requested files."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="*", help="scenarios with this name; * and ? are wildcards")
    add_outputs(parser)
    options = parser.parse_args()
    declaration = declare.read(FILE)
    rows = {
        row: None
        for row in (name.removesuffix("[stock]") for name in declaration.scenarios if name.endswith("[stock]"))
        if any(fnmatch.fnmatchcase(row, kind) for kind in ROWS) and fnmatch.fnmatchcase(row, options.only)
    }
    wanted = [(declaration.scenarios[f"{row}[{name}]"], ("instructions",)) for row in rows for name in COLUMNS]
    show = progress.bar(sys.stderr)
    show(0, 1, "instructions")
    found = measuring.count(declaration, wanted, None, lambda _text: None, compared=False, run=processes.run)
    show(1, 1, "")
    counted: dict[str, dict[str, float]] = {}
    failed = {name: reasons["instructions"] for name, reasons in found.reasons.items()}
    for name, values in found.values.items():
        row, _, variant = name.removesuffix("]").rpartition("[")
        counted.setdefault(row, {})[COLUMNS[variant]] = values["instructions"]
    distributions = (
        *declare.DEFAULT_DISTRIBUTIONS,
        "asyncpg",
        "Django",
        "psycopg",
        "psycopg2-binary",
        "pymysql",
        "redis",
    )
    document = _document(TITLE, rows, tuple(COLUMNS.values()), counted, {}, failed, distributions)
    write(options, document, {"title": TITLE, "instructions": counted, "failed": failed})
    return 0 if counted else 4


if __name__ == "__main__":
    sys.exit(main())
