"""What otel-fastpath saves, and what to do, from the same samples: no more than there is, not what is done already."""

from __future__ import annotations

import pytest

from otel_fastpath.tools.profile import analysis
from otel_fastpath.tools.profile.attribution import package_parts
from otel_fastpath.tools.profile.attribution.owners import Frame
from otel_fastpath.tools.profile.profile_file import Recording

STOCK = {
    "spans": "opentelemetry.sdk.trace",
    "metrics": "opentelemetry.sdk.metrics",
    "HTTP servers and clients": "opentelemetry.instrumentation.asgi",
    "databases": "opentelemetry.instrumentation.asyncpg",
}
OURS = {
    "spans": "otel_fastpath.trace.spans.span",
    "metrics": "otel_fastpath.metrics.instruments.recording",
    "HTTP servers and clients": "otel_fastpath.http.asgi.serving",
    "databases": "otel_fastpath.db.asyncpg.hooks",
}
PATCHES = [(f"{name}.made_up", "made:up", "applied") for name in ("span", "metrics", "asgi", "asyncpg", "versions")]


def report(seconds, patches=(), core="", name="function"):
    """The report of a process with so many seconds in these modules, each called by the application."""
    shop = Frame("shop", "serve", "/nowhere.py", 1, 2)
    frames = [shop, *(Frame(module, name, "/nowhere.py", 1, 2) for module in seconds)]
    stacks = [([0] if at == 0 else [0, at], value) for at, value in enumerate((1.0, *seconds.values()))]
    made = Recording(1, "3.13", 10, 2, 0, 0, 0, 300, 0, frames, [stacks], [], {}, list(patches), core)
    return analysis.report([made])


@pytest.mark.parametrize("core", ["c", "py"])
def test_on_and_off_say_the_same(core):
    """A service without otel-fastpath would save what the same service with it has saved."""
    left = package_parts.PARTS[-1].left(core)
    off = report(dict.fromkeys(STOCK.values(), 0.25))
    on = report(dict.fromkeys(OURS.values(), 0.25 * left), PATCHES, core)

    assert {each.part for each in off.savings} == {each.part for each in on.savings} == set(STOCK)
    assert not any(each.is_on for each in off.savings)
    assert all(each.is_on for each in on.savings)
    for each in on.savings:
        assert each.saving == pytest.approx(0.25 * (1 - left) / 2)
    if core == "c":
        assert [each.saving for each in off.savings] == pytest.approx([each.saving for each in on.savings])


@pytest.mark.parametrize("seconds", [0.001, 1.0, 1000.0])
def test_no_more_is_saved_than_there_is(seconds):
    """Whatever share telemetry takes."""
    off = report(dict.fromkeys(STOCK.values(), seconds))
    on = report(dict.fromkeys(OURS.values(), seconds), PATCHES, "c")

    assert all(each.saving <= each.share for each in off.savings)
    assert sum(each.saving for each in on.savings) < 1


@pytest.mark.parametrize(("number", "high"), [(1, 1.0), (60, 0.05), (300, 0.01)])
def test_what_no_sample_shows_may_be_there(number, high):
    """The interval of nothing is not of width zero: few samples say less."""
    made = Recording(1, "3.13", 1, 1, 0, 0, 0, number, 0, [Frame("shop", "f", "/x.py", 1, 2)], [[([0], 1.0)]], [], {})
    share = analysis.report([made]).share

    assert (share.total, share.low) == (0.0, 0.0)
    assert high <= share.high <= 1.6 * high


def test_what_is_left_is_measured():
    """Between nothing and all, the compiled core's less than the pure one's."""
    for part in package_parts.PARTS:
        assert 0 < part.left("c") <= part.left("py") < 1


def test_advice_asks_the_patches():
    """What is on in the process is not advised."""
    looking_up = {"importlib.metadata": 0.5}
    hook = {"opentelemetry.instrumentation.openai": 0.5}

    def advice(patches):
        frames = [Frame(module, "version", "/nowhere.py", 1, 2) for module in ("shop", *hook, *looking_up)]
        stacks = [[([0, 1, 2], 1.0), ([0], 1.0)]]
        made = Recording(1, "3.13", 10, 2, 0, 0, 0, 300, 0, frames, stacks, [], {}, list(patches), "c")
        return "\n".join(analysis.report([made]).advice)

    assert "the patches `versions.*` store the result" in advice([])
    assert "of the CPU at most" in advice([])
    assert "versions" not in advice(PATCHES)
