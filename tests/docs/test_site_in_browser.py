"""The site in a browser: each page fits on a phone, a tablet and a desktop, and can be read in both schemes."""

from __future__ import annotations

import functools
import http.server
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

pytest.importorskip("material", reason="the site is built with Python 3.11 and newer")
axe_core_python = pytest.importorskip("axe_core_python")
ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "tests" / "tools" / "profile"))

import browser as chromium  # noqa: E402  # found only from here on

pytestmark = [
    pytest.mark.slow,
    pytest.mark.source,
    pytest.mark.timeout(900),
    pytest.mark.skipif(chromium.CHROMIUM is None, reason="no Chromium: apt-get install chromium"),
]
PAGES = sorted(path.stem for path in (ROOT / "docs").glob("*.md"))
AXE = (Path(axe_core_python.__file__).parent / "axe.min.js").read_text(encoding="utf-8")
# What is wider than the window, unless something around it scrolls; and what was not loaded.
MISFITS = """(() => {
  const wide = document.documentElement.clientWidth;
  const scrolls = element => element &&
    (["auto", "scroll"].includes(getComputedStyle(element).overflowX) || scrolls(element.parentElement));
  const inner = [...document.querySelectorAll("main *, section *, footer *")].filter(element =>
    element.getBoundingClientRect().right > wide + 1 && element.checkVisibility() && !scrolls(element.parentElement));
  const images = [...document.images].filter(image => !image.complete || !image.naturalWidth);
  return [
    ...(document.documentElement.scrollWidth > wide ? ["the page scrolls sideways"] : []),
    ...[...inner, ...images].map(element => element.outerHTML.slice(0, 120)),
  ];
})()"""
# The rules of WCAG 2.1, levels A and AA. The theme lets the keyboard scroll code where there is a mouse: not here.
VIOLATIONS = """axe.run({
  runOnly: ["wcag2a", "wcag2aa", "wcag21aa"], rules: {"scrollable-region-focusable": {enabled: false}}
}).then(found => found.violations
  .flatMap(rule => rule.nodes.map(node => [rule.id, node.target.join(" "), node.failureSummary])))"""
# All that can be opened, without what moves.
READY = """document.querySelectorAll("details").forEach(each => { each.open = true; });
document.head.insertAdjacentHTML("beforeend", "<style>* { transition: none !important; }</style>")"""
SETTLED = 2.0
WIDTHS = (390, 768, 1280)
SCHEMES = {"light": "default", "dark": "slate"}


@pytest.fixture(scope="module")
def address(tmp_path_factory):
    """Where the site is served on loopback."""
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--quiet", "--strict", "--site-dir", str(folder)]
    subprocess.run(command, cwd=ROOT, check=True)

    class Quiet(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *_):
            """Log nothing."""

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=folder)) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


@pytest.fixture
def tab(tmp_path):
    """A page of a browser."""
    with chromium.browser(tmp_path / "browser") as page:
        yield page


def set_width(tab, width):
    """Of the window."""
    size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 500}
    tab.call("Emulation.setDeviceMetricsOverride", **size)


def misfits(tab, width):
    """What is wrong at this width, once the page has followed it."""
    set_width(tab, width)
    end = time.monotonic() + SETTLED
    while (found := tab.ask(MISFITS)) and time.monotonic() < end:
        time.sleep(0.05)
    return found


def violations(tab, scheme):
    """Of the page that is open, in this scheme, which it follows."""
    tab.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
    end = time.monotonic() + chromium.PATIENCE
    while tab.ask("document.body.getAttribute('data-md-color-scheme')") != SCHEMES[scheme]:
        assert time.monotonic() < end
        time.sleep(0.05)
    return tab.call("Runtime.evaluate", expression=VIOLATIONS, awaitPromise=True, returnByValue=True)["result"]["value"]


def test_every_page_fits_and_can_be_read(address, tab):
    """A table scrolls by itself, the page does not; each text has the contrast of WCAG AA, in both schemes."""
    wrong = {}
    for name in PAGES:
        tab.open(f"{address}/{name}.html")
        for width in WIDTHS:
            wrong[name, width] = misfits(tab, width)
        tab.ask(f"{AXE}; {READY}")
        for scheme in SCHEMES:
            wrong[name, scheme] = violations(tab, scheme)

    assert {where: found for where, found in wrong.items() if found} == {}
    assert tab.errors == []


def test_what_is_wrong_is_found(address, tab):
    """A text that is too wide, cut or pale, and an image that is not there; not what scrolls."""
    wide = "<p style='width:800px'>wide</p>"
    boxes = "".join(f"<div style='overflow:{each}'>{wide}</div>" for each in ("auto", "hidden"))
    pale = "<p style='color:#999;background:#fff'>pale</p>"
    tab.open(f"{address}/limits.html")
    tab.ask(f"""document.querySelector("article").innerHTML = "{wide}{boxes}{pale}<img alt src='no.png'>"; {AXE}""")

    assert [each for each in misfits(tab, 390) if "md-top" not in each] == [
        "the page scrolls sideways",
        '<p style="width:800px">wide</p>',
        '<p style="width:800px">wide</p>',
        '<img alt="" src="no.png">',
    ]
    assert [rule for rule, *_ in violations(tab, "light")] == ["color-contrast"]
