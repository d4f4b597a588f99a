"""The stacks of a profile: as a tree for the flame graph, as collapsed stacks, and as a file for speedscope."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

from otel_fastpath.tools.profile.attribution import modules
from otel_fastpath.tools.profile.report import Node

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from otel_fastpath.tools.profile.attribution.samples import Sample

_SCHEMA: Final = "https://www.speedscope.app/file-format-schema.json"
# What is narrower than this in the flame graph cannot be seen.
_NARROWEST: Final = 0.0003


class _Growing:
    __slots__ = ("children", "seconds")

    def __init__(self) -> None:
        self.seconds = 0.0
        self.children: dict[tuple[str, str], _Growing] = {}


def _frames(sample: Sample) -> Iterator[tuple[str, str]]:
    """The names of the frames and who they belong to, the outermost one first."""
    yield sample.thread or "MainThread", modules.APPLICATION
    begin = sample.owner.begin
    for index, frame in enumerate(sample.stack):
        own = modules.kind(frame.module) == modules.TELEMETRY
        is_telemetry = own or 0 <= begin <= index
        yield frame.function, modules.TELEMETRY if is_telemetry else modules.APPLICATION


def flame(found: Sequence[Sample]) -> Node:
    """The tree of all stacks."""
    root = _Growing()
    for sample in found:
        root.seconds += sample.seconds
        node = root
        for name in _frames(sample):
            node = node.children.setdefault(name, _Growing())
            node.seconds += sample.seconds
    return _node("all", modules.APPLICATION, root, root.seconds * _NARROWEST)


def _node(name: str, kind: str, growing: _Growing, least: float) -> Node:
    children = sorted(growing.children.items(), key=lambda item: -item[1].seconds)
    made = tuple(_node(*key, child, least) for key, child in children if child.seconds >= least)
    return Node(name, kind, growing.seconds, made)


def collapsed(found: Sequence[Sample]) -> str:
    """One line for each stack, "outer;inner microseconds", as flamegraph.pl and others read it."""
    sums: dict[str, float] = {}
    for sample in found:
        line = ";".join(name.replace(";", ":") for name, _ in _frames(sample))
        sums[line] = sums.get(line, 0.0) + sample.seconds
    return "".join(f"{line} {seconds * 1e6:.0f}\n" for line, seconds in sorted(sums.items()))


def speedscope(found: Sequence[Sample], name: str) -> str:
    """A profile for speedscope.

    Args:
        found: The samples.
        name: The title.
    """
    frames: dict[str, int] = {}
    stacks = [[frames.setdefault(function, len(frames)) for function, _ in _frames(sample)] for sample in found]
    document: dict[str, Any] = {
        "$schema": _SCHEMA,
        "exporter": "otel-fastpath",
        "name": name,
        "activeProfileIndex": 0,
        "shared": {"frames": [{"name": function} for function in frames]},
        "profiles": [
            {
                "type": "sampled",
                "name": name,
                "unit": "seconds",
                "startValue": 0,
                "endValue": sum(sample.seconds for sample in found),
                "samples": stacks,
                "weights": [sample.seconds for sample in found],
            }
        ],
    }
    return json.dumps(document) + "\n"
