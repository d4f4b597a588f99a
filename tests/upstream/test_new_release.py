"""What `make sources NAME=try` says of new releases."""

from __future__ import annotations

import json

import new_release
import new_sources
import pytest
from new_release import Outcome

FILE = "otel_fastpath/trace/sources.json"
FOUND = {FILE: {"module:Span.end": {"cccccccccccc": "1.46.0"}}}


@pytest.fixture
def tried(tmp_path, monkeypatch):
    """`tried(found, statuses)`: the exit status, if steps end so, and the files that are there."""
    report, accepted = tmp_path / "build/new-release.md", tmp_path / "build/accepted"
    monkeypatch.setattr(new_release, "REPORT", report)
    monkeypatch.setattr(new_release, "ACCEPTED", accepted)

    def run(found, statuses):
        report.parent.mkdir(exist_ok=True)
        report.write_text("old")
        given = dict(statuses)
        monkeypatch.setattr(
            new_release, "run", lambda title, *_command: Outcome(title, given.get(title, 0), f"{title} printed this")
        )
        monkeypatch.setattr(
            new_release, "steps", lambda changed: [Outcome("mutations", given.get("mutations", 0), " ".join(changed))]
        )
        monkeypatch.setattr(new_sources, "read", lambda: (found, given.get("sources", 0)))
        status = new_release.main()
        return status, *(file.read_text() if file.exists() else None for file in (report, accepted))

    return run


def test_sources_that_pass_are_accepted(tried):
    """The report has a row for each step, and the sources."""
    status, report, accepted = tried(FOUND, {})

    assert (status, json.loads(accepted)) == (0, ["module:Span.end"])
    assert report.startswith(
        "| step | result |\n| --- | --- |\n| otel-fastpath prove | passed |\n| mutations | passed |\n"
    )
    assert "| `module:Span.end` | `cccccccccccc` | 1.46.0 |" in report
    assert "printed this" not in report


@pytest.mark.parametrize(
    ("step", "printed"), [("otel-fastpath prove", "printed this"), ("mutations", "module:Span.end")]
)
def test_a_step_that_fails_is_shown(tried, step, printed):
    """With what it printed; nothing is accepted."""
    status, report, accepted = tried(FOUND, {step: 1})

    assert (status, accepted) == (0, None)
    assert f"| {step} | failed (1) |" in report
    assert printed in report.partition("```text")[2].partition("```")[0]


def test_nothing_is_new(tried):
    """There is no report, also not that of another day."""
    assert tried({FILE: {}}, {}) == (0, None, None)


@pytest.mark.parametrize("step", ["newest releases", "sources"])
def test_what_cannot_be_read_is_no_verdict(tried, step):
    """The exit status says so."""
    assert tried(FOUND, {step: 2}) == (2, None, None)


def test_a_step_is_a_command():
    """Its output counts, whichever way it is printed."""
    assert new_release.run("step", "sh", "-c", "echo out; echo err >&2; exit 3") == Outcome("step", 3, "out\nerr\n")
