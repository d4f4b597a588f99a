"""A profile as one self-contained HTML page: the tables of the report, and a flame graph to click and search."""

from __future__ import annotations

import base64
import hashlib
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from otel_fastpath.tools.common.render import page
from otel_fastpath.tools.profile.attribution import modules

if TYPE_CHECKING:
    from otel_fastpath.tools.common.render.document import Document
    from otel_fastpath.tools.profile.report import Node

_SECTION: Final = """\
<section id="flame-section"><h2>Flame graph</h2>
<p>Telemetry is coloured, the rest is grey. The width of a function is its CPU time. Click one to see it alone; click
one above it, or press Escape, to go back.</p>
<p><label>Search: <input id="search" type="search" autocomplete="off"></label>
<button id="reset" type="button">Show all</button>
<output id="matched" for="search"></output></p>
<div id="flame" role="group" aria-label="Flame graph"></div><p id="detail" role="status"></p></section>"""


def render(document: Document, flame: Node) -> str:
    """The page.

    Args:
        document: The report for people.
        flame: The root of the flame graph.
    """
    folder = Path(__file__).parent
    script = folder.joinpath("flame.js").read_text(encoding="utf-8")
    data = json.dumps(_packed(flame), separators=(",", ":")).replace("<", "\\u003c")
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    more = (
        f"<style>{folder.joinpath('flame.css').read_text(encoding='utf-8')}</style>{_SECTION}"
        f'<script type="application/json" id="data">{data}</script><script>{script}</script>'
    )
    return page.render(document, more, f"'sha256-{digest}'")


def _packed(node: Node) -> list[Any]:
    """A node as [name, seconds, 1 if it is telemetry, children]."""
    return [
        node.name,
        round(node.value, 6),
        int(node.kind == modules.TELEMETRY),
        [_packed(child) for child in node.children],
    ]
