"""`otel-fastpath prove`, with an SDK whose source was changed."""

from __future__ import annotations

import json

import pytest

from otel_fastpath.patching.sources import proven

PLACE = "opentelemetry.sdk.trace:Tracer.start_span"
_SET_STATUS = "        # Ignore future calls if status is already set to OK\n"
PARENT = "        parent_span_context = trace_api.get_current_span("


def _prove(run, status):
    """What the command finds, and what it prints on the screen."""
    done = run("prove", "--programs", "1", "--write", "--json", "-")
    assert done.returncode == status, done.stderr
    return json.loads(done.stdout)["groups"], done.stderr


def _row(done):
    return next(row for row in json.loads(done.stdout)["patches"] if row["name"] == "tracer.start_span")


def test_what_changes_nothing_is_proven(changed, run, tmp_path):
    """The patch is applied where the file is used, and the status says why."""
    changed(PARENT, f"        _spare = None\n{PARENT}")
    assert "is not one this patch was written for" in _row(run("status", "--json"))["reason"]
    (group,), _ = _prove(run, 0)
    assert (group["patches"], list(group["sources"]), group["is_proven"]) == (["tracer.start_span"], [PLACE], True)
    row = _row(run("status", "--json", OTEL_FASTPATH_PROVEN=proven.FILE))
    assert row["state"] == "applied"
    programs = group["programs"]
    assert row["reason"].startswith("proven here on ")
    assert row["reason"].endswith(f" by {programs} programs")
    assert programs > 20
    # Another change is another source.
    changed("_spare = None", "_spare = 1")
    row = _row(run("status", "--json", OTEL_FASTPATH_PROVEN=tmp_path / proven.FILE))
    assert "is not one this patch was written for" in row["reason"]


def test_a_difference_is_shown(changed, run, tmp_path):
    """With the smallest program; nothing is written."""
    changed(PARENT, f'        name = name + "!" if kind is trace_api.SpanKind.CLIENT else name\n{PARENT}')
    (group,), screen = _prove(run, 1)
    assert not group["is_proven"]
    assert group["differing"]
    difference = group["difference"]
    assert "!'" in difference["stock"]
    assert "!'" not in difference["fastpath"]
    assert len(difference["steps"]) < 5
    assert not (tmp_path / proven.FILE).exists()
    assert "different" in screen


@pytest.mark.slow
def test_what_no_program_executes_is_not_proven(changed, run, tmp_path):
    """A statement that is new stands where nothing leads."""
    changed(PARENT, f'        if name == "a name that no program has":\n            name = "other"\n{PARENT}')
    (group,), _ = _prove(run, 0)
    assert not group["is_proven"]
    assert "no program executes line" in group["missing"]
    assert PLACE not in (tmp_path / proven.FILE).read_text(encoding="utf-8")


@pytest.mark.slow
def test_one_of_two_changes_makes_a_difference(changed, run):
    """The other patch is proven all the same."""
    changed(PARENT, f'        name = name + "!" if kind is trace_api.SpanKind.CLIENT else name\n{PARENT}')
    changed(_SET_STATUS, f"        _spare = 1\n{_SET_STATUS}")
    groups, _ = _prove(run, 1)
    found = {patch: group["is_proven"] for group in groups for patch in group["patches"]}
    assert found == {"tracer.start_span": False, "span.set_status": True}


@pytest.mark.slow
@pytest.mark.source
def test_nothing_to_prove(run):
    """Every source of the locked releases is known."""
    groups, screen = _prove(run, 0)
    assert groups == []
    assert "every source is known" in screen


def test_a_wrong_number(run):
    """One line, and nothing is run."""
    done = run("prove", "--programs", "0")
    assert done.returncode == 2
    assert done.stderr == "otel-fastpath: --programs 0: expected a number from 1 upwards\n"


def test_a_file_that_cannot_be_written(run, tmp_path):
    """Said before the programs run, not afterwards."""
    done = run("prove", "--programs", "1", "--write", tmp_path / "nowhere/file.toml")
    assert done.returncode == 2
    assert (
        done.stderr == f"otel-fastpath: --write {tmp_path}/nowhere/file.toml: expected a file in a folder that exists\n"
    )


def test_a_file_that_does_not_fit(run, tmp_path):
    """It is a wrong setting, and nothing counts."""
    file = tmp_path / "other.toml"
    file.write_text(
        'python = "cpython 2.7"\ndate = 2026-11-27\ncores = []\n[distributions]\n[sources]\n', encoding="utf-8"
    )
    found = json.loads(run("status", "--json", OTEL_FASTPATH_PROVEN=str(file)).stdout)
    assert len(found["wrong_settings"]) == 1
    assert "is not valid; expected cpython 2.7, with which it was written" in found["wrong_settings"][0]
