"""Generates the tables of the documentation from the source: run by `make docs-tables`, checked by tests/docs.

`patches.md` and its parts are made by `patches_page`, `telemetry-*.md` by `telemetry_page`, `differences.md` by
`differences_page`, the tables of `commands.md` by `commands_page`, and the drawing in `architecture.md` by
`architecture_page`.
"""

from __future__ import annotations

from pathlib import Path

import architecture_page
import commands_page
import differences_page
import hot_names
import patches_page
import telemetry_page

ROOT = Path(__file__).parents[1]
DIFFERENCES = ROOT / "docs" / "differences.md"
ARCHITECTURE = ROOT / "docs" / "architecture.md"
COMMANDS = ROOT / "docs" / "commands.md"


if __name__ == "__main__":
    hot_names.SOURCE.write_text(hot_names.source(hot_names.SOURCE.read_text(encoding="utf-8")), encoding="utf-8")
    DIFFERENCES.write_text(differences_page.page(), encoding="utf-8")
    ARCHITECTURE.write_text(architecture_page.page(ARCHITECTURE.read_text(encoding="utf-8")), encoding="utf-8")
    COMMANDS.write_text(commands_page.page(COMMANDS.read_text(encoding="utf-8")), encoding="utf-8")
    for page, text in {**patches_page.pages(), **telemetry_page.pages()}.items():
        page.write_text(text, encoding="utf-8")
