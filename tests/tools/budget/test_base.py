"""What a comparison can be made with: a git ref, a checkout, a folder of installed packages, a wheel."""

from __future__ import annotations

import shutil
import subprocess
import sys
import zipfile

import pytest

from otel_fastpath.tools.budget import base, declare
from otel_fastpath.tools.budget.base import BaseError

GIT = shutil.which("git") or "git"
NAME = ("-c", "user.name=t", "-c", "user.email=t@t")


@pytest.fixture
def declared(project):
    """A project in git, with budgets in a folder of it, and its declaration."""
    project.write("pyproject.toml", "")
    project.write("lib/package.py", "VERSION = 1\n")
    file = project.declare('calls = "<= 3"')
    file.write_text('source = ["lib"]\n' + file.read_text())
    for command in (("init", "-q"), ("add", "."), (*NAME, "commit", "-qm", "one"), ("tag", "one")):
        subprocess.run([GIT, *command], cwd=project.folder, check=True)
    project.write("lib/package.py", "VERSION = 2\n")
    return declare.read(file)


def version(folders):
    """What the package in the folders says."""
    (folder,) = folders
    with open(f"{folder}/package.py", encoding="utf-8") as file:  # noqa: PTH123  # a text
        return file.read().strip()


def test_a_git_ref(declared):
    """What was committed, in a folder that is gone afterwards."""
    with base.make_importable(declared, "one") as found:
        assert version(found.folders) == "VERSION = 1"
        assert found.name.startswith("one (")

    with pytest.raises(FileNotFoundError):
        version(found.folders)


def test_a_checkout(declared, tmp_path_factory):
    """Another folder of the same project, with git or without."""
    for with_git in (True, False):
        other = tmp_path_factory.mktemp("other") / "tree"
        shutil.copytree(declared.folder, other)
        if not with_git:
            shutil.rmtree(other / ".git")
        with base.make_importable(declared, str(other)) as found:
            assert found.folders == (str(other / "lib"),)


def test_installed_packages(declared, tmp_path_factory):
    """What `pip install --target` left is imported from as it is."""
    other = tmp_path_factory.mktemp("installed")
    (other / "package.py").write_text("VERSION = 0\n")

    with base.make_importable(declared, str(other)) as found:
        assert version(found.folders) == "VERSION = 0"


def test_a_wheel(declared, tmp_path_factory):
    """It is unpacked."""
    wheel = tmp_path_factory.mktemp("wheels") / "package-0-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.writestr("package.py", "VERSION = 3\n")

    with base.make_importable(declared, str(wheel)) as found:
        assert version(found.folders) == "VERSION = 3"
        assert found.name == wheel.name


@pytest.mark.parametrize("text", ["no-such-ref", "--output=x", "none.whl"])
def test_what_is_none_of_these_is_one_line(declared, text):
    """Whatever git makes of it."""
    with pytest.raises(BaseError) as caught, base.make_importable(declared, text):
        pass

    assert str(caught.value).startswith(f"{text}: expected a folder, a wheel or a git ref")
    assert "\n" not in str(caught.value)


def test_a_broken_wheel_is_one_line(declared):
    """It says which."""
    wheel = declared.folder / "x.whl"
    wheel.write_text("")

    with pytest.raises(BaseError, match=r"x\.whl: File is not a zip file"), base.make_importable(declared, str(wheel)):
        pass


def test_a_base_without_the_source_folder_is_one_line(declared, tmp_path_factory):
    """Rather than a comparison of head with itself."""
    other = tmp_path_factory.mktemp("other")
    (other / "pyproject.toml").write_text("")

    with pytest.raises(BaseError, match="the base has no folder lib"), base.make_importable(declared, str(other)):
        pass


def test_a_base_can_be_built(declared, monkeypatch):
    """By uv where it is, else by pip; what goes wrong with it is one line."""
    tool = declared.folder / "uv"
    tool.write_text(
        f"#!{sys.executable}\nimport sys, zipfile, pathlib\n"
        "out = pathlib.Path(sys.argv[sys.argv.index('--out-dir') + 1])\nout.mkdir()\n"
        "if '--broken' in pathlib.Path(sys.argv[-1], 'lib', 'package.py').read_text(): sys.exit('no compiler')\n"
        "with zipfile.ZipFile(out / 'package-0-py3-none-any.whl', 'w') as archive:\n"
        "    archive.writestr('package.py', 'BUILT = True')\n"
    )
    tool.chmod(0o755)
    monkeypatch.setenv("PATH", str(declared.folder), prepend=":")

    with base.make_importable(declared, "one", build=True) as found:
        assert version(found.folders) == "BUILT = True"
    (declared.folder / "lib" / "package.py").write_text("'--broken'")
    with (
        pytest.raises(BaseError, match="failed: no compiler"),
        base.make_importable(declared, str(declared.folder), build=True),
    ):
        pass
