"""The picture of the guard."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET

from examples.demo.chart import WIDTH
from examples.guard.picture import draw

SVG = "{http://www.w3.org/2000/svg}"


def test_a_graph_for_each_series():
    """With a scale of its own; what was reported after the load ended is not drawn, and steps last until then."""
    found = {
        "share": [(0.5, 0.1), (15.0, 0.4), (35.0, 0.9)],
        "probability": [(0.5, 1.0), (12.0, 0.5)],
        "level": [(0.5, 0.0), (12.0, 2.0)],
    }

    root = ET.fromstring(draw(found, 0.2, [(10, 60), (10, 300), (10, 60)]))  # noqa: S314  # of this package

    limit, share, kept, level = (
        [tuple(map(float, point.split(","))) for point in line.get("points").split()]
        for line in root.iter(f"{SVG}polyline")
    )
    assert len({y for _, y in limit}) == 1
    assert len(share) == 2
    assert share[1][1] < limit[0][1] < share[0][1]
    assert kept[-1][0] == level[-1][0] == limit[-1][0] < WIDTH
    texts = [text.text for text in root.iter(f"{SVG}text")]
    assert texts.count("300/s") == 1
    assert {"20%", "100%", "2", "the limit, 20%"} <= set(texts)


def test_it_follows_the_scheme():
    """Each colour has a value for both."""
    found = {"share": [(0.0, 0.1)], "probability": [(0.0, 1.0)], "level": [(0.0, 0.0)]}
    light, _, dark = draw(found, 0.2, [(10, 60)]).partition("prefers-color-scheme:dark")

    assert re.findall(r"(--\w+):#", light) == re.findall(r"(--\w+):#", dark)
