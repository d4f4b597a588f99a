"""The vendors that are checked, as `vendors.toml` lists them."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from otel_fastpath.tools.verify.differences import listed

try:
    import tomllib
except ModuleNotFoundError:  # Python 3.10
    import tomli as tomllib

FOLDER = Path(__file__).parents[1]

_OTLP = {"OTEL_EXPORTER_OTLP_ENDPOINT": "{receiver}", "OTEL_EXPORTER_OTLP_PROTOCOL": "http/protobuf"}


@dataclass(frozen=True)
class Listed:
    """A difference that must be there, from the package's list.

    Attributes:
        path: Where in an item: a regular expression.
        ours: What is there with otel-fastpath, as JSON: a regular expression.
        reason: For the page.
    """

    path: str
    ours: str
    reason: str


@dataclass(frozen=True)
class Vendor:
    """A row of `vendors.toml`, which says what each field means.

    Attributes:
        name: The row's.
        title: For the reader.
        requirements: What is installed, the vendor's own package first.
        set_up: The module of `program/setups` that sets it up.
        environment: Variables of the process; `{receiver}` stands for the server's address.
        otlp: Whether the SDK's variables name the receiver.
        distro: Whether opentelemetry-distro is installed, too, and the variables name the receiver.
        launcher_sets_up: Whether `opentelemetry-instrument` does what `set_up` does.
        volatile: Keys whose values differ between two stock runs.
        replaced: Parts of texts that differ between two stock runs.
        left_out: Paths of requests that are not compared.
        items_left_out: Kinds and names of items that are not compared.
        parts_left_out: Functions of `program/work.py` that are not run.
        answers: What the server answers to these paths, as JSON.
        fewest_spans: A run that sent fewer proves nothing.
        tls: Whether the vendor's transport speaks nothing but TLS.
        differences: Those that are meant.
        goal: By how much a root span has to get cheaper, if that was promised.
        goal_of_sdk: The share that has to be saved of what a root span costs with no vendor, likewise.
    """

    name: str
    title: str
    requirements: tuple[str, ...]
    set_up: str
    environment: dict[str, str] = field(default_factory=dict)
    otlp: bool = False
    distro: bool = False
    launcher_sets_up: bool = False
    volatile: tuple[str, ...] = ()
    replaced: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()
    items_left_out: tuple[str, ...] = ()
    parts_left_out: tuple[str, ...] = ()
    answers: dict[str, str] = field(default_factory=dict)
    fewest_spans: int = 50
    tls: bool = False
    differences: tuple[Listed, ...] = ()
    goal: float = 0.0
    goal_of_sdk: float = 0.0

    @property
    def installed(self) -> tuple[str, ...]:
        """All that is installed."""
        return (*self.requirements, "opentelemetry-distro") if self.distro else self.requirements

    @property
    def variables(self) -> dict[str, str]:
        """The environment variables of its own."""
        return (_OTLP if self.otlp or self.distro else {}) | self.environment

    @property
    def package(self) -> str:
        """The distribution whose release the results name."""
        return self.requirements[0].partition("[")[0].partition(">")[0]


def vendors() -> list[Vendor]:
    """All of them, in the order of the list."""
    differences = listed()
    rows = tomllib.loads((FOLDER / "vendors.toml").read_text(encoding="utf-8"))
    found = []
    for name, row in rows.items():
        lists = {key: tuple(value) for key, value in row.items() if isinstance(value, list)}
        lists["differences"] = tuple(
            Listed(each.path, each.ours, f"{each.what} {each.why}".strip())
            for each in differences
            if each.vendor == name
        )
        found.append(Vendor(**{"name": name, "set_up": name.replace("-", "_"), **row, **lists}))
    return found
