"""A project with budgets in a folder of its own, and the command run in it."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pytest

# One cheap hook, one that is async, one that fails, one that is twice as much work as it was.
MODULE = """
def work():
    pass

def hooked():
    for _ in range(40):
        pass

async def async_work():
    pass

async def async_hooked():
    for _ in range(40):
        pass

def broken():
    raise ValueError("no such item")
"""
QUICK = ("--processes", "1", "--cycles", "20", "--pause", "0")


def pytest_collection_modifyitems(items):
    """A test here is a dozen processes: on a crowded machine they take minutes."""
    folder = str(Path(__file__).parent)
    for item in items:
        if str(item.path).startswith(folder) and not item.get_closest_marker("timeout"):
            item.add_marker(pytest.mark.timeout(600))


class Project:
    """A folder with a module and a declaration."""

    written = 0

    def __init__(self, folder):
        self.folder = folder
        self.write("hooks.py", MODULE)

    def write(self, name, text):
        """A file of the project."""
        file = self.folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(textwrap.dedent(text), encoding="utf-8")
        # Of a module that is changed twice a second, to one as long, Python would take the old bytecode.
        Project.written += 1
        os.utime(file, (time.time() + Project.written,) * 2)
        return file

    def declare(self, limits, name="hook", bare="work", instrumented="hooked", settings=""):
        """Budgets of one scenario, in a file of their own."""
        return self.write("budgets.toml", settings + self.scenario(limits, name, bare, instrumented))

    @staticmethod
    def scenario(limits, name="hook", bare="work", instrumented="hooked"):
        """The table of a scenario."""
        callables = f'bare = "hooks:{bare}"\ninstrumented = "hooks:{instrumented}"'
        return f"[scenarios.{name}]\n{callables}\n{textwrap.dedent(limits)}\n"

    def run(self, *arguments, errors=subprocess.PIPE):
        """The command, in the project's folder."""
        return subprocess.run(
            [sys.executable, "-m", "otel_fastpath", *arguments],
            cwd=self.folder,
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
            check=False,
        )

    def calibrate(self, *arguments):
        """`budget calibrate` of the declaration, likewise."""
        return self.run("budget", "calibrate", "--file", "budgets.toml", *QUICK[:4], *arguments)

    def check(self, *arguments, errors=subprocess.PIPE):
        """`budget check` of the declaration, with as little measuring as there can be."""
        return self.run("budget", "check", "--file", "budgets.toml", *QUICK, *arguments, errors=errors)


@pytest.fixture
def project(tmp_path):
    """A project in an empty folder."""
    return Project(tmp_path)


@pytest.fixture
def here(monkeypatch):
    """A function that puts a folder on the path of this process, and forgets its modules in the end."""
    added = []

    def use(folder):
        monkeypatch.syspath_prepend(str(folder))
        added.append(Path(folder))

    before = set(sys.modules)
    yield use
    for name in set(sys.modules) - before:
        file = getattr(sys.modules[name], "__file__", None) or ""
        if any(file.startswith(str(folder)) for folder in added):
            del sys.modules[name]
