"""`otel-fastpath docs` prints the pages, and makes HTML of them whose links lead to each other."""

from __future__ import annotations

import html.parser
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import otel_fastpath
from otel_fastpath.tools.budget.outputs import UsageError
from otel_fastpath.tools.manual import packaged_pages, page_html

ROOT = Path(otel_fastpath.__file__).parents[1]
VOID = {"meta", "link", "br", "img"}


class Reader(html.parser.HTMLParser):
    """What is not closed, and the links and anchors of a page."""

    def __init__(self):
        super().__init__()
        self.open, self.wrong, self.links, self.anchors, self.text = [], [], [], set(), ""

    def handle_starttag(self, tag, attrs):
        """Keep it."""
        found = dict(attrs)
        if tag not in VOID:
            self.open.append(tag)
        if tag == "a":
            self.links.append(found["href"])
        if "id" in found:
            self.anchors.add(found["id"])

    def handle_endtag(self, tag):
        """It must be the last that was opened."""
        if not self.open or self.open.pop() != tag:
            self.wrong.append(tag)

    def handle_data(self, data):
        """Keep it."""
        self.text += data


def read(text):
    """A page."""
    reader = Reader()
    reader.feed(text)
    return reader


@pytest.fixture(scope="module")
def made():
    """Each page as HTML."""
    return {name: read(page_html.render(packaged_pages.text(name), "x 1")) for name in packaged_pages.paths()}


def docs(*arguments, **variables):
    """The finished command."""
    command = [sys.executable, "-m", "otel_fastpath", "docs", *arguments]
    environ = {**os.environ, **variables}
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=60, env=environ)


@pytest.mark.source
def test_every_page_is_listed():
    """With what its reader wants to do, as in the index, and the changelog."""
    done = docs()

    names = {path.stem for path in (ROOT / "docs").glob("*.md")} | {"changelog"}
    assert done.returncode == 0
    assert {line.split()[0] for line in done.stdout.splitlines() if line.startswith("  ")} == names
    assert re.search(
        r"^  gunicorn +use it under gunicorn, uWSGI or another server that forks$", done.stdout, re.MULTILINE
    )


@pytest.mark.parametrize(
    "given", ["settings", "settings.md", "docs/settings.md#turn-it-off", "Settings", "../settings.html"]
)
def test_a_page_is_found_by_its_name(given):
    """Also as links have it."""
    assert packaged_pages.find(given) == "settings"


@pytest.mark.parametrize(
    ("given", "near"), [("gunicron", "gunicorn"), ("set", "settings"), ("free_thread", "free-threaded"), ("qqqq", "")]
)
def test_a_page_that_is_not_there(given, near):
    """The error names the value, and pages with a similar name."""
    with pytest.raises(UsageError) as raised:
        packaged_pages.find(given)

    assert str(raised.value).startswith(f"docs {given}: expected the name of a page")
    assert near in str(raised.value)
    assert ("near it" in str(raised.value)) == bool(near)


@pytest.mark.source
def test_a_page_is_printed():
    """As it is in the repository, without the marks of what is generated."""
    done = docs("commands")

    assert done.stdout.startswith("# Commands\n")
    assert "<!--" not in done.stdout
    assert "| `try` | 3 | a cost cannot be distinguished from noise |" in done.stdout
    assert "    python -m pydoc otel_fastpath.bind\n" in docs("api").stdout


def test_the_html_is_whole(made):
    """Each tag is closed, each link leads to a page and a heading that are there."""
    assert {name for name, page in made.items() if page.open or page.wrong} == set()
    broken = []
    for name, page in made.items():
        for link in page.links:
            target, _, anchor = link.partition("#")
            if link.startswith(("https:", "http:")):
                continue
            other = made.get(target.removesuffix(".html")) if target else page
            if other is None or (anchor and anchor not in other.anchors):
                broken.append((name, link))
    assert broken == []


def test_the_html_has_all_of_the_text(made):
    """No mark of Markdown is left outside of code."""
    for name, page in made.items():
        assert "](" not in page.text, name
        assert len(page.text) > 0.5 * len(packaged_pages.text(name)), name


def test_markdown_becomes_html():
    """Of each kind that the pages use."""
    text = """# A `b`

One **two** `a|b*` and
[three](four.md#five) ![p](p.svg) [file](../x.py).

- one
  more
- two

  second block

1. first

```python
if a < b: ...
```

    indented < code

| a | b |
| --- | ---: |
| x \\| y | `z` |
"""
    made = page_html.blocks(text)

    cells = "<tr><td>x | y</td><td class=right><code>z</code></td></tr>"
    head = "<thead><tr><th>a</th><th class=right>b</th></tr></thead>"
    assert made.split("\n<", 1)[0] == '<h1 id="a-b">A <code>b</code></h1>'
    for part in (
        '<p>One <strong>two</strong> <code>a|b*</code> and <a href="four.html#five">three</a>  file.</p>',
        "<ul><li>one more</li><li><p>two</p>\n<p>second block</p></li></ul>\n<ol><li>first</li></ol>",
        "<pre><code>if a &lt; b: ...\n</code></pre>\n<pre><code>indented &lt; code\n</code></pre>",
        f'<div class="scroll"><table>{head}<tbody>{cells}</tbody></table></div>',
    ):
        assert part in made


@pytest.mark.skipif(sys.platform == "win32", reason="no BROWSER there")
def test_a_page_is_opened(tmp_path):
    """In the browser that the environment names; all pages are beside it, because it links to them."""
    done = docs("--open", "try", HOME=str(tmp_path), BROWSER="echo %s")

    assert done.returncode == 0, done.stderr
    address = done.stdout.splitlines()[-1]
    assert address.startswith("file://")
    assert address.endswith("/try.html")
    folder = Path(address.removeprefix("file://")).parent
    assert {path.stem for path in folder.glob("*.html")} == packaged_pages.paths().keys()


def test_no_browser_is_an_error(tmp_path):
    """One line, with the address."""
    (tmp_path / "home").mkdir()
    done = docs("--open", "try", HOME=str(tmp_path / "home"), BROWSER="/nothing/here", PATH=str(tmp_path), DISPLAY="")

    assert done.returncode == 2
    assert done.stderr.startswith("otel-fastpath: docs --open: there is no web browser here; the page is file://")


def test_the_outputs_of_a_page(tmp_path):
    """HTML and JSON, in files or on standard output."""
    page = tmp_path / "page.html"
    done = docs("settings", "--html", str(page), "--json", "-")

    assert json.loads(done.stdout)["title"] == "Settings"
    assert page.read_text(encoding="utf-8").startswith("<!DOCTYPE html>")
    assert {each["name"] for each in json.loads(docs("--json", "-").stdout)} == packaged_pages.paths().keys()
    done = docs("settings", "--html", str(tmp_path / "no" / "page.html"))
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
