"""The tables of docs/commands.md: the exit statuses, and which command has which of the shared options."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING

sys.path.insert(0, str(Path(__file__).parents[1]))

from otel_fastpath.__main__ import _parser
from otel_fastpath.tools.common.arguments import REFUSED
from otel_fastpath.tools.common.exit_codes import ALWAYS, EXIT_CODES

if TYPE_CHECKING:
    import argparse

OPTIONS = ("COMMAND", "--pid", "--url", "--json", "--html", "--no-progress")
# What stands for COMMAND.
INSTEAD = {
    "budget": "a step, as `check`",
    "docs": "`PAGE`",
    "prove": "-",
    "bench": "with `--url`",
    "status": "or `app:app`",
}
# `budget` stands for its first step.
STEP = "check"


def parsers() -> dict[str, argparse.ArgumentParser]:
    """The parser of each command; of one with steps, that of the first one."""
    found = {}
    for name, parser in _choices(_parser()).items():
        steps = _choices(parser)
        found[name] = steps.get(STEP, parser)
    return found


def _choices(parser: argparse.ArgumentParser) -> dict[str, argparse.ArgumentParser]:
    for action in parser._actions:
        if isinstance(action.choices, dict):
            return action.choices
    return {}


def page(text: str) -> str:
    """The text of the page with the tables that follow from the source."""
    for name, table in (("shared options", _options()), ("exit statuses", _statuses())):
        begin, end = f"<!-- {name}: begin -->\n\n", f"\n<!-- {name}: end -->"
        text = re.sub(
            f"{re.escape(begin)}.*?{re.escape(end)}",
            lambda _, a=begin, t=table, b=end: f"{a}{t}{b}",
            text,
            flags=re.DOTALL,
        )
    return text


def _options() -> str:
    lines = [f"|  | {' | '.join(f'`{each}`' for each in OPTIONS)} |", f"| --- |{' --- |' * len(OPTIONS)}"]
    for name, parser in parsers().items():
        if name not in REFUSED:
            continue
        has = {option for action in parser._actions for option in action.option_strings}
        refused = REFUSED[name][0]
        cells = [INSTEAD.get(name, "yes")]
        cells += ["yes" if option in has and option not in refused else "-" for option in OPTIONS[1:]]
        lines.append(f"| `{name}` | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def _statuses() -> str:
    lines = ["| command | exit status | meaning |", "| --- | ---: | --- |"]
    for name, codes in EXIT_CODES.items():
        lines += [f"| `{name}` | {code} | {meaning} |" for code, meaning in codes.items()]
    lines += [f"| each | {code} | {meaning} |" for code, meaning in ALWAYS.items()]
    return "\n".join(lines) + "\n"
