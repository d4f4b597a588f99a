"""The page of a profile: complete by itself, safe with any name; in a browser to click, search and go back."""

from __future__ import annotations

import base64
import hashlib
import json
import re
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

import browser as chromium

from otel_fastpath.tools.profile import analysis, flame_page, outputs
from otel_fastpath.tools.profile.attribution import samples
from otel_fastpath.tools.profile.attribution.owners import Frame
from otel_fastpath.tools.profile.profile_file import Recording
from otel_fastpath.tools.profile.report import Hook, Saving, Share

NASTY = '</script><b>"&'
FRAMES = [
    Frame("shop", "main", "/shop.py", 1, 1),
    Frame("shop", NASTY, "/shop.py", 5, 6),
    Frame("opentelemetry.instrumentation.openai", "Hook.call", "/hook.py", 1, 2),
    Frame("importlib.metadata", "version", "/metadata.py", 1, 2),
    Frame("importlib.metadata", "Distribution.read", "/metadata.py", 9, 9),
]


def made():
    """A report: 6 s of 10 are telemetry's, 5 of them in a function of the standard library."""
    stacks = [([0], 1.0), ([0, 1], 3.0), ([0, 1, 2], 1.0), ([0, 1, 2, 3], 2.0), ([0, 1, 2, 3, 4], 3.0)]
    recording = Recording(1, "3.13.0", 10.0, 10.0, 0.1, 0.1, 0.0, 900, 100, FRAMES, [stacks], [], {})
    recording.calls = {"opentelemetry.instrumentation.openai.Hook.call": 50.0}
    return analysis.report([recording]), samples.samples([recording])


@pytest.fixture
def page(tmp_path):
    """The page's file."""
    report, _ = made()
    path = tmp_path / "profile.html"
    path.write_text(flame_page.render(outputs.document(report), report.flame), encoding="utf-8")
    return path


def test_the_report_says_what_the_samples_do():
    """Shares, the hook, what it calls, and the sentence."""
    report, _ = made()
    (hook,) = report.hooks

    assert report.share.direct == pytest.approx(0.6)
    assert report.share.indirect == pytest.approx(analysis.INDIRECT * 0.6 * 0.4)
    assert (hook.library, hook.most) == ("OpenAI instrumentation", "importlib.metadata.version")
    assert (hook.share, hook.most_share) == (pytest.approx(0.6), pytest.approx(0.5))
    assert hook.us == pytest.approx(6 / 10 / 50 * 1e6)
    assert report.headline.endswith(
        "and 60% is the OpenAI instrumentation, most of it in importlib.metadata.version; otel-fastpath would save 50%."
    )
    assert report.savings[0].part == "version look-ups"
    assert any("versions.*" in line for line in report.advice)


@pytest.mark.parametrize(
    ("library", "most", "saving", "expected"),
    [
        ("otel-fastpath: asyncpg", "", 0.0, ", and 3.0% is otel-fastpath's code for asyncpg."),
        ("SDK: spans", "json.dumps", 0.012, ", and 3.0% is SDK: spans; otel-fastpath would save 1.2%."),
        ("ASGI instrumentation", "", 0.009, ", and 3.0% is the ASGI instrumentation."),
    ],
)
def test_the_sentence_names_the_library_and_what_to_do(library, most, saving, expected):
    """Not a function of this package's, nor one that takes less than half, nor what would save next to nothing."""
    share = Share(0.05, 0.04, 0.06, 0.04, 0.01)
    hooks = [
        Hook(library, "make_acquire.acquire", "hooks", 0.02, None, None, most, 0.01),
        Hook(library, "execute", "hooks", 0.01, None, None, "", 0.01),
        Hook("another", "other", "hooks", 0.01, None, None, "time.sleep", 0.01),
    ]
    savings = [Saving("spans", is_on=False, share=0.03, saving=saving), Saving("on", is_on=True, share=0.1, saving=0.5)]

    assert analysis._headline(share, hooks, savings) == f"Telemetry takes 5.0% of the CPU (4.0% to 6.0%){expected}"


def test_the_page_needs_nothing_else_and_runs_its_own_script_only(page):
    """No address is loaded, and the policy has the digest of the script that is there."""
    text = page.read_text()
    script = re.search(r"<script>(.*?)</script>", text, re.DOTALL).group(1)
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    policy = re.search(r'http-equiv="Content-Security-Policy" content="([^"]*)"', text).group(1)

    assert policy.startswith("default-src 'none'")
    assert f"script-src 'sha256-{digest}'" in policy
    assert not re.search(r"(?:src|href)=\"(?!data:)", text)


def test_names_cannot_leave_the_data(page):
    """A function may be called anything."""
    text = page.read_text()
    data = re.search(r'<script type="application/json" id="data">(.*?)</script>', text, re.DOTALL).group(1)
    name, seconds, telemetry, children = json.loads(data)
    main = children[0][3][0]

    assert (name, seconds, telemetry) == ("all", 10.0, 0)
    assert main[3][0][0] == f"shop.{NASTY}"
    assert "<b>" not in data
    assert main[3][0][3][0][2] == 1


@pytest.mark.skipif(chromium.CHROMIUM is None, reason="no Chromium: apt-get install chromium")
def test_it_is_clicked_searched_and_left_again(page, tmp_path):
    """With the mouse and the keyboard of a real browser."""
    bars = "[...document.querySelectorAll('#flame button')]"
    hook = f"{bars}.find(b => b.textContent.includes('Hook.call'))"
    with chromium.browser(tmp_path / "browser") as tab:
        tab.open(page.as_uri())
        count = tab.ask(f"{bars}.length")
        width = tab.ask(f"({hook}).style.width")
        colours = tab.ask(f"{bars}.map(b => getComputedStyle(b).backgroundColor)")
        kinds = tab.ask(f"{bars}.map(b => b.className)")
        tab.click(hook)
        zoomed = tab.ask(f"({hook}).style.width")
        detail = tab.ask("document.getElementById('detail').textContent")
        tab.click("document.getElementById('search')")
        tab.write("METADATA")
        found = tab.ask("document.getElementById('matched').textContent")
        marked = tab.ask(f"{bars}.filter(b => b.className.includes('match')).length")
        tab.press("Escape")
        outer = tab.ask(f"{bars}.filter(b => b.className.includes('outer')).length")
        tab.click("document.getElementById('reset')")
        after = tab.ask(f"{bars}.length")

    assert (count, after) == (7, 7)
    assert (width, zoomed) == ("60%", "100%")
    assert len({colour for colour, kind in zip(colours, kinds, strict=True) if kind == "telemetry"}) == 1
    assert set(colours) == {"rgb(240, 138, 75)", "rgb(198, 204, 212)"}
    assert "60.0 % of the CPU" in detail
    assert detail.endswith("telemetry")
    assert found == "50.0 % of the CPU is in what was found"
    assert marked == 2
    assert outer == 3
    assert tab.errors == []
