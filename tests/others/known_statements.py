"""Writes the digests of the statements of each known function of what is installed: `make sources NAME=statements`."""

from __future__ import annotations

import json
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT))

from otel_fastpath.db.dbapi import template  # noqa: E402
from otel_fastpath.http import stock_sources as http  # noqa: E402
from otel_fastpath.patching.sources.guard import SkipError, function_of, resolve  # noqa: E402
from otel_fastpath.tools.prove.new_statements import FILE, as_text, statements_of  # noqa: E402
from otel_fastpath.trace import stock_sources as trace  # noqa: E402


def digests():
    """The digests of each function, joined, by its place."""
    found = {}
    for known in (trace.KNOWN, http.KNOWN, template.KNOWN):
        for place in known.places():
            try:
                statements = statements_of(function_of(resolve(place)))
            except (SkipError, OSError, TypeError):
                # Of other releases than the installed ones.
                continue
            found[place] = as_text(statements)
    return dict(sorted(found.items()))


if __name__ == "__main__":
    file = Path(sys.argv[1]) if len(sys.argv) > 1 else FILE
    file.write_text(json.dumps(digests(), indent=1) + "\n", encoding="utf-8")
