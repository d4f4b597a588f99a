"""The addresses of the project follow from one setting, and there are none while it is empty: no link leads nowhere."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tarfile
import zipfile
from email.parser import Parser
from pathlib import Path

import pytest

pytestmark = pytest.mark.source
ROOT = Path(__file__).parents[2]
ADDRESS = "https://git.example/shop"
SETTING = 'repository = ""'
# What a build reads.
READ = ("pyproject.toml", "README.md", "CHANGELOG.md", "LICENSE", "docs", "otel_fastpath")

sys.path.insert(0, str(ROOT / "docs"))
import metadata_hook  # noqa: E402  # found only from here on


def built(folder, repository):
    """The metadata of the wheel and of the source distribution, and the pages in the wheel, with this setting."""
    uv = ROOT / ".tools" / "bin" / "uv"
    if not uv.exists():
        pytest.skip("uv is not set up: make setup")
    for name in READ:
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("*.so", "__pycache__"))
        else:
            shutil.copyfile(ROOT / name, folder / name)
    project = folder / "pyproject.toml"
    text = project.read_text(encoding="utf-8")
    assert SETTING in text
    project.write_text(text.replace(SETTING, f'repository = "{repository}"'), encoding="utf-8")
    done = subprocess.run(
        [uv, "build", "--offline", "--python", sys.executable, "--out-dir", folder / "dist", folder],
        env={"PATH": str(Path(sys.executable).parent), "HOME": str(Path.home()), "OTEL_FASTPATH_EXTENSION": "off"},
        capture_output=True,
        text=True,
        check=False,
        timeout=200,
    )
    told = done.stderr + done.stdout
    if done.returncode and ("offline" in told or "network was disabled" in told):
        pytest.skip("the build backend is not in uv's cache")
    assert done.returncode == 0, told
    (wheel,) = (folder / "dist").glob("*.whl")
    with zipfile.ZipFile(wheel) as file:
        of_wheel = file.read(next(name for name in file.namelist() if name.endswith("/METADATA"))).decode()
        pages = [each for each in file.infolist() if each.filename.startswith("otel_fastpath/docs/")]
    (source,) = (folder / "dist").glob("*.tar.gz")
    with tarfile.open(source) as file:
        folder_in_it = source.name.removesuffix(".tar.gz")
        of_source = file.extractfile(f"{folder_in_it}/PKG-INFO").read().decode()
    return of_wheel, of_source, pages


@pytest.mark.parametrize("repository", ["", ADDRESS])
def test_a_package_has_the_addresses_that_the_setting_gives(tmp_path, repository):
    """None without it; with it, each link of the README is absolute, in the source distribution and in its wheel."""
    of_wheel, of_source, pages = built(tmp_path, repository)

    assert of_wheel == of_source
    metadata = Parser().parsestr(of_wheel)
    targets = re.findall(r"\]\(([^)\s]+)\)", metadata.get_payload())
    urls = dict(each.split(", ", 1) for each in metadata.get_all("Project-URL", []))
    if repository:
        assert urls == {
            "Repository": ADDRESS,
            "Documentation": f"{ADDRESS}/blob/main/docs/index.md",
            "Changelog": f"{ADDRESS}/blob/main/CHANGELOG.md",
            "Issues": f"{ADDRESS}/issues",
        }
        assert f"{ADDRESS}/blob/main/docs/try.md" in targets
        assert [each for each in targets if not each.startswith("https://")] == []
    else:
        assert (urls, targets) == ({}, [])
        assert "The demo has a second service" in metadata.get_payload()
    assert metadata["Description-Content-Type"] == "text/markdown"
    expected = {path.name for path in (ROOT / "docs").glob("*.md")} | {"changelog.md"}
    assert {each.filename.rpartition("/")[2] for each in pages} == expected
    said = re.search(r"about (\d+) kB to a wheel, and (\d+) kB to an", (ROOT / "docs" / "commands.md").read_text())
    for number, size in zip(said.groups(), ("compress_size", "file_size"), strict=True):
        assert sum(getattr(each, size) for each in pages) / 1000 == pytest.approx(int(number), rel=0.15)


def test_links_and_pictures_become_absolute():
    """In Markdown and HTML; those to other places stay."""
    pictures = '[![p](docs/p.svg)](docs/demo.md) <img src="docs/p.svg" alt="p">'
    text = f"[a](docs/a.md#b) {pictures} [c](https://c.example) [d](#d)"

    assert metadata_hook.absolute(text, ADDRESS) == (
        f"[a]({ADDRESS}/blob/main/docs/a.md#b) [![p]({ADDRESS}/raw/main/docs/p.svg)]({ADDRESS}/blob/main/docs/demo.md) "
        f'<img src="{ADDRESS}/raw/main/docs/p.svg" alt="p"> [c](https://c.example) [d](#d)'
    )
    assert metadata_hook.absolute(text, "") == 'a  <img  alt="p"> [c](https://c.example) [d](#d)'


@pytest.mark.parametrize(
    "path",
    [ROOT / "pyproject.toml", ROOT / "mkdocs.yml", *sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").rglob("*.md"))],
    ids=lambda path: path.name,
)
def test_no_file_has_an_address_of_its_own(path):
    """Of this project: they follow from the setting."""
    text = path.read_text(encoding="utf-8")

    assert re.findall(r"https?://[^\s)>\"]*otel-fastpath[^\s)>\"]*", text.replace("/work/otel-fastpath", "")) == []
