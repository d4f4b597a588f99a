"""The suites of opentelemetry-python-contrib's packages, and the lists of what their environments consist of."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from harness.environment import project_pins, uv
from harness.paths import HERE, StockError
from harness.suites import Suite

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib  # pytest brings it

if TYPE_CHECKING:
    from collections.abc import Sequence

LIST = HERE / "contrib.toml"
LOCKS = HERE / "contrib"
_OLDEST_PYTHON = "3.10"
# What otel-fastpath, the plugin and most suites import. All of contrib's packages have been released as betas: naming a
# beta in a requirement is what lets the resolver take one.
_ANY = ">=0.1b0"
_ALWAYS = (
    "packaging",
    "pytest",
    f"opentelemetry-instrumentation{_ANY}",
    f"opentelemetry-test-utils{_ANY}",
    *(f"opentelemetry-exporter-otlp-proto-{kind}" for kind in ("http", "grpc")),
)


def contrib_suites(path: Path = LIST) -> list[Suite]:
    """The suites that the list names, in its order.

    Raises:
        StockError: An entry is not what the head of the file describes.
    """
    return [
        Suite(
            entry["name"],
            entry["distribution"],
            alone=entry.get("alone", False),
            lock=LOCKS / f"{entry['name']}.txt",
            plugins=tuple(entry.get("plugins", ())),
            variables=tuple(entry.get("variables", {}).items()),
            options=tuple(entry.get("options", ())),
            fails=entry.get("fails", ""),
        )
        for entry in _entries(path)
    ]


def write_locks(suites: Sequence[Suite]) -> None:
    """Resolve what these suites need, with the newest releases beside the project's own OpenTelemetry."""
    LOCKS.mkdir(exist_ok=True)
    needs = {entry["name"]: entry.get("needs", []) for entry in _entries(LIST)}
    # The packages name one release of OpenTelemetry, and are not released with every one of them.
    ours = [pin for pin in project_pins() if pin.startswith("opentelemetry-")]
    with tempfile.TemporaryDirectory() as folder:
        wanted, overrides = Path(folder, "wanted.txt"), Path(folder, "overrides.txt")
        overrides.write_text("\n".join(ours) + "\n")
        for suite in suites:
            wanted.write_text("\n".join([f"{suite.distribution}{_ANY}", *_ALWAYS, *needs[suite.name]]) + "\n")
            resolve = f"pip compile --no-config --universal --python-version {_OLDEST_PYTHON} --no-header --no-annotate"
            pins = uv(*resolve.split(), "--override", str(overrides), str(wanted))
            (LOCKS / f"{suite.name}.txt").write_text(pins)


def _entries(path: Path) -> list[dict[str, Any]]:
    entries: list[dict[str, Any]] = tomllib.loads(path.read_text()).get("suite", [])
    known = {"name", "distribution", "needs", "plugins", "variables", "options", "fails", "alone"}
    for number, entry in enumerate(entries, 1):
        if not {"name", "distribution"} <= entry.keys() <= known:
            raise StockError(f"{path.name}, suite {number}: the keys are {', '.join(entry)}")
    return entries
