"""Where ours differs from the stock instrumentation 1.3b0, on purpose. docs/differences.md lists the reasons."""

from __future__ import annotations

from dataclasses import dataclass, field
from fnmatch import fnmatch
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

Seen = dict[str, Any]
# What stock's has a name for and never sets.
NEVER_SET = frozenset({"gen_ai.request.reasoning.level", "gen_ai.request.previous_response.id"})
CAPTURED = ("span_only", "event_only", "span_and_event")


@dataclass(frozen=True)
class Difference:
    """One deliberate difference.

    Attributes:
        reason: Why; docs/differences.md has it.
        steps: Those that show it; `*` matches.
        modes: The content modes in which it shows.
        like: Ours emits here what stock's emits in this step.
        added: Attributes of the span and event that ours has; a function is given what stock's emits
            in every step.
        removed: Attributes that ours does not have.
        metrics: Turns stock's data points into ours.
    """

    reason: str
    steps: tuple[str, ...]
    modes: tuple[str, ...] = ("*",)
    like: str = ""
    added: Mapping[str, Any] = field(default_factory=dict)
    removed: frozenset[str] = frozenset()
    metrics: Callable[[list[Seen]], list[Seen]] | None = None

    def shows(self, step: str, mode: str) -> bool:
        """Whether it shows in this step and mode."""
        return any(fnmatch(step, each) for each in self.steps) and any(fnmatch(mode, each) for each in self.modes)

    def apply(self, emitted: Seen, every: Mapping[str, Seen], mode: str) -> Seen:
        """What ours emits where stock's emits this."""
        if self.like:
            return {**every[self.like], "outcome": emitted["outcome"]}
        added = {name: value(every) if callable(value) else value for name, value in self.added.items()}
        changed = dict(emitted)
        for place in ("spans", "events"):
            held = {name: value for name, value in added.items() if name not in CONTENT or mode in SHOWN[place]}
            changed[place] = [
                {**each, "attributes": self._changed(each["attributes"], held)} for each in emitted[place]
            ]
        if self.metrics is not None:
            changed["metrics"] = sorted(self.metrics(emitted["metrics"]), key=repr)
        return changed

    def _changed(self, attributes: Seen, added: Seen) -> Seen:
        kept = {name: value for name, value in attributes.items() if name not in self.removed}
        return dict(sorted({**kept, **added}.items()))


CONTENT = {"gen_ai.output.messages"}
# Where content is, in which mode.
SHOWN = {"spans": ("span_only", "span_and_event"), "events": ("event_only", "span_and_event")}


def _identity(every: Mapping[str, Seen]) -> str:
    return str(every["responses stream"]["spans"][0]["attributes"]["gen_ai.response.id"])


def _said(text: str) -> list[Seen]:
    parts = [{"content": text, "type": "text"}]
    return [{"role": "assistant", "parts": parts, "finish_reason": "error", "name": None}]


def _all_chunks_alike(points: list[Seen]) -> list[Seen]:
    """The data point of the chunk that reports the failure, added to that of the others."""
    name = "gen_ai.client.operation.time_per_output_chunk"
    odd = [each for each in points if each["name"] == name and "error.type" in each["attributes"]]
    more = sum(each["count"] for each in odd)
    return [
        {**each, "count": each["count"] + more} if each["name"] == name else each for each in points if each not in odd
    ]


EARLY = "The content of a stream of responses is kept if the stream is left or fails before its end."
DIFFERENCES: tuple[Difference, ...] = (
    Difference(
        "The span has the reasoning effort that was requested.",
        ("chat, other arguments", "responses, many arguments"),
        added={"gen_ai.request.reasoning.level": "low"},
    ),
    Difference(
        "The span has the id of the response that is continued.",
        ("responses, previous",),
        added={"gen_ai.request.previous_response.id": "resp_0"},
    ),
    Difference(
        "A response read through `with_streaming_response` or `with_raw_response` has the same telemetry as any other.",
        ("responses streaming response",),
        like="responses",
    ),
    Difference(
        "A response read through `with_streaming_response` or `with_raw_response` has the same telemetry as any other.",
        ("embeddings raw",),
        like="embeddings",
    ),
    Difference(
        "A response read through `with_streaming_response` or `with_raw_response` has the same telemetry as any other.",
        ("chat streaming response",),
        like="chat",
    ),
    Difference(
        EARLY,
        (
            "responses stream, error",
            "responses stream, cut",
            "responses stream, left",
            "responses stream, closed",
            "responses stream, caller fails",
        ),
        added={"gen_ai.response.id": _identity},
    ),
    Difference(
        EARLY,
        ("responses stream, error", "responses stream, cut"),
        CAPTURED,
        added={"gen_ai.output.messages": _said("solid")},
    ),
    Difference(
        EARLY,
        ("responses stream, left",),
        CAPTURED,
        added={"gen_ai.output.messages": _said("solid wood")},
    ),
    Difference(
        "Finish reasons are the provider's: none is invented for a stream that ended early, whether content is "
        "captured or not.",
        (
            "chat stream, left",
            "chat stream, closed",
            "chat stream, error",
            "chat stream, cut",
            "chat stream, caller fails",
        ),
        CAPTURED,
        removed=frozenset({"gen_ai.response.finish_reasons"}),
    ),
    Difference(
        "The time of the chunk that reports a failure is in the same series as that of all other chunks.",
        ("responses stream, failed",),
        metrics=_all_chunks_alike,
    ),
)


def expected(step: str, mode: str, every: Mapping[str, Seen]) -> Seen:
    """What ours must emit in a step.

    Args:
        step: Its name.
        mode: How content is captured.
        every: Step -> what stock's emitted.
    """
    emitted = every[step]
    for difference in DIFFERENCES:
        if difference.shows(step, mode):
            emitted = difference.apply(emitted, every, mode)
    return emitted
