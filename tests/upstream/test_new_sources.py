"""The nightly workflow's issue names what new releases changed, and nothing else."""

from __future__ import annotations

import json
import re

import new_sources
import pytest

FILE = "otel_fastpath/trace/sources.json"
KNOWN = {"module:Span.end": {"aaaaaaaaaaaa": ["1.40.0", "1.41.0"]}, "module:Span.start": {"bbbbbbbbbbbb": ["1.40.0"]}}


@pytest.mark.parametrize(
    ("after", "expected"),
    [
        (KNOWN, {}),
        # A release without a new source.
        ({"module:Span.end": {"aaaaaaaaaaaa": ["1.40.0", "1.41.0", "1.42.0"]}}, {}),
        (
            {"module:Span.end": {"aaaaaaaaaaaa": ["1.40.0"], "cccccccccccc": ["1.42.0", "1.43.0"]}},
            {"module:Span.end": {"cccccccccccc": "1.42.0 1.43.0"}},
        ),
        # Nested by another fingerprint, with the releases in one string.
        (
            {"module:Span.end": {"outer": {"aaaaaaaaaaaa": "1.40.0"}, "other": {"cccccccccccc": "1.42.0"}}},
            {"module:Span.end": {"cccccccccccc": "1.42.0"}},
        ),
        ({"module:new": {"aaaaaaaaaaaa": ["1.42.0"]}}, {"module:new": {"aaaaaaaaaaaa": "1.42.0"}}),
    ],
)
def test_only_unknown_fingerprints_are_new(after, expected):
    """Whatever releases have a known one."""
    assert new_sources.new(KNOWN, after) == expected


def test_without_a_new_source_there_is_no_issue():
    """The text is empty, which the workflow looks for."""
    assert new_sources.issue({FILE: {}}) == ""


def test_the_program_writes_the_issue(tmp_path, monkeypatch, capsys):
    """Each file is compared with what its command leaves there; the issue has a row for the new source."""
    path = tmp_path / FILE
    path.parent.mkdir(parents=True)
    path.write_text(json.dumps(KNOWN))
    written = tmp_path / "written.json"
    written.write_text(json.dumps({**KNOWN, "module:Span.end": {"cccccccccccc": ["1.42.0"]}}))
    monkeypatch.setattr(new_sources, "ROOT", tmp_path)
    monkeypatch.setattr(new_sources, "COMMANDS", {FILE: ("cp", str(written), str(path))})
    monkeypatch.setattr("sys.argv", ["new_sources.py", str(tmp_path / "build" / "issue.md")])

    assert new_sources.main() == 0

    text = (tmp_path / "build" / "issue.md").read_text()
    assert re.findall(r"^\| `.*$", text, re.MULTILINE) == ["| `module:Span.end` | `cccccccccccc` | 1.42.0 |"]
    assert FILE in text
    assert text in capsys.readouterr().out


def test_a_command_that_fails_is_not_an_empty_issue(tmp_path, monkeypatch, capsys):
    """The job must fail, and nothing is written."""
    path = tmp_path / FILE
    path.parent.mkdir(parents=True)
    path.write_text(json.dumps(KNOWN))
    monkeypatch.setattr(new_sources, "ROOT", tmp_path)
    monkeypatch.setattr(new_sources, "COMMANDS", {FILE: ("false",)})
    monkeypatch.setattr("sys.argv", ["new_sources.py", str(tmp_path / "issue.md")])

    assert new_sources.main() == 2
    assert not (tmp_path / "issue.md").exists()
    assert "false failed with 1" in capsys.readouterr().err


def test_the_commands_write_files_that_exist():
    """The files are in the package, and their fingerprints are read in the form in which they are."""
    for file in new_sources.COMMANDS:
        known = json.loads((new_sources.ROOT / file).read_text(encoding="utf-8"))
        found = [each for value in known.values() for each in new_sources.fingerprints(value)]
        assert len(found) >= len(known) > 0
        assert all(re.fullmatch(r"[0-9a-f]{12}", each) and releases for each, releases in found)
