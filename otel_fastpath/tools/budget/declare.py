"""Budgets as a project declares them: `[tool.otel-fastpath.budgets]` of a pyproject.toml, or a separate TOML file.

Every mistake is reported in one line: file, key, value, and what was expected.
"""

from __future__ import annotations

import functools
import json
import re
import sys
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from otel_fastpath.tools.budget import limits
from otel_fastpath.tools.budget.reference import REFERENCES

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from otel_fastpath.tools.budget.limits import Limit

TABLE: Final = ("tool", "otel-fastpath", "budgets")
DEFAULT_REFERENCE: Final = "minispan/1"
DEFAULT_LOCK: Final = "overhead-lock.toml"
# A different version of one of these can change every count.
DEFAULT_DISTRIBUTIONS: Final = (
    "opentelemetry-api",
    "opentelemetry-sdk",
    "opentelemetry-semantic-conventions",
    "otel-fastpath",
    "wrapt",
)
DEFAULT_FUNCTIONS: Final = 10
SETTINGS: Final = ("reference", "path", "source", "share", "lock", "distributions", "functions", "scenarios")
SCENARIO: Final = ("bare", "instrumented", "setup", "variants", *limits.DECLARED)
PLACE: Final = re.compile(r"[A-Za-z_][\w.]*:[A-Za-z_][\w.]*")
_BARE_KEY = re.compile(r"[A-Za-z0-9_-]+")


class DeclarationError(Exception):
    """A mistake in a declaration; the message is one line."""

    def __init__(self, file: Path | str, key: str, value: object, expected: str) -> None:
        shown = value if isinstance(value, _Verbatim) else json.dumps(value, default=str, ensure_ascii=False)
        at = f"{key} = {shown}" if key else str(shown)
        super().__init__(" ".join(f"{file}: {at}: expected {expected}".split()))


class _Verbatim(str):
    """A text that is shown without quotes, for a value that is missing."""

    __slots__ = ()


NOT_SET: Final = _Verbatim("(not set)")


@dataclass(frozen=True)
class Scenario:
    """One hook with a budget: the same work without and with it.

    Attributes:
        name: Its name in results.
        bare: "module:function" of the work without the hook, sync or async.
        instrumented: The same work with the hook.
        setup: Called once in every measuring process; a generator function is resumed at the end. The value that it
            returns or yields is passed to both callables, unless it is None.
        limits: The limits to check.
        key: The key under which it is declared, for messages.
    """

    name: str
    bare: str
    instrumented: str
    setup: str | None = None
    limits: tuple[Limit, ...] = ()
    key: str = ""


@dataclass(frozen=True)
class Declaration:
    """The budgets of one project.

    Attributes:
        file: The file that declares them.
        scenarios: The scenarios by name.
        reference: The frozen workload that is the unit `ref`.
        path: Folders that the scenarios' modules are imported from.
        source: Folders of the code under test, which a comparison replaces with those of another version.
        share: Packages that base and head share in a comparison.
        lock: The file of the calibrated values.
        distributions: Distributions whose versions calibrated counts depend on; `*` and `?` are wildcards.
        functions: How many functions are recorded with a scenario's calibrated counts, to say later which have grown.
    """

    file: Path
    scenarios: Mapping[str, Scenario]
    reference: str = DEFAULT_REFERENCE
    path: tuple[Path, ...] = ()
    source: tuple[Path, ...] = ()
    share: tuple[str, ...] = ()
    lock: Path = Path(DEFAULT_LOCK)
    distributions: tuple[str, ...] = DEFAULT_DISTRIBUTIONS
    functions: int = DEFAULT_FUNCTIONS

    @property
    def folder(self) -> Path:
        """The folder that relative paths are relative to."""
        return self.file.parent

    def error(self, key: str, value: object, expected: str) -> DeclarationError:
        """Make the exception for a mistake in this declaration."""
        return DeclarationError(self.file, key, value, expected)


def find(start: Path) -> Path | None:
    """Find the nearest pyproject.toml with budgets, from this folder upwards."""
    for folder in (start, *start.parents):
        file = folder / "pyproject.toml"
        if file.is_file() and _table_of(file, load_toml(file)) is not None:
            return file
    return None


def read(file: Path) -> Declaration:
    """Read the budgets of a pyproject.toml or of a separate file.

    Raises:
        DeclarationError: The file cannot be read, or its content is not valid.
    """
    file = file.resolve()
    table = _table_of(file, load_toml(file))
    if table is None:
        raise DeclarationError(file, "", NOT_SET, f"a table [{'.'.join(TABLE)}]")
    return _Reader(file, table).declaration()


def load_toml(file: Path) -> dict[str, Any]:
    """Read a TOML file.

    Raises:
        DeclarationError: The file cannot be read.
    """
    if sys.version_info >= (3, 11):
        import tomllib  # noqa: PLC0415  # Python 3.10 does not have it
    else:
        try:
            import tomli as tomllib  # noqa: PLC0415  # only there
        except ImportError:
            raise DeclarationError(
                file, "", "Python 3.10 reads TOML with tomli", "it installed: pip install otel-fastpath[budget]"
            ) from None
    try:
        return tomllib.loads(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise DeclarationError(file, "", _Verbatim(error.strerror or error), "a readable file") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise DeclarationError(file, "", _Verbatim(error), "TOML") from None


def line_of(declaration: Declaration, scenario: str) -> int:
    """The number, from 1, of the line with the table of a scenario, or 1 if it is declared in another form."""
    table = declaration.scenarios[scenario].key.partition("scenarios.")[2]
    names = {table, json.dumps(table, ensure_ascii=False), f"'{table}'"}
    header = re.compile(rf"\s*\[.*\bscenarios\s*\.\s*({'|'.join(map(re.escape, names))})\s*\]")
    for number, line in enumerate(declaration.file.read_text(encoding="utf-8").splitlines(), 1):
        if header.match(line):
            return number
    return 1


def _table_of(file: Path, content: dict[str, Any]) -> dict[str, Any] | None:
    if file.name != "pyproject.toml":
        return content
    table: Any = content
    for name in TABLE:
        table = table.get(name) if isinstance(table, dict) else None
    return table if isinstance(table, dict) else None


def is_chosen(name: str, patterns: Iterable[str]) -> bool:
    """Whether a scenario is one of these names, or matches one.

    The name of a variant, "span[c]", is a pattern, too; the name as it is declared, "span", is that of all variants.
    """
    names = {name, name.rpartition("[")[0] if name.endswith("]") else name}
    return any(each == pattern or fnmatchcase(each, pattern) for pattern in patterns for each in names)


def quoted(name: str) -> str:
    """A TOML key."""
    return name if _BARE_KEY.fullmatch(name) else json.dumps(name, ensure_ascii=False)


class _Reader:
    """One file being read."""

    def __init__(self, file: Path, table: dict[str, Any]) -> None:
        self._file = file
        self._table = table
        self._prefix = ".".join(TABLE) + "." if file.name == "pyproject.toml" else ""

    def declaration(self) -> Declaration:
        for key in self._table:
            if key not in SETTINGS:
                raise self._error(key, self._table[key], "one of the keys " + ", ".join(SETTINGS))
        reference = self._table.get("reference", DEFAULT_REFERENCE)
        if reference not in REFERENCES:
            raise self._error("reference", reference, "one of " + ", ".join(REFERENCES))
        lock = self._table.get("lock", DEFAULT_LOCK)
        if not isinstance(lock, str) or not lock.endswith(".toml"):
            raise self._error("lock", lock, "the name of a TOML file")
        functions = self._table.get("functions", DEFAULT_FUNCTIONS)
        if type(functions) is not int or functions < 0:
            raise self._error("functions", functions, "a number from 0 upwards")
        source = self._folders("source", ["src"] if (self._file.parent / "src").is_dir() else ["."])
        return Declaration(
            file=self._file,
            reference=reference,
            path=self._folders("path", ["."]),
            source=source,
            share=self._texts("share", ()),
            lock=self._file.parent / lock,
            distributions=self._texts("distributions", DEFAULT_DISTRIBUTIONS),
            functions=functions,
            scenarios={scenario.name: scenario for scenario in self._scenarios()},
        )

    def _error(self, key: str, value: object, expected: str) -> DeclarationError:
        return DeclarationError(self._file, self._prefix + key, value, expected)

    def _texts(self, key: str, default: Any) -> tuple[str, ...]:
        value = self._table.get(key, default)
        if not isinstance(value, (list, tuple)) or not all(isinstance(item, str) and item for item in value):
            raise self._error(key, value, "a list of strings")
        return tuple(value)

    def _folders(self, key: str, default: list[str]) -> tuple[Path, ...]:
        names = self._table.get(key, default)
        if not isinstance(names, list):
            raise self._error(key, names, "a list of folders")
        folders = []
        for name in names:
            folder = self._file.parent / name if isinstance(name, str) else None
            if folder is None or not folder.is_dir():
                raise self._error(key, name, f"a folder, relative to {self._file.parent}")
            folders.append(folder.resolve())
        return tuple(folders)

    def _scenarios(self) -> Iterator[Scenario]:
        tables = self._table.get("scenarios", NOT_SET)
        if not isinstance(tables, dict) or not tables:
            raise self._error("scenarios", tables, "a table for each scenario")
        for name, table in tables.items():
            key = f"scenarios.{quoted(name)}"
            if not isinstance(table, dict):
                raise self._error(key, table, "a table with bare, instrumented and limits")
            for inner, value in table.items():
                if inner not in SCENARIO:
                    raise self._error(f"{key}.{quoted(inner)}", value, "one of the keys " + ", ".join(SCENARIO))
            yield from self._variants(name, key, table)

    def _variants(self, name: str, key: str, table: dict[str, Any]) -> Iterator[Scenario]:
        variants = table.get("variants", NOT_SET)
        if variants is NOT_SET:
            yield self._scenario(name, key, table, table.get("setup"), None)
            return
        if not isinstance(variants, dict) or not variants or "setup" in table:
            raise self._error(f"{key}.variants", variants, 'a table of name = "module:function" instead of setup')
        for variant in variants:
            yield self._scenario(f"{name}[{variant}]", key, table, variants[variant], variant)

    def _scenario(self, name: str, key: str, table: dict[str, Any], setup: Any, variant: str | None) -> Scenario:
        places = {place: table.get(place, NOT_SET) for place in ("bare", "instrumented")}
        if setup is not None:
            places["setup" if variant is None else f"variants.{quoted(variant)}"] = setup
        for place, value in places.items():
            if not isinstance(value, str) or not PLACE.fullmatch(value):
                raise self._error(f"{key}.{place}", value, '"module:function"')
        found = [limit for metric in limits.DECLARED for limit in self._limits(key, metric, table, variant)]
        if not found and variant != limits.STOCK:
            raise self._error(key, NOT_SET, "at least one limit: " + ", ".join(limits.DECLARED))
        if any(limit.unit == limits.STOCK for limit in found) and limits.STOCK not in table.get("variants", {}):
            raise self._error(
                f"{key}.variants", table.get("variants", NOT_SET), "a variant stock, for a share of its count"
            )
        return Scenario(name, table["bare"], table["instrumented"], setup, tuple(found), self._prefix + key)

    def _limits(self, key: str, metric: str, table: dict[str, Any], variant: str | None) -> Iterator[Limit]:
        texts = table.get(metric, [])
        key = f"{key}.{metric}"
        if isinstance(texts, dict):
            known = table.get("variants", {})
            for name in texts:
                if name not in known:
                    raise self._error(f"{key}.{quoted(name)}", texts[name], "the name of one of the variants")
            key, texts = f"{key}.{quoted(variant or '')}", texts.get(variant, [])
        yield from parse_limits(metric, texts, functools.partial(self._error, key))


def parse_limits(metric: str, texts: Any, error: Callable[[object, str], DeclarationError]) -> Iterator[Limit]:
    """Read one limit of a metric, or a list of them; `error(value, expected)` makes the exception to raise."""
    for text in texts if isinstance(texts, list) else [texts]:
        limit = limits.parse(metric, text)
        if limit is None:
            raise error(text, limits.describe_syntax(metric))
        yield limit
