"""Cache lines of machine code: what a call adds to those of the bare one; needs valgrind."""

from __future__ import annotations

import json
import shutil

import pytest

from otel_fastpath.tools.budget.counting import code_lines

HOOKS = """
import json, zlib

def work():
    return json.dumps({"a": [1, 2.5, "text"]})

def same_again():
    work()
    work()
    return work()

def other_code():
    zlib.compress(b"other code" * 20)
    return work()

SEEN = []

def seldom():
    SEEN.append(None)
    if len(SEEN) % 32 == 0:
        zlib.compress(b"other code" * 20)
    return work()
"""
PROFILE = """\
version: 1
desc: Trigger: Client Request: {arm} 0
thread: 1
positions: instr line
events: Ir
ob=/lib/one.so
fn=first
0x1000 0 64
0x1004 0 64
0x1040 0 {second}
cfn=callee
calls=64 0x2000
0x1080 0 6400
0x10c0 0 31
ob=/lib/other.so
fn=callee
0x1000 0 {other}
"""


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("valgrind") is None, reason="valgrind is not installed")
def test_only_what_other_code_adds_is_counted(project):
    """More of the same code adds almost nothing, however long it takes; of what is done at times, its loops count."""
    project.write("hooks.py", HOOKS)
    names = ("same_again", "other_code", "seldom")
    tables = [
        f'[scenarios."{name}"]\nbare = "hooks:work"\ninstrumented = "hooks:{name}"\ncache_lines = "<= 100"\n'
        for name in names
    ]
    (project.folder / "budgets.toml").write_text("\n".join(tables))

    done = project.check("--json=-")

    found = {each["scenario"]: each for each in json.loads(done.stdout)["results"]}
    assert {each["metric"] for each in found.values()} == {"cache_lines"}
    lines = {name: found[name]["value"] for name in names}
    assert 0 <= lines["same_again"] < 30, lines
    assert lines["other_code"] > 100, lines
    assert 0 <= lines["seldom"] < lines["other_code"] / 3, lines
    assert [found[name]["verdict"] for name in names] == ["pass", "fail", "pass"]
    (again,) = json.loads(project.check("--json=-", "--only=other_code").stdout)["results"]
    assert again["value"] == lines["other_code"]


def test_a_profile_is_read(tmp_path):
    """By object and line: the same line twice is one, and what a callee costs is not the caller's."""
    (tmp_path / "profile.1").write_text(PROFILE.format(arm="bare", second=31, other=64))
    (tmp_path / "profile.2").write_text(PROFILE.format(arm="instrumented", second=32, other=64))
    (tmp_path / "profile.3").write_text(
        PROFILE.format(arm="instrumented", second=64, other=64).replace("thread: 1", "thread: 2")
    )

    assert code_lines.read(tmp_path) == {"0": 1}
