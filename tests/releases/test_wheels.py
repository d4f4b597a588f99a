"""The files of a release can be built, pass the checks, and work where they are installed."""

from __future__ import annotations

import itertools
import os
import re
import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest
import wheels
from packaging.utils import parse_wheel_filename

pytestmark = pytest.mark.source
PYTHONS = ("cp310", "cp311", "cp312", "cp313", "cp314", "cp314t", "cp315")
SMOKE = wheels.ROOT / "tests" / "releases" / "smoke.py"
# A build has two minutes of one processor's time.
TIMEOUT = 900
# provide.py leaves this file in the environments that it makes. In any other one, a tool that is missing is an error.
HAS_NO_TOOLS = Path(sys.prefix, "made-from.txt").exists()
WHY = "the environments of make test-releases have no tools that build and check a release"


@pytest.mark.skipif(HAS_NO_TOOLS, reason=WHY)
@pytest.mark.skipif(sys.version_info < (3, 11), reason="cibuildwheel needs Python 3.11")
@pytest.mark.parametrize(
    ("platform", "machines", "kinds"),
    [
        (
            "linux",
            "x86_64,aarch64",
            ["manylinux_x86_64", "musllinux_x86_64", "manylinux_aarch64", "musllinux_aarch64"],
        ),
        ("macos", "x86_64,arm64", ["macosx_x86_64", "macosx_arm64"]),
        ("windows", "AMD64,ARM64", ["win_amd64", "win_arm64"]),
    ],
)
def test_cibuildwheel_builds_for_each_platform_and_interpreter(platform, machines, kinds):
    """The configuration in pyproject.toml chooses these builds, no fewer and no others."""
    command = (wheels.tool("cibuildwheel"), "--platform", platform, "--archs", machines, "--print-build-identifiers")

    assert sorted(wheels.run(*command).split()) == sorted(
        f"{p}-{kind}" for p, kind in itertools.product(PYTHONS, kinds)
    )


@pytest.mark.parametrize(
    ("command", "lacking", "building"),
    [
        (["check"], "wheel and no source distribution", "Build them with: make release NAME=build DIST={}"),
        (["test"], "compiled wheel for Python", "Build it with: make release NAME=build DIST={} PYTHON_VERSION="),
        (["test", "--pure"], "pure wheel", "Build it with: make release NAME=build DIST={} ARGS=--pure"),
    ],
)
@pytest.mark.parametrize("exists", [True, False])
def test_a_folder_without_what_a_command_needs(tmp_path, capsys, exists, command, lacking, building):
    """One line names the folder, what it lacks, and the command that builds that."""
    folder = tmp_path if exists else tmp_path / "dist"
    if exists and "test" in command:
        # It fits no interpreter of today.
        (folder / "otel_fastpath-0.1.0-cp36-cp36m-linux_armv6l.whl").touch()

    assert wheels.main([*command, str(folder)]) == 1

    out, err = capsys.readouterr()
    assert not out
    (line,) = err.splitlines()
    assert line.startswith(f"{folder} has no {lacking}")
    assert building.format(folder) in line


def test_the_folder_of_the_makefile_needs_no_option(monkeypatch, tmp_path, capsys):
    """There, `make release NAME=build` is the whole command."""
    monkeypatch.setattr(wheels, "ROOT", tmp_path)

    assert wheels.main(["check", str(tmp_path / "dist")]) == 1
    assert capsys.readouterr().err.endswith("Build them with: make release NAME=build\n")


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """A folder with the source distribution, the pure wheel and, with a compiler, the wheel of this interpreter."""
    if HAS_NO_TOOLS:
        pytest.skip(WHY)
    folder = tmp_path_factory.mktemp("dist")
    try:
        wheels.build(folder, pure=True, offline=True)
    except wheels.CommandError as error:
        # What uv says, not the option that it was given.
        if "network was disabled" in str(error):
            pytest.skip("the build backend is not in uv's cache")
        raise
    if shutil.which("cc"):
        wheels.build(folder, offline=True)
    return folder


@pytest.mark.slow
@pytest.mark.timeout(TIMEOUT)
def test_the_files_pass_the_checks(built):
    """The index would accept and show them, and a wheel has no file that does not belong there."""
    wheels.check(built)


@pytest.mark.slow
@pytest.mark.timeout(TIMEOUT)
def test_the_source_distribution_has_what_a_build_and_the_tests_need(built):
    """The sources of the compiled modules, the tests, and nothing that is compiled or cached."""
    (source,) = built.glob("*.tar.gz")
    with tarfile.open(source) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}

    package = {path.relative_to(wheels.ROOT).as_posix() for path in wheels.ROOT.glob("otel_fastpath/**/*.p*[!c]")}
    assert {name for name in package if name.endswith((".py", ".pyx", ".pxd", ".pxi", ".pyi"))} <= names
    assert {"tests/conftest.py", "tests/releases/wheels.py", "pyproject.toml", "CHANGELOG.md", "LICENSE"} <= names
    assert not [name for name in names if name.endswith((".so", ".pyc"))]


@pytest.mark.slow
@pytest.mark.timeout(TIMEOUT)
def test_the_pure_wheel_works_where_it_is_installed(built, tmp_path):
    """On any interpreter; `status` says in plain words that it is the pure build, and how to get the other one."""
    wheel = wheels.fitting(built, pure=True)
    assert wheel.name.endswith("-py3-none-any.whl")

    python = wheels.install(wheel, tmp_path / "environment", offline=True)

    wheels.run(python, "-P" if sys.version_info >= (3, 11) else "-B", SMOKE, "pure")
    text = " ".join(wheels.run(python.with_name("otel-fastpath"), "status", cwd=tmp_path).split())
    assert f"pure Python core (this installation has no compiled modules for CPython {python_version()})" in text
    assert "To get the compiled core, install a wheel for this platform, or install a C compiler" in text


@pytest.mark.slow
@pytest.mark.timeout(TIMEOUT)
@pytest.mark.skipif(shutil.which("cc") is None, reason="needs a C compiler")
def test_the_compiled_wheel_works_where_it_is_installed(built, tmp_path):
    """It has every compiled module and no source of them; on Linux its tag allows systems that are years old."""
    wheel = wheels.fitting(built)
    names = zipfile.ZipFile(wheel).namelist()
    platforms = {tag.platform for tag in parse_wheel_filename(wheel.name)[3]}

    python = wheels.install(wheel, tmp_path / "environment", offline=True)

    wheels.run(python, "-P" if sys.version_info >= (3, 11) else "-B", SMOKE, "compiled")
    assert "compiled core" in wheels.run(python.with_name("otel-fastpath"), "--version")
    assert not [name for name in names if name.endswith((".c", ".pyx", ".pxd", ".h")) or "build_hook" in name]
    if sys.platform == "linux":
        found = [re.fullmatch(r"(?:many|musl)linux_(\d+)_(\d+)_\w+", platform) for platform in platforms]
        versions = {(int(match[1]), int(match[2])) for match in found if match}
        assert versions
        assert max(versions) <= (2, 28)


@pytest.mark.slow
@pytest.mark.timeout(TIMEOUT)
def test_an_installation_without_a_compiler_is_pure(built, tmp_path):
    """From the source distribution, where the compiler fails: it can be installed, and `status` says what it is."""
    (source,) = built.glob("*.tar.gz")
    folder = tmp_path / "wheels"
    variables = {"CC": "false", "OTEL_FASTPATH_EXTENSION": "auto"}
    wheels.uv("build", "--quiet", "--offline", "--wheel", "--out-dir", folder, source, **variables)

    python = wheels.install(wheels.fitting(folder, pure=True), tmp_path / "environment", offline=True)

    text = " ".join(wheels.run(python.with_name("otel-fastpath"), "status", cwd=tmp_path).split())
    assert "was built without a C compiler" in text


@pytest.mark.slow
@pytest.mark.timeout(TIMEOUT)
def test_the_tests_can_run_from_a_wheel(built, tmp_path):
    """On a copy of the project, the modules are those of the installed wheel."""
    python = wheels.install(wheels.fitting(built, pure=True), tmp_path / "environment", offline=True)
    wheels.tree(tmp_path / "tree", python)

    code = "import otel_fastpath.status; print(otel_fastpath.status.__file__)"
    shown = subprocess.run([python, "-c", code], cwd=tmp_path / "tree", capture_output=True, text=True, check=True)

    assert os.path.realpath(shown.stdout.strip()).startswith(os.path.realpath(tmp_path / "environment"))
    assert not list((tmp_path / "tree" / "otel_fastpath").rglob("*.pxd"))


def python_version():
    """This interpreter's version in two numbers."""
    return f"{sys.version_info[0]}.{sys.version_info[1]}"
