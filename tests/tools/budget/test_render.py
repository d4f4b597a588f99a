"""What people see: the same facts on a terminal, as Markdown, as SVG and as a page that needs nothing else."""

from __future__ import annotations

import html
import re
import shutil
import subprocess
import xml.etree.ElementTree as ET
from html.parser import HTMLParser

import pytest

from otel_fastpath.tools.budget.results import BudgetReport, Result, Verdict
from otel_fastpath.tools.common.render import chart, check_report, markdown, page, terminal
from otel_fastpath.tools.common.render.document import figure

CHROMIUM = next(filter(shutil.which, ("chromium", "chromium-browser", "google-chrome")), None)
NASTY = '<b>"&|`*_\n</svg>'


def made():
    """A report with every verdict and every kind of value."""
    results = [
        Result("span", "calls", "<= 3", Verdict.PASS, "per call", 2.0, 3.0),
        Result("span", "bytecodes", "+2%", Verdict.FAIL, "per call", 1662.0, 1020.0, calibrated=1000.0),
        Result("span", "instructions", "+2%", Verdict.NOT_MEASURED, "per call", reason="valgrind is not installed"),
        Result("span", "overhead", "1 ref", Verdict.INCONCLUSIVE, "ref", 0.98, 1.0, 0.9, 1.1, 0.9375,
               estimates=[0.9, 0.98, 1.1]),
        Result("span", "overhead (bare)", "12% of bare", Verdict.PASS, "x bare", 0.1, 0.12, 0.09, 0.11, 0.9375),
        Result("span", "overhead (us)", "6 us", Verdict.INFORMATION, "us", 4.5, 6.0, 4.4, 4.6, 0.9375),
        Result("span", "regression", "5%", Verdict.FAIL, "x base", 4.25, 1.05, 4.2, 4.3, 0.75, 1.0, [4.2, 4.25, 4.3],
               details={"base_us": 10.0, "head_us": 42.5}),
        Result(NASTY, "calls", "<= 0", Verdict.FAIL, "per call", 1.0, 0.0, reason=NASTY),
    ]  # fmt: skip
    return BudgetReport(
        "check", "budgets.toml", results, {"python": "3.13.0", "distributions": {"wrapt": "2"}}, seconds=12.3
    )


class Page(HTMLParser):
    """What a page consists of."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.loads, self.texts = [], [], []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        """Tags, and attributes that make a browser load something."""
        self.tags.append(tag)
        self.loads += [value for name, value in attrs if name in {"src", "href", "srcset", "action", "data"}]

    def handle_data(self, data):
        """Texts."""
        self.texts.append(data)


def test_a_relative_limit_shows_what_it_is_relative_to():
    """An absolute one, and one that is relative to the base, do not."""
    limits = [row[2].text for row in check_report.document(made()).tables[0].rows]

    assert limits == ["<= 3", "+2% of 1,000", "+2%", "1 ref", "12% of bare", "6 us", "5%", "<= 0"]


@pytest.mark.parametrize(
    ("is_fast", "note"),
    [
        ({}, ""),
        ({"a": True, "b": True}, "otel-fastpath was active in every scenario."),
        (
            {"a": False, "b": False},
            "otel-fastpath was not active: the set-up of no scenario calls FastpathInstrumentor().instrument().",
        ),
        ({"a": True, "b": False}, "otel-fastpath was active in 1 of 2 scenarios, not in: b."),
        (
            {"z": True, **dict.fromkeys("abcdefg", False)},
            "otel-fastpath was active in 1 of 8 scenarios, not in: a, b, c, d, e and 2 more.",
        ),
    ],
)
def test_the_report_says_whether_otel_fastpath_was_active(is_fast, note):
    """A budget of stock OpenTelemetry is recognised as one."""
    told = made()
    told.is_fast = is_fast

    assert note in ("", *check_report.document(told).notes)
    assert ("otel-fastpath was" in terminal.render(check_report.document(told))) == bool(note)
    assert told.as_json()["is_fast"] == is_fast


@pytest.mark.parametrize(
    ("file", "options"), [("/a/pyproject.toml", ""), ("b.toml", " --file b.toml"), ("a b.toml", " --file 'a b.toml'")]
)
def test_a_failure_ends_with_the_command_that_explains_it(file, options):
    """Of the first scenario that failed; without a failure there is none."""
    told = made()
    told.file = file

    assert terminal.render(check_report.document(told)).splitlines()[-1] == (
        f"where the cost is: otel-fastpath budget explain{options} span"
    )
    assert f"budget explain{options} span" in html.unescape(page.render(check_report.document(told)))
    assert "budget explain" in markdown.render(check_report.document(told))
    told.results = [each for each in told.results if each.verdict is not Verdict.FAIL]
    assert "budget explain" not in terminal.render(check_report.document(told))


def test_every_output_has_every_verdict():
    """By its word: no colour and no sign has to be understood."""
    document = check_report.document(made())
    texts = [
        terminal.render(document),
        markdown.render(document),
        "".join(Page(page.render(document)).texts),
    ]

    for text in texts:
        for word in ("pass", "fail", "inconclusive", "not measured", "information", "valgrind is not installed"):
            assert word in text
        assert "3 fail, 1 inconclusive, 1 not measured, 2 pass, 1 information in 12 s" in text
        assert "+325.0%" in text
        assert "10.0% of bare" in text


def test_colours_are_for_terminals():
    """And for nothing else."""
    document = check_report.document(made())

    assert "\x1b" not in terminal.render(document)
    assert "\x1b[1;31mfail" in terminal.render(document, colour=True)


def test_a_markdown_table_keeps_its_columns():
    """Whatever is in a name."""
    rows = [line for line in markdown.render(check_report.document(made())).splitlines() if line.startswith("| ")]
    table = [re.sub(r"\\.", "", row).count("|") for row in rows if "instructions" in row or "svg" in row]

    assert len(set(table)) == 1
    assert "<b>" not in markdown.render(check_report.document(made()))


def test_the_chart_is_svg():
    """Well formed; every limit has a line with its value; what lies beyond the scale is an arrow."""
    text = chart.render(check_report.document(made()))

    root = ET.fromstring(text)  # noqa: S314  # made here
    names = [element.tag.rpartition("}")[2] for element in root.iter()]
    texts = [element.text for element in root.iter() if element.text]
    assert names.count("circle") == 6
    assert names.count("path") == 3
    assert "1,662: fail" in texts
    assert "not measured" in texts
    assert not [element for element in root.iter() if element.attrib.get("href")]


def test_the_page_needs_nothing_else():
    """No script, no style sheet, no font, no image of elsewhere: it can be an attachment."""
    text = page.render(check_report.document(made()))
    found = Page(text)

    assert found.loads == ["data:,"]
    assert not {"script", "iframe", "object", "img", "embed"} & set(found.tags)
    assert "@import" not in text
    assert not re.findall(r"url\((?!data:)", text)
    assert NASTY not in text


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.skipif(CHROMIUM is None, reason="no Chromium: apt-get install chromium")
def test_a_browser_shows_the_page(tmp_path, scheme):
    """Headless Chromium lays it out as meant, without an error, in both colour schemes."""
    file = tmp_path / "report.html"
    probe = (
        "<script>addEventListener('load', () => { const rows = document.querySelectorAll('tbody tr');"
        "const svg = document.querySelector('svg').getBoundingClientRect();"
        "const background = getComputedStyle(document.body).backgroundColor;"
        "document.body.dataset.seen = [rows.length, svg.width > 500, svg.height > 150, background,"
        "document.documentElement.scrollWidth <= innerWidth].join(' ') })</script></body>"
    )
    # The page itself forbids scripts: only this test's copy has one.
    text = page.render(check_report.document(made())).replace("default-src 'none';", "script-src 'unsafe-inline';")
    file.write_text(text.replace("</body>", probe), encoding="utf-8")
    dark = ["--force-dark-mode", "--blink-settings=preferredColorScheme=0"]
    run = subprocess.run(
        [
            CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={tmp_path / 'profile'}",
            "--window-size=1280,900", "--enable-logging=stderr", "--dump-dom",
            *(dark if scheme == "dark" else []), file.as_uri(),
        ],
        capture_output=True, text=True, check=True, timeout=300,
    )  # fmt: skip

    background = "rgb(255, 255, 255)" if scheme == "light" else "rgb(20, 24, 31)"
    assert f'data-seen="8 true true {background} true"' in run.stdout
    assert "CONSOLE" not in run.stderr


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0, "0"), (3.0, "3"), (1662.0, "1,662"), (0.03278, "0.0328"), (2.5932, "2.593"), (17.605, "17.61"),
        (201.53, "201.5"), (201534.4, "201,534"), (-1.5, "-1.500"), (0.000049, "4.9e-05"),
    ],
)  # fmt: skip
def test_figures_have_four_digits(value, text):
    """Enough to compare, few enough to read."""
    assert figure(value) == text
