"""The measured tables: each is declared with its command, and `make tables` inserts it into its page."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "benchmarks"))

import pages  # noqa: E402  # found only from here on
from readme import insert  # noqa: E402  # likewise

pytestmark = pytest.mark.source
GIT = (shutil.which("git") or "git", "-c", "user.name=t", "-c", "user.email=t@t")
TABLES = pages.declared()
PAGE = "# Title\n\n<!-- one: begin -->\nold\n<!-- one: end -->\n\nMore.\n"
WRITES = 'python -c \'open("result.md", "w").write("## Heading\\n\\n| new |\\n")\''


@pytest.fixture
def project(tmp_path):
    """A git repository with one page, and a function that runs `make tables` with the declaration of its table."""
    (tmp_path / "page.md").write_text(PAGE)
    (tmp_path / ".gitignore").write_text("result.md\n")

    def run(command, *arguments):
        declaration = tmp_path / "tables.toml"
        declaration.write_text(f'[one]\npage = "page.md"\nfile = "result.md"\ncommand = """{command}"""\n')
        for words in (("init", "-q"), ("add", ".gitignore", "page.md", "tables.toml"), ("commit", "-qm", "one")):
            subprocess.run([*GIT, *words], cwd=tmp_path, check=True)
        (tmp_path / "page.md").write_text(f"{PAGE}Changed.\n")  # a page may have changed
        return pages.main(arguments, tmp_path, declaration)

    return run


def test_each_table_has_a_command():
    """What stands between marks of a page is declared, and the other way round; two pages are made from the source."""
    marked = {
        (name, path.relative_to(ROOT).as_posix())
        for path in (ROOT / "README.md", *(ROOT / "docs").glob("*.md"))
        for name in re.findall(r"<!-- (\w+): begin -->", path.read_text(encoding="utf-8"))
    }

    assert marked - {("tables", "docs/telemetry.md")} == {(name, table.page) for name, table in TABLES.items()}


@pytest.mark.parametrize("name", TABLES)
def test_the_command_writes_the_file(name):
    """It names the file, or is a program that writes it by itself; its program exists."""
    table = TABLES[name]
    words = table.command.split()

    assert words[0] in {"make", "python"}
    if words[0] == "python":
        assert (ROOT / words[1]).exists()
    if "--markdown" in table.command:
        assert f"--markdown {table.file}" in table.command


def test_a_table_replaces_the_old_one():
    """Without its heading; the rest of the page stays."""
    assert insert(PAGE, "one", "## Heading\n\n| new |\n") == PAGE.replace("old", "\n| new |\n")
    with pytest.raises(ValueError, match="two"):
        insert(PAGE, "two", "| new |")


def test_the_table_belongs_to_a_commit(project, tmp_path):
    """The page says which."""
    assert project(WRITES.replace("\\", "\\\\")) == 0

    text = (tmp_path / "page.md").read_text()
    assert re.search(r"begin -->\n\n\| new \|\n\nMeasured at commit [0-9a-f]{7,}, [\d-]{10}\.\n\n<!-- one: end", text)
    assert text.endswith("More.\nChanged.\n")


def test_a_tree_with_changes_is_refused(project, tmp_path, capsys):
    """Also with a file that git does not know; nothing runs."""
    (tmp_path / "module.py").write_text("")

    assert project("python -c 'import sys; sys.exit(5)'") == 2
    assert capsys.readouterr().err == "commit these changes first: module.py\n"
    assert "old" in (tmp_path / "page.md").read_text()


def test_a_failed_command_leaves_the_page(project, tmp_path, capsys):
    """And is named."""
    assert project("python -c 'import sys; sys.exit(5)'") == 1
    assert capsys.readouterr().err == "failed, and left as they were: one\n"
    assert "old" in (tmp_path / "page.md").read_text()


def test_the_commands_can_be_listed(project, capsys):
    """Nothing runs; a name that does not exist is an error."""
    assert project("python -c 'import sys; sys.exit(5)'", "--list") == 0
    assert capsys.readouterr().out.split()[:3] == ["one", "page.md", "python"]
    with pytest.raises(SystemExit):
        pages.main(["none"])
