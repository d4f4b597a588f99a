"""The package's own claims are true: metadata, entry points, types, sizes, and the wheel's content."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
import zipfile
from importlib import metadata
from pathlib import Path

import pytest
from packaging.requirements import Requirement

import otel_fastpath
from otel_fastpath.patching import interpreter

ROOT = Path(otel_fastpath.__file__).parent
PROJECT = ROOT.parent
CHANGELOG = PROJECT / "CHANGELOG.md"
FILES = sorted(path for path in ROOT.rglob("*.py") if "__pycache__" not in path.parts)
TESTS = sorted(PROJECT.joinpath("tests").rglob("*.py"))
MOST_LINES_OF_A_FILE = 400
MOST_LINES_OF_A_FUNCTION = 60


def test_the_version_is_one():
    """The package, its metadata, `status` and the newest section of the changelog name the same."""
    version = metadata.version("otel-fastpath")

    assert otel_fastpath.__version__ == version == interpreter.version("otel-fastpath")
    assert re.findall(r"^## \[(\d[^]]*)\]", CHANGELOG.read_text(encoding="utf-8"), re.MULTILINE)[0] == version


def test_the_metadata_name_what_it_runs_on():
    """Pythons, licence and the OpenTelemetry releases that the guards accept; no library of an application."""
    found = metadata.metadata("otel-fastpath")
    requirements = [Requirement(text) for text in metadata.requires("otel-fastpath")]
    always = {each.name: str(each.specifier) for each in requirements if each.marker is None}

    assert found["License-Expression"] == "Apache-2.0"
    assert found["Requires-Python"] == ">=3.10"
    assert always["opentelemetry-api"] == always["opentelemetry-sdk"] == ">=1.40"
    assert always["opentelemetry-instrumentation"] == ">=0.61b0"
    assert always.keys().isdisjoint({"openai", "asyncpg", "fastapi", "pytest"})
    assert {"openai", "asyncpg", "fastapi"} <= set(found.get_all("Provides-Extra"))


def test_every_python_that_is_promised_is_classified():
    """The classifiers go from the lowest that is required to the newest, and each of them is tested."""
    classifiers = metadata.metadata("otel-fastpath").get_all("Classifier")
    versions = [text.rpartition(" ")[2] for text in classifiers if re.search(r":: 3\.\d+$", text)]

    assert versions == ["3.10", "3.11", "3.12", "3.13", "3.14", "3.15"]
    tested = (PROJECT / ".python-version").read_text(encoding="utf-8").split()
    assert sorted(tested) == sorted(versions)


@pytest.mark.parametrize(
    ("group", "name", "value"),
    [
        ("opentelemetry_instrumentor", "fastpath", "otel_fastpath.instrumentor:FastpathInstrumentor"),
        ("console_scripts", "otel-fastpath", "otel_fastpath.__main__:main"),
    ],
)
def test_entry_points_lead_somewhere(group, name, value):
    """Each entry point can be loaded by its name."""
    (entry,) = metadata.entry_points(group=group, name=name)

    assert entry.value == value
    assert callable(entry.load())


def test_the_types_are_part_of_the_package():
    """PEP 561's marker is there."""
    assert (ROOT / "py.typed").is_file()


def test_the_public_names_are_there():
    """Every name in __all__ can be imported."""
    assert {name for name in otel_fastpath.__all__ if not hasattr(otel_fastpath, name)} == set()


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_files_and_functions_can_be_held_in_the_head(path):
    """No file of 400 lines, no function of 60, and each module says what it is for."""
    text = path.read_text(encoding="utf-8")
    tree = ast.parse(text)

    assert text.count("\n") < MOST_LINES_OF_A_FILE
    assert ast.get_docstring(tree)
    long = {
        node.name: node.end_lineno - node.lineno + 1
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and node.end_lineno - node.lineno + 1 >= MOST_LINES_OF_A_FUNCTION
    }
    assert not long


def test_files_of_tests_are_no_longer():
    """The limit of the package's own files."""
    lines = {path: path.read_text(encoding="utf-8").count("\n") for path in TESTS}

    assert len(lines) > 100
    assert [path for path, count in lines.items() if count >= MOST_LINES_OF_A_FILE] == []


def test_every_test_is_run_by_one_of_two_targets():
    """What `make test` leaves out is what `make test-slow` chooses."""
    makefile = (PROJECT / "Makefile").read_text(encoding="utf-8")
    chosen = re.findall(r"""^(test\S*):.*\n\t.*-m pytest .*-m ("not slow"|\w+) """, makefile, re.MULTILINE)

    assert chosen == [("test", '"not slow"'), ("test-slow", "slow")]


@pytest.mark.source
def test_the_build_leaves_sources_of_the_build_out_of_the_wheel(tmp_path):
    """A wheel without the extension is pure, has all modules and data, and nothing that only the build needs."""
    uv = PROJECT / ".tools" / "bin" / "uv"
    if not uv.exists():
        pytest.skip("uv is not set up: make setup")
    built = subprocess.run(
        [uv, "build", "--wheel", "--offline", "--python", sys.executable, "--out-dir", tmp_path, PROJECT],
        env={"PATH": str(Path(sys.executable).parent), "HOME": str(Path.home()), "OTEL_FASTPATH_EXTENSION": "off"},
        capture_output=True,
        text=True,
        check=False,
        timeout=100,
    )
    told = built.stderr + built.stdout
    if built.returncode and ("offline" in told or "network was disabled" in told):
        pytest.skip("the build backend is not in uv's cache")
    assert built.returncode == 0, built.stderr
    (wheel,) = tmp_path.glob("*.whl")
    names = {name for name in zipfile.ZipFile(wheel).namelist() if ".dist-info/" not in name}

    assert wheel.name.endswith("-py3-none-any.whl")
    sources = {f"otel_fastpath/{path.relative_to(ROOT)}" for path in FILES if path.name != "build_hook.py"}
    assert sources <= names
    data = {f"otel_fastpath/{path.relative_to(ROOT)}" for path in ROOT.rglob("*.json")}
    assert {"otel_fastpath/py.typed", *data} <= names
    assert not [name for name in names if name.endswith((".so", ".pxd", ".pyx", ".c", ".h", "build_hook.py", ".pyc"))]
    assert all(name.startswith("otel_fastpath/") for name in names)
