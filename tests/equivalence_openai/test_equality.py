"""The same calls under the stock instrumentation and under ours: spans, metrics and events are equal."""

from __future__ import annotations

from pathlib import Path

import pytest
from both import run
from genaicheck.differences import DIFFERENCES, expected
from genaicheck.steps import STEPS
from telemetry import Kept, ours, stock

pytest.importorskip("opentelemetry.instrumentation.genai.openai", reason="stock's needs OpenTelemetry 1.43")
MODES = {
    "no_content": {},
    "span_only": {"OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT": "span_only"},
    "event_only": {
        "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT": "event_only",
        "OTEL_INSTRUMENTATION_GENAI_EMIT_EVENT": "true",
    },
    "span_and_event": {"OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT": "span_and_event"},
    "events": {"OTEL_INSTRUMENTATION_GENAI_EMIT_EVENT": "true"},
}


# How content is captured is the same for both clients; what they emit is compared without and with all of it.
CASES = [(mode, "sync") for mode in MODES] + [("no_content", "async"), ("span_and_event", "async")]


def emitted(instrumented, kind, settings, **options):
    """What each step emits, and how it ends for the caller."""
    found = {}

    async def all_steps(client):
        for name, step in STEPS.items():
            try:
                outcome = type(await step(client)).__name__
            except Exception as error:  # it is what is compared
                outcome = repr(error)
            found[name] = {"outcome": outcome, **kept.seen()}

    kept = Kept()
    with instrumented(kept, **options):
        run(kind, all_steps, **settings)
    kept.shut_down()
    return found


def unlike(wanted, found, path=""):
    """Where two values differ."""
    if wanted == found:
        return
    if isinstance(wanted, dict) and isinstance(found, dict):
        for key in sorted(wanted.keys() | found.keys()):
            if key in wanted and key in found:
                yield from unlike(wanted[key], found[key], f"{path}/{key}")
            else:
                yield f"{path}/{key}: {'missing' if key in wanted else f'too much: {found[key]!r}'}"
    elif isinstance(wanted, list) and isinstance(found, list) and len(wanted) == len(found):
        for number, (before, after) in enumerate(zip(wanted, found, strict=True)):
            yield from unlike(before, after, f"{path}/{number}")
    else:
        yield f"{path}: {found!r} instead of {wanted!r}"


@pytest.mark.proves(
    "openai.request",
    "openai.request.async",
    "openai.stream",
    "openai.stream.async",
    "openai.stream.exit*",
    "openai.stream.raw.exit*",
    "openai.stream.chat.*",
    "openai.stream.responses.*",
)
@pytest.mark.parametrize(("mode", "kind"), CASES)
@pytest.mark.filterwarnings("ignore:coroutine 'AsyncAPIResponse.parse' was never awaited:RuntimeWarning")
@pytest.mark.usefixtures("no_faults")
def test_ours_emits_what_stock_emits(kind, mode, settings, environ):
    """Taken over from it, ours emits the same for every step, but for the deliberate differences."""
    for name, value in MODES[mode].items():
        environ.setenv(name, value)
    stock_one = emitted(stock, kind, settings)
    our_own = emitted(ours, kind, settings, taken_over=True)
    wrong = [f"{name}: {line}" for name in STEPS for line in unlike(expected(name, mode, stock_one), our_own[name])]
    assert wrong == [], "\n".join(wrong)
    assert pointless(kind, mode, stock_one) == []


def pointless(kind, mode, every):
    """The differences that no step shows any more."""
    found = []
    for difference in DIFFERENCES:
        steps = [name for name in STEPS if difference.shows(name, mode)]
        # Only the asynchronous half of stock's forgets to await what was parsed.
        is_half = difference.like == "chat" and kind == "sync"
        if steps and not is_half and all(difference.apply(every[name], every, mode) == every[name] for name in steps):
            found.append(difference)
    return found


@pytest.mark.usefixtures("environ")
def test_by_itself_ours_emits_the_same(settings):
    """Without stock's ours emits what it emits in its place."""
    alone, taken_over = (emitted(ours, "sync", settings, taken_over=is_rival) for is_rival in (False, True))
    scopes = {each["scope"][0] for seen in alone.values() for each in (*seen["spans"], *seen["metrics"])}
    assert {name.partition(".")[0] for name in scopes} == {"otel_fastpath"}
    assert unscoped(alone) == unscoped(taken_over)


def unscoped(every):
    """What was emitted, whoever emitted it."""
    for seen in every.values():
        for each in (*seen["spans"], *seen["metrics"], *seen["events"]):
            del each["scope"]
        seen["metrics"].sort(key=repr)
    return every


def test_the_page_has_every_difference():
    """Each reason is a line of the list."""
    page = Path(__file__).parents[2] / "docs" / "differences.md"
    text = " ".join(page.read_text(encoding="utf-8").split())
    assert [each.reason for each in DIFFERENCES if each.reason not in text] == []
