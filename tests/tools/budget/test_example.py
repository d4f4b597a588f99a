"""The example project does what its README says, and the workflow's commands are commands."""

from __future__ import annotations

import argparse
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from otel_fastpath.tools.budget.cli import add_commands

ROOT = Path(__file__).parents[3]
EXAMPLE = ROOT / "examples" / "budgets"
PAGE = ROOT / "docs" / "budgets.md"
GIT = (shutil.which("git") or "git", "-c", "user.name=t", "-c", "user.email=t@t")
COUNTS = "bytecodes,calls,allocations"


@pytest.fixture
def shop(tmp_path):
    """A copy of the example, in git."""
    folder = tmp_path / "shop"
    shutil.copytree(EXAMPLE, folder, ignore=shutil.ignore_patterns("__pycache__", ".pytest_cache"))
    for command in (("init", "-q"), ("add", "."), ("commit", "-qm", "one")):
        subprocess.run([*GIT, *command], cwd=folder, check=True)
    return folder


def budget(shop, *arguments):
    """A command in the example."""
    command = [sys.executable, "-m", "otel_fastpath", "budget", *arguments]
    return subprocess.run(command, cwd=shop, capture_output=True, text=True, check=False)


@pytest.mark.slow  # tests/tools/budget/test_ours.py finds one in `make test`
def test_a_slower_hook_is_found(shop):
    """By its counts against the calibrated ones, and in time against the version before."""
    quick = ("--cycles", "60", "--processes", "1")
    calibrated = budget(shop, "calibrate", *quick, "--metrics", COUNTS)
    assert calibrated.returncode == 0, calibrated.stderr
    held = budget(shop, "check", *quick, "--metrics", f"{COUNTS},overhead")
    assert held.returncode == 0, held.stdout

    telemetry = shop / "shop" / "telemetry.py"
    once = "attributes = {"
    telemetry.write_text(telemetry.read_text().replace(once, f"sum(number * number for number in range(200)); {once}"))
    compared = budget(shop, "compare", "--base", "HEAD", "--only", "traced", "--cycles", "60", "--pause", "0",
                      "--metrics", "regression,bytecodes")  # fmt: skip
    assert compared.returncode == 1
    assert [line.split()[-1] for line in compared.stdout.splitlines() if line.startswith("traced")] == ["fail", "fail"]
    assert budget(shop, "check", "--only", "traced", "--metrics", COUNTS).returncode == 1


def test_the_first_steps_of_the_page(tmp_path):
    """Its two files, copied; its commands; and what it shows of a hook that has become dearer, but for the numbers."""
    page = PAGE.read_text()
    for name, language in (("scenarios.py", "python"), ("pyproject.toml", "toml")):
        block = re.search(rf"^```{language}\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
        (tmp_path / name).write_text(block.group(1))

    assert budget(tmp_path, "calibrate").returncode == 0
    assert budget(tmp_path, "check").returncode == 0
    hook = tmp_path / "scenarios.py"
    given = 'attributes={"items": 3, "user": "mira"}'
    hook.write_text(
        hook.read_text().replace('start_as_current_span("order")', f'start_as_current_span("order", {given})')
    )
    failed = budget(tmp_path, "check")

    assert failed.returncode == 1
    shown = [line.strip() for line in page.splitlines() if line.startswith("    ")]
    row = re.compile(
        r"order +(bytecodes|calls) .*fail|.*calibrated.*|.*_clean_attribute_value \(.*|where the cost is: .*"
    )
    wanted = [re.sub(r"[\d,]+", "N", line) for line in shown if row.fullmatch(line)]
    printed = [re.sub(r"[\d,]+", "N", line.strip()) for line in failed.stdout.splitlines()]
    assert len(wanted) == 6
    for line in wanted:
        assert re.sub(" +", " ", line) in [re.sub(" +", " ", each) for each in printed], failed.stdout


def test_the_hook_for_pre_commit_is_the_one_of_the_page():
    """And its command is one."""
    indented = PAGE.read_text().partition("```yaml\nrepos:\n")[2].partition("```")[0]
    text = (EXAMPLE / ".pre-commit-config.yaml").read_text()

    assert text.partition("repos:\n")[2] == indented
    entry = re.search(r"entry: otel-fastpath (.*)", text).group(1)
    parser = argparse.ArgumentParser()
    add_commands(parser.add_subparsers(required=True))
    assert callable(parser.parse_args(shlex.split(entry)).run)


def test_its_tests_pass(shop):
    """The fixture and the marker, in a project of its own."""
    run = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "--overhead-processes=1", "--benchmark-max-time=0.01"],
        cwd=shop,
        capture_output=True,
        text=True,
        check=False,
    )

    assert run.returncode == 0, run.stdout
    assert "2 passed" in run.stdout


@pytest.mark.slow
def test_a_repository_made_of_it(shop, tmp_path):
    """In an environment of its own, with the wheel of this tree: what the workflow runs, and then a dearer hook."""
    uv = shutil.which("uv") or ROOT / ".tools" / "bin" / "uv"
    wheels = tmp_path / "wheels"
    wheels.mkdir()
    environment = {key: value for key, value in os.environ.items() if key not in {"VIRTUAL_ENV", "PYTHONPATH"}}
    environment |= {"UV_FIND_LINKS": str(wheels), "UV_PYTHON": sys.executable, "OTEL_FASTPATH_EXTENSION": "off"}

    def run(*command, fails=False):
        ended = subprocess.run(command, cwd=shop, env=environment, capture_output=True, text=True, check=False)
        assert ended.returncode == int(fails), ended.stdout + ended.stderr
        return ended.stdout

    run(uv, "build", "--quiet", "--wheel", "--out-dir", wheels, ROOT)
    workflow = re.sub(r"\n +(?=--|uv run)", " ", (shop / ".github" / "workflows" / "overhead.yml").read_text())
    check, _, calibrate = workflow.partition("calibrate:\n")
    commands = {
        job: [shlex.split(re.sub(r"origin/\S+ \S+ \S+", "HEAD", each))[1:] for each in re.findall(r"(uv run .*)", text)]
        for job, text in (("check", check), ("calibrate", calibrate))
    }
    assert [len(each) for each in commands.values()] == [2, 1]
    run(uv, "sync")
    run(uv, "sync", "--locked")
    run(uv, *commands["calibrate"][0])
    for command in (("add", "."), ("commit", "-qm", "calibrated")):
        run(*GIT, *command)
    for command in commands["check"]:
        run(uv, *command)

    telemetry = shop / "shop" / "telemetry.py"
    once = "attributes = {"
    telemetry.write_text(telemetry.read_text().replace(once, f"sum(number for number in range(50)); {once}"))
    assert "(shop/telemetry.py)" in run(uv, *commands["check"][0], fails=True)


def test_its_workflow_and_readme_use_commands_that_exist():
    """With options that exist."""
    texts = [(EXAMPLE / name).read_text() for name in (".github/workflows/overhead.yml", "README.md")]
    folded = re.sub(r"\n +(?=--|uv run)", " ", "\n".join(texts))
    commands = re.findall(r"otel-fastpath (budget [^#`\n]*)", folded)
    parser = argparse.ArgumentParser()
    add_commands(parser.add_subparsers(required=True))

    assert len(commands) == 8
    for command in commands:
        words = shlex.split(re.sub(r"\$\{\{.*?\}\}", "main", command))
        assert callable(parser.parse_args(words).run)
