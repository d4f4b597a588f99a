"""What a trial says: the figures, the comparison, and one next step."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

pytest.importorskip("opentelemetry.proto")

from otel_fastpath.tools.bench.turns import Turn
from otel_fastpath.tools.common.render import terminal
from otel_fastpath.tools.trial import command, report
from otel_fastpath.tools.verify.comparing import Comparison, Difference


def turn(microseconds, spans):
    """A measurement of 100 requests."""
    return Turn(50.0, microseconds, 0, {"traces": spans}, 100)


def result(*, bare=(1000.0,) * 5, stock=(2000.0,) * 5, fastpath=(1200.0,) * 5, **changed):
    """What a trial has found."""
    ways = {"bare": bare, "stock": stock, "fastpath": fastpath}
    hooks = [("ASGI", 0.02), ("SDK", 0.05), ("ASGI", 0.01), ("little", 0.001)]
    values = {
        "url": "http://127.0.0.1:8000/",
        "command": ("uvicorn", "app:app"),
        "turns": {way: [turn(each, 300 * (way != "bare")) for each in rounds] for way, rounds in ways.items()},
        "comparison": Comparison(counts={"span": 63, "metric": 1}),
        "why_not_compared": "",
        "profile": SimpleNamespace(
            hooks=[SimpleNamespace(library=name, share=share) for name, share in hooks], advice=["bind the instruments"]
        ),
        "is_instrumented": True,
        "is_added": False,
        "notes": ("refused: 192.0.2.1:443",),
        **changed,
    }
    return report.TrialResult(**values)


def test_the_figures_are_of_the_same_medians():
    """And the rows of the rest are shares of the CPU of a request."""
    text = terminal.render(report.document(result()))

    assert "now                 1,000 us of CPU a request, 50% of the total, for 3 spans\n" in text
    assert "with otel-fastpath  200 us of CPU a request\n" in text
    assert "what arrives        the same: 1 metric, 63 spans\n" in text
    rows = [line.split() for line in text.splitlines()]
    assert rows.index(["SDK", "60", "5.0%"]) < rows.index(["ASGI", "36", "3.0%"])
    assert "little" not in text
    assert "otel-fastpath takes away 80% of what telemetry costs (80% to 80% with 90% confidence)\n" in text
    assert "\nrefused: 192.0.2.1:443\n" in text
    assert report.machine(result())["rest"][0] == {"library": "SDK", "microseconds": 60.0, "share": 0.05}


def test_a_trial_that_took_longer_says_so():
    """A service that starts slowly has no fewer runs."""
    assert command._late(5.0, 9.0) == ()
    assert command._late(-20.0, 1.0) == ()
    (note,) = command._late(39.4, 8.6)
    assert note.startswith("this took 39 s more than --seconds, because the service takes 9 s to start and to end")


def test_what_the_text_does_not_say_is_not_in_the_json():
    """With a cost below that of no telemetry, which is noise."""
    found = result(fastpath=(900.0, 950.0, 990.0, 1000.0, 1010.0))

    assert "no saving can be distinguished from noise" in report.document(found).summary.text
    machine = report.machine(found)
    assert (machine["saved"], machine["interval"]) == (None, None)


DIFFERENT = Comparison(counts={"span": 63}, differences=[Difference("span", "s", "GET /", "status", "1", "2")])


@pytest.mark.parametrize(
    ("changed", "step"),
    [
        ({"comparison": DIFFERENT}, "see each difference: otel-fastpath verify --ready http://127.0.0.1:8000/ --load "),
        (
            {"is_instrumented": False},
            "start it by `opentelemetry-instrument uvicorn app:app`, which loads otel",
        ),
        ({"is_added": True}, "call otel_fastpath.FastpathInstrumentor().instrument() where the service sets Open"),
        ({}, "bind the instruments"),
        ({"profile": None}, "nothing: otel-fastpath is in use"),
    ],
)
def test_there_is_one_next_step(changed, step):
    """The most urgent one."""
    assert report.document(result(**changed)).advice.startswith(f"next: {step}")


@pytest.mark.parametrize(
    ("changed", "texts"),
    [
        ({"comparison": DIFFERENT}, ["what arrives        differs: span GET /: status: 1 -> 2"]),
        ({"comparison": None, "why_not_compared": "it is not installed"}, ["not compared: it is not installed"]),
        (
            {"stock": (900.0, 1100.0) * 3, "bare": (1000.0,) * 6, "fastpath": (1000.0,) * 6},
            ["now                 cannot be distinguished from noise", "no saving can be distinguished from noise"],
        ),
        ({"fastpath": (990.0,) * 5}, ["with otel-fastpath  cannot be distinguished from noise", "for 3 spans"]),
        (
            {"bare": (1000.0,) * 2, "stock": (2000.0,) * 2, "fastpath": (1200.0,) * 2},
            ["takes away 80% of what telemetry costs (too few rounds to say how sure that is"],
        ),
    ],
)
def test_what_is_not_known_is_said(changed, texts):
    """And no figure is given for it."""
    text = terminal.render(report.document(result(**changed)))

    assert all(each in text for each in texts), text
