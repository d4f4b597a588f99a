"""The workflows run commands that exist, pin what they use, and ask for no more permissions than they need."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parents[1]
WORKFLOWS = sorted(ROOT.glob(".github/workflows/*.yml"))
FORMS = sorted(ROOT.glob(".github/ISSUE_TEMPLATE/*.yml"))
PYTHONS = ["3.10", "3.11", "3.12", "3.13", "3.14", "3.15"]
EXPERIMENTAL = ["3.14t"]
pytestmark = pytest.mark.source


def read(path):
    """A workflow. YAML 1.1 takes its key `on` for a boolean."""
    return yaml.safe_load(path.read_text(encoding="utf-8"))


def jobs(path):
    """The jobs of a workflow, by name."""
    return read(path)["jobs"]


def steps(path):
    """Every step of a workflow."""
    return [step for job in jobs(path).values() for step in job.get("steps", [])]


def targets(path):
    """The targets of the Makefile that a workflow makes, in commands and as values of a matrix."""
    found = []
    for step in steps(path):
        for line in re.findall(r"^make (.+)$", step.get("run", ""), re.MULTILINE):
            (member,) = re.findall(r"\bNAME=(\S+)", line) or [""]
            found += [f"{word}/{member}" if member else word for word in line.split() if re.fullmatch(r"[\w-]+", word)]
    for job in jobs(path).values():
        matrix = job.get("strategy", {}).get("matrix", {})
        found += matrix.get("target", [])
        for each in matrix.get("include", []):
            if "target" in each:
                found.append("/".join([each["target"], *re.findall(r"\bNAME=(\S+)", each["args"])]))
    return found


def test_there_is_a_workflow_for_each_occasion():
    """A change, a night, a week, a release; and the wheels, which two of them build."""
    assert [path.stem for path in WORKFLOWS] == ["ci", "nightly", "release", "weekly", "wheels"]


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_each_target_is_in_the_makefile(path):
    """Whether in a command or in a matrix."""
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    rules = {name for line in re.findall(r"^([\w /-]+):(?!=)", makefile, re.MULTILINE) for name in line.split()}
    found = targets(path)

    assert found
    assert [name for name in found if name not in rules and not name.startswith("test-releases/")] == []


def test_the_commands_are_what_each_workflow_is_for():
    """The linters, both parts of the tests, and the checks of the wheels and of the newest releases."""
    found = {path.stem: set(targets(path)) for path in WORKFLOWS}

    assert {"lint", "types", "workflows", "test", "test-slow", "test-releases/lowest", "release/test"} <= found["ci"]
    assert found["nightly"] == {"test-releases/newest", "sources/try"}
    assert {"vendors", "upstream", "suite/asyncpg"} <= found["weekly"]
    assert found["wheels"] == {"release/build", "release/check"}
    assert {"release/tag", "release/test"} <= found["release"]


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_actions_are_pinned_by_commit(path):
    """With their versions as comments; a tag can be moved. Workflows of this repository are of the same commit."""
    used = re.findall(r"\buses: (\S+)(.*)", path.read_text(encoding="utf-8"))

    assert used
    for action, comment in used:
        if not action.startswith("./.github/workflows/"):
            assert re.fullmatch(r"[\w-]+/[\w-]+@[0-9a-f]{40}", action), action
            assert re.fullmatch(r" # v\d+\.\d+\.\d+", comment), action


def test_an_action_has_the_same_commit_everywhere():
    """An update changes all of them."""
    used = {}
    for path in WORKFLOWS:
        for action, commit in re.findall(r"\buses: ([\w-]+/[\w-]+)@(.*)", path.read_text(encoding="utf-8")):
            used.setdefault(action, set()).add(commit)

    assert len(used) >= 6
    assert {action: commits for action, commits in used.items() if len(commits) > 1} == {}


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_no_job_has_permissions_by_default(path):
    """Each names those that it needs; only publishing and proposing may write. No credentials are kept."""
    assert read(path)["permissions"] == {}
    writes = {
        f"{name}: {permission}"
        for name, job in jobs(path).items()
        for permission, value in job["permissions"].items()
        if value != "read"
    }
    nightly = {"issue: issues", "propose: contents", "propose: pull-requests"}
    assert writes == {"release": {"publish: id-token"}, "nightly": nightly}.get(path.stem, set())
    checkouts = [step for step in steps(path) if step.get("uses", "").startswith("actions/checkout@")]
    assert [step for step in checkouts if step["with"]["persist-credentials"] is not False] == []
    text = path.read_text(encoding="utf-8")
    assert "secrets." not in text
    assert "pull_request_target" not in text


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_every_job_ends(path):
    """Where a job runs steps, after a time that it names."""
    assert [name for name, job in jobs(path).items() if "steps" in job and "timeout-minutes" not in job] == []


def test_every_interpreter_is_tested_with_every_build():
    """The compiled and the pure build, and the wheel as it is installed; only the free-threaded build may fail."""
    found = jobs(ROOT / ".github" / "workflows" / "ci.yml")
    everywhere, installed = found["tests"], found["wheel-tests"]

    assert everywhere["strategy"]["matrix"] == {"python": PYTHONS + EXPERIMENTAL, "build": ["compiled", "pure"]}
    assert installed["strategy"]["matrix"]["python"] == PYTHONS + EXPERIMENTAL
    assert installed["strategy"]["matrix"]["include"] == [{"python": "3.13", "wheel": "pure"}]
    assert everywhere["continue-on-error"] == installed["continue-on-error"] == "${{ matrix.python == '3.14t' }}"


def test_a_release_is_published_after_its_tests_only():
    """Without a password, with attestations, from what the tests ran on, and after approval."""
    found = jobs(ROOT / ".github" / "workflows" / "release.yml")
    publish = found["publish"]
    upload = publish["steps"][-1]

    assert publish["needs"] == "wheel-tests"
    assert found["wheel-tests"]["needs"] == "wheels"
    assert found["wheels"]["needs"] == "version"
    assert publish["environment"] == "pypi"
    assert upload["uses"].startswith("pypa/gh-action-pypi-publish@")
    assert upload["with"] == {"attestations": True}
    assert not [step for step in publish["steps"] if "run" in step]


def test_zizmor_finds_nothing():
    """The audits that need no network."""
    zizmor = Path(sys.executable).with_name("zizmor")
    if not zizmor.exists():
        pytest.skip("zizmor is not installed: it needs Python 3.11")
    command = [zizmor, "--offline", "--no-progress", "--color=never", ROOT / ".github"]
    audited = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)

    assert audited.returncode == 0, audited.stdout
    assert all(f"completed {path}" in audited.stderr for path in WORKFLOWS)


def test_actionlint_finds_nothing():
    """Where it is installed; `make workflows` fetches it."""
    actionlint = shutil.which("actionlint")
    if actionlint is None:
        pytest.skip("actionlint is not installed")
    linted = subprocess.run([actionlint, *WORKFLOWS], capture_output=True, text=True, check=False, timeout=60)

    assert (linted.returncode, linted.stdout) == (0, "")


@pytest.mark.parametrize("path", FORMS, ids=lambda path: path.stem)
def test_issue_forms_are_complete(path):
    """Each field has what its kind needs, and identifiers and labels are there once."""
    form = read(path)
    if path.stem == "config":
        assert form["blank_issues_enabled"] is False
        assert all({"name", "url", "about"} == link.keys() for link in form.get("contact_links", []))
        return
    assert {"name", "description", "body"} <= form.keys()
    fields = [field for field in form["body"] if field["type"] != "markdown"]
    assert {field["type"] for field in fields} <= {"textarea", "input", "dropdown", "checkboxes"}
    for unique in ([field["id"] for field in fields], [field["attributes"]["label"] for field in fields]):
        assert len(unique) == len(set(unique)) > 0
    assert [field for field in fields if field["type"] == "dropdown" and not field["attributes"]["options"]] == []
