"""Who may import whom: the table of the design, read off the source, function-level imports included."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

import otel_fastpath

ROOT = Path(otel_fastpath.__file__).parent
NAME = "otel_fastpath"
FILES = sorted(path for path in ROOT.rglob("*.py") if "__pycache__" not in path.parts)

LEVEL_0 = {"config", "_locks", "_platform", "_quiet", "_imports", "_swap", "lazy", "versions", "wrong_settings"}
BELOW_2 = LEVEL_0 | {"_guard", "patching", "core"}
# Unit (a module or folder of the package) -> the units that it may import. "": the public names.
MAY_IMPORT = {
    **{name: set() for name in LEVEL_0},
    "config": {"wrong_settings"},
    "_imports": {"_locks"},
    "lazy": {"_locks"},
    # The design has patching.py on level 0; what it consists of stands below it.
    "_guard": {"_quiet", "_swap"},
    "patching": {"_guard", "_imports", "_locks", "_quiet", "_swap"},
    "core": BELOW_2 - {"patching", "_guard"},
    "sdk": BELOW_2,
    "wrap": BELOW_2,
    "exceptions": BELOW_2,
    "instrumentor": BELOW_2 | {"sdk", "wrap", "exceptions"},
    "status": BELOW_2,
    "__init__": BELOW_2 | {"sdk", "wrap", "exceptions", "instrumentor"},
    "budget": {""},
    # The command loads the sub-command that it was asked for.
    "__main__": {"", "config", "status", "instrumentor", "budget"},
}
# Unit -> what it may import besides the standard library.
THIRD_PARTIES = {
    # Requirements are PEP 508's; OpenTelemetry's own instrumentation package brings their parser.
    "_guard": {"packaging"},
    "core": {"opentelemetry", "Cython", "setuptools", "hatchling"},
    "sdk": {"opentelemetry", "packaging"},
    "wrap": {"opentelemetry", "wrapt"},
    "exceptions": {"opentelemetry"},
    "instrumentor": {"opentelemetry"},
    # It measures OpenTelemetry, and is a plugin of pytest.
    "budget": {"opentelemetry", "pytest"},
}
# What a wrapper is for is imported by the function that patches it, and what a benchmark measures by the one that does.
APPLICATIONS = {"openai", "asyncpg", "fastapi", "starlette", "httpx", "httpcore", "requests"}
# The last three are what Python 3.10 does not have in its standard library.
# An exporter over HTTP imports requests when it is made, and our part of it when it first sends.
IN_FUNCTIONS = {
    "sdk": {"requests"},
    "wrap": APPLICATIONS,
    "budget": APPLICATIONS | {"tomli", "tomllib", "typing_extensions"},
}
# Patched modules: importing one is the application's decision.
PATCHED = ("opentelemetry.sdk", "opentelemetry.exporter", "opentelemetry.instrumentation.", "opentelemetry.proto")
DECIDES = {"instrumentor": "opentelemetry.instrumentation.instrumentor"}


@dataclass(frozen=True)
class Import:
    """One module that a file imports.

    Attributes:
        importer: The importing module.
        target: The imported one.
        at_top: Whether importing the importer imports it.
    """

    importer: str
    target: str
    at_top: bool


def module_name(path):
    """The dotted name of a file of the package."""
    parts = [NAME, *path.relative_to(ROOT).with_suffix("").parts]
    return ".".join(parts[:-1] if parts[-1] == "__init__" and len(parts) > 2 else parts)


MODULES = {module_name(path): path for path in FILES}


def is_for_types(node):
    """Whether it is `if TYPE_CHECKING`, or a branch that only the compiled core takes."""
    return isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"


def targets(node):
    """The modules that an import statement names; `from package import module` names the module."""
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    assert node.level == 0, "imports are absolute"
    found = [f"{node.module}.{alias.name}" for alias in node.names]
    modules = [name for name in found if name in MODULES]
    return modules + ([node.module] if len(modules) < len(found) else [])


def walk(importer, nodes, *, at_top):
    """Every import below these nodes."""
    for node in nodes:
        if isinstance(node, ast.Import | ast.ImportFrom):
            yield from (Import(importer, target, at_top) for target in targets(node))
            continue
        later = isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda) or is_for_types(node)
        yield from walk(importer, ast.iter_child_nodes(node), at_top=at_top and not later)


IMPORTS = [
    each
    for name, path in MODULES.items()
    for each in walk(name, ast.parse(path.read_text(encoding="utf-8")).body, at_top=True)
]


def unit(module):
    """The module or folder of the package that a dotted name is in; "" for the package itself."""
    parts = module.split(".")
    return parts[1] if len(parts) > 1 else ""


def is_ours(module):
    """Whether it is part of this package."""
    return module.partition(".")[0] == NAME


def test_every_file_has_a_place():
    """A new module needs a line in the table."""
    assert {unit(name) for name in MODULES} <= MAY_IMPORT.keys()


def test_layers_import_downwards_only():
    """Each unit imports itself and what the table allows, at the top or in a function."""
    wrong = [
        each
        for each in IMPORTS
        if is_ours(each.target)
        and unit(each.target) != unit(each.importer)
        and unit(each.target) not in MAY_IMPORT[unit(each.importer)]
    ]

    assert wrong == []


def test_patches_and_wrappers_do_not_know_each_other():
    """Modules side by side in sdk/ and wrap/ share only what begins with an underscore."""
    wrong = [
        each
        for each in IMPORTS
        if is_ours(each.target)
        and unit(each.importer) in {"sdk", "wrap"}
        and unit(each.target) == unit(each.importer)
        and each.importer.count(".") > 1
        and not each.target.rpartition(".")[2].startswith("_")
    ]

    assert wrong == []


def test_third_parties_are_those_allowed():
    """Level 0 needs the standard library only; an application's libraries are imported inside functions."""
    wrong = []
    for each in IMPORTS:
        top = each.target.partition(".")[0]
        if is_ours(each.target) or top in sys.stdlib_module_names:
            continue
        allowed = THIRD_PARTIES.get(unit(each.importer), set())
        if not each.at_top:
            allowed = allowed | IN_FUNCTIONS.get(unit(each.importer), set())
        if top not in allowed:
            wrong.append(each)

    assert wrong == []


def test_what_is_patched_is_not_imported_to_patch_it():
    """Outside the core, which is loaded when its target is there, no module imports the SDK when it is imported."""
    wrong = [
        each
        for each in IMPORTS
        if each.at_top
        and unit(each.importer) not in {"core", "budget"}
        and each.target.startswith(PATCHED)
        and DECIDES.get(unit(each.importer)) != each.target
    ]

    assert wrong == []


def test_there_is_no_cycle():
    """Modules can be read in an order in which each needs only those before it."""
    below = {name: set() for name in MODULES}
    for each in IMPORTS:
        if each.at_top and each.target in MODULES and each.target != each.importer:
            below[each.importer].add(each.target)
    while below:
        free = {name for name, needs in below.items() if not needs}
        assert free, f"these import each other: {below}"
        below = {name: needs - free for name, needs in below.items() if name not in free}


def test_only_config_reads_the_environment():
    """Settings come from one place. The build hook and the budgets, which run no service, have their own."""
    readers = set()
    for name, path in MODULES.items():
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Attribute) and node.attr in {"environ", "getenv", "environb"}:
                readers.add(name)

    assert {name for name in readers if unit(name) != "budget"} <= {
        f"{NAME}.config",
        f"{NAME}.core.build_hook",
    }


def loaded_by(statement):
    """The modules that a new process has after this statement and did not have before, and its threads."""
    program = f"""
import json, sys, threading, importlib.util
before = set(sys.modules)
{statement}
print(json.dumps([sorted(set(sys.modules) - before), threading.active_count(), len(sys.meta_path)]))
"""
    result = subprocess.run(
        [sys.executable, "-I", "-c", program], capture_output=True, text=True, check=True, timeout=60
    )
    assert result.stderr == ""
    return json.loads(result.stdout)


def test_importing_the_package_does_no_work():
    """One module, which imports nothing of OpenTelemetry and starts nothing."""
    modules, threads, finders = loaded_by("import otel_fastpath")
    _, _, finders_before = loaded_by("pass")

    assert [name for name in modules if name.partition(".")[0] not in sys.stdlib_module_names] == [NAME]
    assert (threads, finders) == (1, finders_before)


@pytest.mark.parametrize(
    "statement",
    [
        "from otel_fastpath import FastpathInstrumentor",
        "from otel_fastpath import FastpathInstrumentor; FastpathInstrumentor().status()",
        "from otel_fastpath import FastpathInstrumentor; FastpathInstrumentor().instrument()",
    ],
)
def test_instrumenting_imports_no_sdk_and_no_library(statement):
    """Whoever does not use the SDK, an exporter or a library does not get it from us."""
    modules, threads, _ = loaded_by(statement)

    foreign = [name for name in modules if name.startswith(("opentelemetry.sdk.trace", "opentelemetry.exporter"))]
    assert foreign == []
    assert APPLICATIONS.isdisjoint(modules)
    assert threads == 1


def test_unknown_names_of_the_package_are_attribute_errors():
    """As with any module."""
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        otel_fastpath.nothing  # noqa: B018  # reading it is the test
