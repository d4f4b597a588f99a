"""What the first page of the site shows: figures of the measured tables, and all pages by task.

The figures are read when the site is built, from the tables that `make tables`, `make upstream` and `make docs-tables`
have written into the pages, so that a measurement that is repeated changes the first page as well.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
_ROW = re.compile(r"^\| (.+?) \| \[[^\]]+\]\(([\w-]+)\.md\) \|$")
_SUITE = re.compile(r"^\| \S+ \| \S+ \S+ \|(?: \d+ / \d+ \|){3} (\d+) \|$", re.MULTILINE)


class Facts(NamedTuple):
    """The figures, as texts.

    Attributes:
        less: By how much less CPU telemetry takes in the service of the demo that gains least.
        stock: Microseconds of CPU a request that telemetry takes with OpenTelemetry, in the first service.
        fastpath: The same with otel-fastpath.
        requests: Requests a second with each.
        slowest: The 99th percentile of the latency with each, in milliseconds.
        spans: How many spans arrived with each.
        suites: How many suites of OpenTelemetry's instrumentations have the same results, and how many there are.
        collected: How many spans a Collector got that was killed meanwhile, of how many that were sent.
        patches: How many patches there are.
        chat: What telemetry takes of a call of OpenAI's client with each, in thousands of instructions.
        chat_share: The ratio of these.
        inventory: Requests a second of the inventory service's mix with each.
    """

    less: str
    stock: str
    fastpath: str
    requests: tuple[str, str]
    slowest: tuple[str, str]
    spans: tuple[str, str]
    suites: tuple[str, str]
    collected: tuple[str, str]
    patches: str
    chat: tuple[str, str]
    chat_share: str
    inventory: tuple[str, str]


class Section(NamedTuple):
    """A heading of the index, and its pages: (task, address)."""

    heading: str
    pages: list[tuple[str, str]]


def facts() -> Facts:
    """The figures of the pages as they are."""
    gain = rows(ROOT / "README.md", "gain")
    less = [int(found[1]) for row in gain if (found := re.search(r"(\d+)% less", row[3]))]
    demo = by_first_cell(rows(ROOT / "README.md", "demo"))
    chat = by_first_cell(rows(DOCS / "performance-openai.md", "openai"))["chat call"]
    columns = rows(DOCS / "performance-openai.md", "openai")[0]
    collector = next(
        row for row in rows(DOCS / "collector.md", "collector") if row[:3] == ["everything arrives", "http", "compiled"]
    )
    differences = _SUITE.findall((DOCS / "upstream-suites.md").read_text(encoding="utf-8"))
    numbers = re.findall(r"\| (\d+) \|$", (DOCS / "patches.md").read_text(encoding="utf-8"), re.MULTILINE)
    service = next(row for row in rows(DOCS / "http.md", "inventory") if row[:2] == ["mix", "requests a second"])
    return Facts(
        less=f"{min(less)}%",
        stock=_number(demo["telemetry's share (us)"][1]),
        fastpath=_number(demo["telemetry's share (us)"][2]),
        requests=_both(demo["requests per second"]),
        slowest=_both(demo["latency p99 (ms)"]),
        spans=_both(demo["spans received"]),
        suites=(str(differences.count("0")), str(len(differences))),
        collected=(collector[4], collector[3]),
        patches=str(sum(map(int, numbers))),
        chat=(f"{chat[columns.index('+ stock') - 1]}", f"{float(chat[columns.index('+ otel-fastpath') - 1]):.0f}"),
        chat_share=f"{float(chat[columns.index('otel-fastpath/stock') - 1].rstrip('%')):.0f}%",
        inventory=(service[3], service[4]),
    )


def rows(page: Path, name: str) -> list[list[str]]:
    """The cells of the first table between the marks of this name, with its head."""
    text = page.read_text(encoding="utf-8")
    _, _, part = text.partition(f"<!-- {name}: begin -->")
    part, _, _ = part.partition(f"<!-- {name}: end -->")
    if (found := re.search(r"(?:^\|.*\n)+", part, re.MULTILINE)) is None:
        raise ValueError(f"{page.name} has no table {name!r}")
    cells = [[cell.strip() for cell in line[1:-1].split("|")] for line in found[0].splitlines()]
    return [row for row in cells if set("".join(row)) - set("-:")]


def by_first_cell(table: list[list[str]]) -> dict[str, list[str]]:
    """First cell -> the others."""
    return {row[0]: row[1:] for row in table}


def _both(cells: list[str]) -> tuple[str, str]:
    """The columns of OpenTelemetry and otel-fastpath, after that of no telemetry."""
    return _number(cells[1]), _number(cells[2])


def _number(cell: str) -> str:
    """Without the interval."""
    return cell.partition(" (")[0]


def sections(index: str) -> list[Section]:
    """The headings of the index, with their tasks and pages."""
    found: list[Section] = []
    for line in index.splitlines():
        if line.startswith("## "):
            found.append(Section(line.removeprefix("## "), []))
        elif row := _ROW.match(line):
            found[-1].pages.append((row[1], f"{row[2]}.html"))
    return found
