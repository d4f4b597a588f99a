"""The allowed imports: checks the design's table against the source, including function-level imports."""

from __future__ import annotations

import ast
import functools
import re
import sys
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import otel_fastpath
from otel_fastpath.compiled import TWINS
from otel_fastpath.features import FEATURES

ROOT = Path(otel_fastpath.__file__).parent
HOT = {twin.removesuffix("_c").replace(".", "_"): twin.removesuffix("_c") for twin in TWINS}
NAME = "otel_fastpath"
FILES = sorted(path for path in ROOT.rglob("*.py") if "__pycache__" not in path.parts)

# Units: the features, and the modules beside them. The bottom imports nothing of this package.
BOTTOM = {
    "patching",
    "compiled",
    "console",
    "lazy",
    "left_out",
    "locks",
    "own_metrics",
    "settings",
    "versions",
    "wrong_settings",
}
LIBRARIES = {"cloud", "db", "genai", "http", "messaging", "rpc"}
SIGNALS = {"metrics", "logs", "otlp", "exceptions"}
BELOW_3 = BOTTOM | SIGNALS | {"trace"}
# Unit -> the units that it may import. "": the public names.
MAY_IMPORT = {
    **{name: set() for name in BOTTOM},
    # The two halves of one subject.
    "settings": {"wrong_settings"},
    "wrong_settings": {"console"},
    # Counts and states that any thread may change.
    "lazy": {"locks", "patching"},
    "left_out": {"locks", "patching"},
    "own_metrics": {"locks"},
    "patching": {"compiled", "locks"},
    "trace": BOTTOM,
    **{name: BOTTOM | {"trace"} for name in SIGNALS},
    # The encoder reads the records that `logs` makes, as it reads the spans of `trace`.
    "otlp": BOTTOM | {"trace", "logs"},
    "wrapping": BELOW_3,
    # Libraries; they do not import each other.
    **{name: BELOW_3 | {"wrapping"} for name in LIBRARIES},
    "others": BELOW_3,
    "shedding": BOTTOM,
    # The table of what can be deleted.
    "features": BELOW_3 | LIBRARIES | {"others", "wrapping", "shedding"},
    "status": BOTTOM,
    "start": BOTTOM,
    "instrumentor": BOTTOM | {"features", "status", "tools"},
    "__init__": {"instrumentor", "metrics"},
    # What they start may be asked to add this package; what runs in a process asks and answers as its status does.
    "tools": BOTTOM | {"", "budget", "features", "profile", "status"},
    # The public names of what stands deeper.
    **{name: {"tools"} for name in ("budget", "profile")},
    "gevent": {"wrapping"},
    "libraries": {"gevent"},
    # The command loads the requested sub-command.
    "__main__": {"", "settings", "status", "start", "instrumentor", "tools"},
}
# Unit -> what it may import besides the standard library.
THIRD_PARTIES = {
    # Requirements are PEP 508's; OpenTelemetry's own instrumentation package brings their parser.
    "patching": {"packaging"},
    # The build hook runs where these are.
    "compiled": {"Cython", "setuptools", "hatchling"},
    **{name: {"opentelemetry"} for name in {"trace", *SIGNALS}},
    "others": {"opentelemetry", "packaging"},
    **{name: {"opentelemetry", "wrapt"} for name in ("wrapping", *LIBRARIES)},
    **{name: {"opentelemetry"} for name in ("instrumentor", "shedding", "start")},
    "status": {"opentelemetry", "packaging"},
    # They measure OpenTelemetry, and have a plugin of pytest and modules that are on the path of what they start.
    "tools": {"opentelemetry", "pytest", "otel_fastpath_loopback", "otel_fastpath_rule"},
}
# What a wrapper is for is imported by the function that patches it, and what a benchmark measures by the one that does.
APPLICATIONS = {
    *("openai", "asyncpg", "cassandra", "psycopg", "psycopg2", "redis", "sqlalchemy"),
    *("fastapi", "starlette", "flask", "httpx", "httpcore", "requests"),
}
# What the hooks of HTTP, messages, RPC, clouds and LLMs are for, which are imported once one of these is.
SERVERS_AND_CLIENTS = {
    *("aio_pika", "aiohttp", "anthropic", "botocore", "celery", "django", "fastapi", "flask", "grpc", "jiter", "pika"),
    *("requests", "starlette", "yarl"),
}
# An exporter over HTTP imports requests when it is made, and our part of it when it first sends.
IN_FUNCTIONS = {
    # typing_extensions and tomli are for Python 3.10 and for mypy.
    **{name: APPLICATIONS | {"typing_extensions"} for name in ("wrapping", *LIBRARIES)},
    "otlp": {"requests"},
    "tools": APPLICATIONS | {"grpc", "shtab", "tomli", "tomllib", "typing_extensions"},
    "patching": {"tomli"},
}
# Patched modules: importing one is the application's decision.
PATCHED = ("opentelemetry.sdk", "opentelemetry.exporter", "opentelemetry.instrumentation.", "opentelemetry.proto")
DECIDES = {
    "instrumentor": {"opentelemetry.instrumentation.instrumentor"},
    "status": {"opentelemetry.instrumentation.dependencies", "opentelemetry.instrumentation.instrumentor"},
    "start": {"opentelemetry.instrumentation.dependencies", "opentelemetry.instrumentation.distro"},
}


@dataclass(frozen=True)
class Import:
    """One module that a file imports; `at_top`: whether importing the importer imports it."""

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


def by_name(node):
    """The module that `hot.trace_spans_span` is, or that `Declarations("trace.patches_span", ...)` loads."""
    if isinstance(node, ast.Attribute) and ast.unparse(node.value) == "hot":
        return [f"{NAME}.{HOT[node.attr]}"] if node.attr in HOT else []
    if isinstance(node, ast.Call) and ast.unparse(node.func) == "Declarations":
        return [f"{NAME}.{node.args[0].value}"]
    return []


def walk(importer, nodes, *, at_top):
    """Every import below these nodes."""
    for node in nodes:
        yield from (Import(importer, target, at_top=False) for target in by_name(node))
        if isinstance(node, ast.Import | ast.ImportFrom):
            yield from (Import(importer, target, at_top) for target in targets(node))
            continue
        later = isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda) or is_for_types(node)
        yield from walk(importer, ast.iter_child_nodes(node), at_top=at_top and not later)


# What a compiled module takes from another: "otel_fastpath/trace/tracer_c.pxd" is of `otel_fastpath.trace.tracer`.
CIMPORTED = re.compile(rf"^from ({NAME}\.[\w.]+?)(?:_c)? cimport", re.MULTILINE)


@functools.cache
def every_import():
    """Those of the package's files."""
    found = [
        each
        for name, path in MODULES.items()
        # It has the names of all of them, for type checkers.
        if name != f"{NAME}.compiled.hot"
        for each in walk(name, ast.parse(path.read_text(encoding="utf-8")).body, at_top=True)
    ]
    return found + [
        Import(".".join((NAME, *path.relative_to(ROOT).with_suffix("").parts)).removesuffix("_c"), target, at_top=False)
        for path in [*ROOT.rglob("*.pxd"), *ROOT.rglob("*.pyx")]
        for target in CIMPORTED.findall(path.read_text(encoding="utf-8"))
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
    """Each unit imports itself and what the table allows, at the top, in a function or by name."""
    wrong = {
        (each.importer, each.target)
        for each in every_import()
        if is_ours(each.target)
        and unit(each.target) != unit(each.importer)
        and unit(each.target) not in MAY_IMPORT[unit(each.importer)]
    }

    assert wrong == set()


def test_no_two_files_of_a_folder_differ_by_an_underscore():
    """A name says what is inside."""
    names = Counter((path.parent, path.stem.strip("_")) for path in FILES)

    assert [name for name, number in names.items() if number > 1] == []


def test_the_table_of_features_is_complete():
    """Each folder that declares something is in it, once, and nobody else knows of the declarations."""
    registers = {name for name in MODULES if name.rpartition(".")[2] == "register"}

    assert [each.name for each in FEATURES] == list(dict.fromkeys(each.name for each in FEATURES))
    assert len(FEATURES) == len(registers) + 1, "and the libraries"
    assert {each.importer for each in every_import() if each.target in registers} == {f"{NAME}.features"}


def closest(module):
    """The folders that a module is in, below the package."""
    return MODULES[module].relative_to(ROOT).parts[:-1]


def test_patches_do_not_know_each_other():
    """Patches are applied only through the declarations of their feature."""
    wrong = [
        each
        for each in every_import()
        if is_ours(each.target)
        and each.target.rpartition(".")[2].startswith("patches_")
        and each.importer != f"{'.'.join(each.target.split('.')[:2])}.register"
    ]

    assert wrong == []


# What databases share, also a wrapper of its own for all drivers by the DB-API; what clients and what servers share.
SHARED = {
    "db": (f"{NAME}.db.dbapi.", f"{NAME}.db.queries."),
    "http": (f"{NAME}.http.clients.", f"{NAME}.http.servers."),
}


def test_libraries_do_not_know_each_other():
    """A wrapper takes from its own folder, from those above, and from what is shared."""
    wrong = [
        each
        for each in every_import()
        if each.target in MODULES
        and unit(each.importer) == unit(each.target)
        and unit(each.importer) in LIBRARIES
        and closest(each.importer)[: len(closest(each.target)[:2])] != closest(each.target)[:2]
        and not each.target.startswith(SHARED.get(unit(each.importer), ()))
    ]

    assert wrong == []


def is_hook(name):
    """Whether this is a module of hooks: only the `patches` beside it are imported before what is patched."""
    folders = tuple(f"{NAME}.{each}." for each in ("cloud", "genai.anthropic", "http", "messaging", "rpc"))
    return name.startswith(folders) and name.rpartition(".")[2] not in {
        "instrumenting",
        "patches",
        "upstream",
    }


def test_third_parties_are_those_allowed():
    """The bottom needs the standard library only; an application's libraries are imported inside functions."""
    wrong = []
    for each in every_import():
        top = each.target.partition(".")[0]
        if is_ours(each.target) or top in sys.stdlib_module_names:
            continue
        allowed = THIRD_PARTIES.get(unit(each.importer), set())
        if is_hook(each.importer):
            allowed = allowed | SERVERS_AND_CLIENTS
        if each.importer.startswith(f"{NAME}.metrics.prometheus."):
            allowed = allowed | {"prometheus_client"}
        if not each.at_top:
            allowed = allowed | IN_FUNCTIONS.get(unit(each.importer), set())
        if each.importer == f"{NAME}.tools.prove.telemetry_kept":
            # As the exporters that it uses.
            allowed = allowed | {"requests"}
        if each.importer.startswith(f"{NAME}.tools.prove.libraries."):
            # A program is imported if its library can be.
            allowed = allowed | APPLICATIONS | SERVERS_AND_CLIENTS | {"aiobotocore", "aiokafka", "kafka"}
            allowed = allowed | {"structlog", "urllib3"}
        if top not in allowed:
            wrong.append(each)

    assert wrong == []


def test_what_is_patched_is_not_imported_to_patch_it():
    """Hot modules are loaded when their target is there; nothing else imports the SDK when it is imported.

    In the features of the signals, of HTTP, of messages and of the guard that is told of the patches, and of what these
    import at their tops.
    """
    at_top = {}
    for each in every_import():
        if each.at_top:
            at_top.setdefault(each.importer, set()).add(each.target)
    reached = {
        name
        for name in MODULES
        if (
            unit(name) not in {"trace", "metrics", "logs", "otlp", "shedding", "tools", "budget", "profile"}
            and not is_hook(name)
        )
        or name.rpartition(".")[2].startswith("patches_")
    }
    waiting = sorted(reached)
    while waiting:
        more = {target for target in at_top.get(waiting.pop(), ()) if target in MODULES} - reached
        reached |= more
        waiting += more
    wrong = [
        (name, target)
        for name in reached
        for target in at_top.get(name, ())
        if target.startswith(PATCHED) and target not in DECIDES.get(unit(name), ())
    ]

    assert wrong == []


def imports_of_benchmarks():
    """The imports between benchmarks; these are programs in one folder, which is not a package."""
    files = {path.stem: path for path in (ROOT.parent / "benchmarks").glob("*.py")}
    for name, path in files.items():
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            found = [node.module] if isinstance(node, ast.ImportFrom) else []
            found = [alias.name for alias in node.names] if isinstance(node, ast.Import) else found
            yield from ((name, target) for target in found if target in files)


def circles(pairs):
    """The pairs (importer, imported) that are in a cycle, or between two cycles."""
    left = {(importer, target) for importer, target in pairs if importer != target}
    while True:
        importers, targets = {importer for importer, _ in left}, {target for _, target in left}
        inside = {pair for pair in left if pair[0] in targets and pair[1] in importers}
        if inside == left:
            return left
        left = inside


def test_a_circle_is_seen():
    """Cycles are found above and below modules that are in no cycle."""
    assert circles([("a", "b"), ("b", "c"), ("a", "a")]) == set()
    assert circles([("0", "a"), ("a", "b"), ("b", "c"), ("c", "a"), ("c", "d")]) == {("a", "b"), ("b", "c"), ("c", "a")}


def test_no_modules_import_each_other():
    """Modules can be ordered so that each imports only earlier ones, at any time."""
    ours = [(each.importer, each.target) for each in every_import() if each.target in MODULES]
    benchmarks = list(imports_of_benchmarks())
    assert ("bench_logs", "table") in benchmarks

    assert circles(ours) == set()
    assert circles(benchmarks) == set()


def test_only_settings_read_the_environment():
    """Settings come from one place. The build hook and what starts programs, in no service, have their own."""
    readers = set()
    for name, path in MODULES.items():
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            # Not the `environ` of a WSGI request.
            if isinstance(node, ast.Attribute) and node.attr in {"environ", "getenv", "environb"}:
                if isinstance(node.value, ast.Name) and node.value.id == "os":
                    readers.add(name)
            elif isinstance(node, ast.ImportFrom) and node.module == "os":
                readers |= {name for each in node.names if each.name in {"environ", "getenv", "environb"}}

    apart = tuple(f"{NAME}.tools.{each}." for each in ("budget", "bench", "common", "prove"))
    known = {f"{NAME}.settings", f"{NAME}.compiled.build_hook"}
    assert {each for each in readers if not each.startswith(apart)} <= known
