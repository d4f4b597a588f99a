"""`make docs` builds the site from the pages: each has a place in it, and it needs nothing from other hosts."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("material", reason="the site is built with Python 3.11 and newer")
pytestmark = pytest.mark.source
ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
# What a browser loads with a page.
LOADED = re.compile(
    r"<(?:script|img|iframe)\b[^>]*\bsrc=\"(https?:[^\"]+)|<link\b(?![^>]*canonical)[^>]*\bhref=\"(https?:[^\"]+)"
)

sys.path.insert(0, str(DOCS))
import site_hooks  # noqa: E402  # found only from here on


def test_every_page_has_a_place():
    """In the navigation, once."""
    text = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    places = re.findall(r"^ +- (?:[^:\n]+: )?([\w-]+\.md)$", text.partition("\nnav:\n")[2], re.MULTILINE)

    assert sorted(places) == sorted(path.name for path in DOCS.glob("*.md"))


def test_the_links_of_the_repository_become_those_of_the_site():
    """Of the README, and of pages to files beside them, which have an address only if the repository has one."""
    repository = "https://git.example/shop"
    readme = "[a](docs/a.md#b) [c](CHANGELOG.md) [d](https://d.example) [e](#e)"

    assert site_hooks.inside(readme) == "[a](a.md#b) [c](../CHANGELOG.md) [d](https://d.example) [e](#e)"
    assert site_hooks.titled("[limits.md](limits.md) [here](limits.md)") == "[Limits](limits.md) [here](limits.md)"
    assert site_hooks.titled("[a.md](limits.md#b)") == "[Limits](limits.md#b)"
    text = "[a](../examples/a.py) [b](b.md)"
    assert site_hooks.outside(text, repository) == f"[a]({repository}/blob/main/examples/a.py) [b](b.md)"
    assert site_hooks.outside(text, "") == "a [b](b.md)"


@pytest.mark.slow
def test_the_site_is_built(tmp_path):
    """Without a warning, such as a broken link or a name without a description; the API has its public names."""
    command = [sys.executable, "-m", "mkdocs", "build", "--quiet", "--strict", "--site-dir", str(tmp_path)]
    result = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)

    assert result.returncode == 0, result.stderr
    pages = {path.name: path.read_text(encoding="utf-8") for path in tmp_path.glob("*.html")}
    assert {path.stem for path in DOCS.glob("*.md")} <= {name.removesuffix(".html") for name in pages}
    assert {name: found for name, text in pages.items() if (found := LOADED.findall(text))} == {}
    for path in tmp_path.rglob("*.css"):
        assert "url(http" not in path.read_text(encoding="utf-8").replace('"', "")
    for name in ("FastpathInstrumentor", "bind", "lazy.lazy", "status.collect", "exceptions.start", "budget.read"):
        assert f'id="otel_fastpath.{name}"' in pages["api.html"]
    assert "All pages" in pages["index.html"]
    assert "What will I gain?" in pages["index.html"]
