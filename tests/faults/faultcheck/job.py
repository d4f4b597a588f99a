"""What one process is to do."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Job:
    """Some workloads with one core.

    Attributes:
        core: "py" or "c".
        workloads: Their names in `workloads.WORKLOADS`; one with `:3/10` has its own part of its lines.
        root: The folder that holds the package.
        servers: The servers that there are -> their URLs or ports.
        part: The first line that is done.
        parts: Every so many-th line is.
        lines: Only places that contain one of these; empty: all.
        limit_s: For a child, the most.
        output: The folder for what was found: a file for each workload, a line of JSON for each fault.
        processes: So many workloads at a time.
    """

    core: str
    workloads: list[str]
    root: str
    servers: dict[str, str]
    part: int
    parts: int
    lines: list[str]
    limit_s: float
    output: str
    processes: int


def part_of(text: str) -> tuple[int, int]:
    """The first line and the step of 3/10.

    Raises:
        ValueError: It is something else.
    """
    first, step = map(int, text.split("/"))
    if not 0 <= first < step:
        raise ValueError(text)
    return first, step
