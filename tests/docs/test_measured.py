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
PARTS = pages.declared()
TABLES = {table.name: table for part in PARTS.values() for table in part.tables}
PAGE = "# Title\n\n<!-- one: begin -->\nold\n<!-- one: end -->\n\nMore.\n"
WRITES = 'python -c \'open("result.md", "w").write("## Heading\\n\\n| new |\\n")\''


@pytest.fixture
def project(tmp_path):
    """A git repository with one page, and a function that runs `make tables` with the declaration of its table."""
    (tmp_path / "page.md").write_text(PAGE)
    (tmp_path / ".gitignore").write_text("result.md\n")

    def run(command, *arguments):
        declaration = tmp_path / "tables.toml"
        declaration.write_text(f'[one]\npage = "page.md"\nfile = "result.md"\nminutes = 1\ncommand = """{command}"""\n')
        for words in (("init", "-q"), ("add", ".gitignore", "page.md", "tables.toml"), ("commit", "-qm", "one")):
            subprocess.run([*GIT, *words], cwd=tmp_path, check=True)
        (tmp_path / "page.md").write_text(f"{PAGE}Changed.\n")  # a page may have changed
        return pages.main(arguments, tmp_path, declaration)

    return run


def test_each_table_has_a_command():
    """What stands between marks of a page is declared, and the other way round.

    One page is made from the source, and what `make mutations` measures takes too long for `make tables`.
    """
    marked = {
        (name, path.relative_to(ROOT).as_posix())
        for path in (ROOT / "README.md", *(ROOT / "docs").glob("*.md"))
        for name in re.findall(r"<!-- (\w+): begin -->", path.read_text(encoding="utf-8"))
    }

    made = {("folders", "docs/architecture.md"), ("power", "docs/prove.md")}
    assert marked - made == {(name, table.page) for name, table in TABLES.items()}


@pytest.mark.parametrize("name", PARTS)
def test_the_command_writes_the_file(name):
    """It names the file, or is a program that writes it by itself; its program exists."""
    part = PARTS[name]
    words = part.command.split()

    assert words[0] in {"make", "python"}
    if words[0] == "python":
        assert (ROOT / words[1]).exists()
    if "--markdown" in part.command:
        assert f"--markdown {part.tables[0].file}" in part.command


def test_all_tables_take_an_hour_at_most():
    """On a quiet machine. The help says how long each part takes."""
    assert sum(part.minutes for part in PARTS.values()) <= 60
    assert min(part.minutes for part in PARTS.values()) > 0


def test_the_help_has_the_minutes(project, capsys):
    """And the pages."""
    with pytest.raises(SystemExit):
        project("python -c 'import sys; sys.exit(5)'", "--help")

    assert re.search(r"one +1 min +page.md$", capsys.readouterr().out, re.MULTILINE)


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


def test_a_part_can_have_more_tables_and_pictures(project, tmp_path):
    """One command measures them all."""
    project("true")
    (tmp_path / "page.md").write_text(f"{PAGE}<!-- two: begin -->\nold\n<!-- two: end -->\n")
    (tmp_path / ".gitignore").write_text("*.out\n")
    script = 'for name in "123": open(name + ".out", "w").write("new " + name)'
    (tmp_path / "tables.toml").write_text(
        f'[one]\npage = "page.md"\nfile = "1.out"\nminutes = 1\ncommand = """python -c \'{script}\'"""\n'
        'also = [{ name = "two", page = "page.md", file = "2.out" }]\ncopies = { "picture.svg" = "3.out" }\n'
    )
    subprocess.run([*GIT, "commit", "-qam", "more"], cwd=tmp_path, check=True)

    assert pages.main([], tmp_path, tmp_path / "tables.toml") == 0

    first, _, second = (tmp_path / "page.md").read_text().partition("<!-- two: begin -->")
    assert "new 1" in first
    assert "new 2" in second
    assert (tmp_path / "picture.svg").read_text() == "new 3"
    assert pages.changes(tmp_path, pages.declared(tmp_path / "tables.toml")) == []


def test_an_old_result_is_not_inserted(project, tmp_path, capsys):
    """A command that succeeds and writes nothing has failed."""
    (tmp_path / "result.md").write_text("of another run")

    assert project("true") == 1
    assert capsys.readouterr().err == "failed, and left as they were: one\n"
    assert "of another run" not in (tmp_path / "page.md").read_text()


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
    assert capsys.readouterr().out.split()[:5] == ["one", "1", "min", "page.md", "python"]
    with pytest.raises(SystemExit):
        pages.main(["none"])
