"""The document that all outputs render: a title, a summary, tables, charts, facts and notes."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

GOOD: Final = "good"
BAD: Final = "bad"
UNSURE: Final = "unsure"
MUTE: Final = "mute"
PLAIN: Final = ""


@dataclass(frozen=True)
class Cell:
    """A text with its tone."""

    text: str
    tone: str = PLAIN


@dataclass(frozen=True)
class Table:
    """Rows of cells.

    Attributes:
        columns: The names of the columns; one that starts with ">" is right-aligned.
        rows: The rows, with one cell for each column.
        title: The title of the table.
    """

    columns: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    title: str = ""


@dataclass(frozen=True)
class Mark:
    """One line of a chart.

    Attributes:
        label: The label of the line.
        text: The value as text.
        tone: The tone of the value.
        points: The positions of single measurements; 1 is the chart's line.
        value: The position of the value, or None if there is none.
        low: The lower end of its interval.
        high: The upper end of its interval.
        bar: Whether the value is drawn as a bar from zero.
    """

    label: str
    text: str
    tone: str = PLAIN
    points: tuple[float, ...] = ()
    value: float | None = None
    low: float | None = None
    high: float | None = None
    bar: bool = False


@dataclass(frozen=True)
class Chart:
    """Lines on one scale, with a line at 1.

    Attributes:
        title: The title, which names the scale.
        line: The label of the line at 1.
        marks: The lines from top to bottom.
    """

    title: str
    line: str
    marks: tuple[Mark, ...]


@dataclass(frozen=True)
class Document:
    """A report for people; `advice` is what to do next, in one line."""

    title: str
    summary: Cell
    tables: tuple[Table, ...] = ()
    charts: tuple[Chart, ...] = ()
    facts: tuple[tuple[str, str], ...] = ()
    notes: tuple[str, ...] = field(default=())
    advice: str = ""


def figure(value: float) -> str:
    """Format a number with three or four significant digits."""
    size = abs(value)
    if value == int(value) and size < 1e15:  # noqa: PLR2004  # beyond that floats are no integers any more
        return f"{int(value):,}"
    if size >= 1000:  # noqa: PLR2004  # thousands need no decimals
        return f"{value:,.0f}"
    if size < 0.001:  # noqa: PLR2004  # decimals would show nothing of it
        return f"{value:.2g}"
    decimals = 1 if size >= 100 else 2 if size >= 10 else 3 if size >= 1 else 4  # noqa: PLR2004  # four digits in all
    return f"{value:.{decimals}f}"
