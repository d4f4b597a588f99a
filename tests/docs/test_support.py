"""The page of what is supported names what the package declares, and the project's files what there is."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

from otel_fastpath.features import LIBRARIES
from otel_fastpath.trace.stock_sources import SDK

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

pytestmark = pytest.mark.source
ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "support.md").read_text(encoding="utf-8")
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


def declared(requirements):
    """Distribution -> the lowest release, of requirements without a condition."""
    return dict(re.fullmatch(r"([\w-]+)>=([\w.]+)", each).groups() for each in requirements if ";" not in each)


def row(beginning):
    """The cells of the table row with this first cell."""
    (line,) = [line for line in PAGE.splitlines() if line.startswith(f"| {beginning} |")]
    return [cell.strip() for cell in line.strip("|").split("|")]


def test_the_interpreters_are_those_that_wheels_are_built_for():
    """In the table and in cibuildwheel's configuration."""
    built = [re.fullmatch(r"cp3(\d+)(t?)-\*", each).groups() for each in PROJECT["tool"]["cibuildwheel"]["build"]]
    with_the_lock = ", ".join(f"3.{minor}" for minor, free in built if not free)
    free_threaded = ", ".join(f"3.{minor}t" for minor, free in built if free)

    assert f"| CPython {with_the_lock} | wheels | yes |" in PAGE.splitlines()
    assert f"| CPython {free_threaded} (free-threaded) | wheels | yes |" in PAGE.splitlines()


def test_the_platforms_are_those_of_the_images():
    """The oldest C libraries, and an operating system for each classifier."""
    images = {name: value for name, value in PROJECT["tool"]["cibuildwheel"].items() if name.endswith("-image")}

    assert set(images.values()) == set(re.findall(r"`((?:many|musl)linux_\d+_\d+)`", PAGE))
    systems = {each.rpartition(" :: ")[2] for each in PROJECT["project"]["classifiers"] if "Operating System" in each}
    table = PAGE.split("## Platforms", 1)[1].split("\n## ", 1)[0]
    assert {name for name in ("Linux", "MacOS", "Windows") if f"| {name.lower()}" in table.lower()} == systems


def test_the_releases_are_those_that_are_required():
    """Of OpenTelemetry and of each library with an extra."""
    lowest = declared(PROJECT["project"]["dependencies"])
    extras = PROJECT["project"]["optional-dependencies"]

    assert lowest["opentelemetry-api"] == lowest["opentelemetry-sdk"]
    assert row("`opentelemetry-api`, `opentelemetry-sdk`")[1] == f"{lowest['opentelemetry-api']} and newer"
    assert row("`opentelemetry-instrumentation`")[1] == f"{lowest['opentelemetry-instrumentation']} and newer"
    for name in extras.keys() - {"budget", "completion"}:
        (release,) = declared(extras[name]).values()
        assert row(f"`{name}`")[1].startswith(f"{release} and newer")
        assert row(f"`{name}`")[2] == f"`otel-fastpath[{name}]`"


def test_the_replaced_releases_are_those_of_the_wrappers():
    """Of each stock instrumentation, in the table."""
    emulated = [each for wrapper in LIBRARIES.wrappers for rival in wrapper.rivals for each in rival.emulated]

    assert len(emulated) >= 4
    for requirement in emulated:
        name, lowest, end = re.fullmatch(r"([\w-]+)>=([\w.]+),<([\w.]+)", requirement).groups()
        assert row(f"`{name}`")[1] == f"from {lowest}, before {end}"


def test_every_release_that_a_patch_asks_for_is_on_the_page():
    """Of libraries and of the stock instrumentations whose hooks are replaced."""
    asked = {each for patch in LIBRARIES.all_patches() for text in patch.requires for each in text.split(" | ")}
    lowest = {}
    for text in asked - set(SDK):
        name, release = re.match(r"([\w-]+)>=([\w.]+)", text).groups()
        lowest.setdefault(name.lower(), set()).add(release)
    shown = {}
    for line in re.findall(r"^\| (`.*)", PAGE, re.MULTILINE):
        for name in re.findall("`([^`]+)`", line.partition(" |")[0]):
            whole = f"opentelemetry-instrumentation{name}" if name.startswith("-") else name
            shown[whole.lower()] = shown.get(whole.lower(), "") + line

    assert len(lowest) > 20
    assert lowest.keys() - shown.keys() == set()
    # The releases of stock instrumentations that wrappers replace are tested above; openai's patches accept older
    # releases than those that the tests run with.
    libraries = [name for name in lowest if not name.startswith("opentelemetry-") and name != "openai"]
    assert [name for name in libraries if not any(each in shown[name] for each in lowest[name])] == []
