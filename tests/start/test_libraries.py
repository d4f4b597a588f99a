"""Which instrumentations wait for which modules."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from importlib.metadata import EntryPoint, entry_points
from types import SimpleNamespace

import pytest

from otel_fastpath.start import libraries

EARLY = {"asyncio", "aws-lambda", "django", "fastpath", "logging", "sqlite3", "system_metrics", "threading", "urllib"}
USUAL = {"asyncpg", "fastapi", "httpx", "openai"}
INSTALLED = {each.name: each for each in entry_points(group="opentelemetry_instrumentor")}


@pytest.mark.parametrize("name", sorted(INSTALLED))
def test_the_installed_instrumentations_wait_for_their_libraries(name):
    """Except those that must be loaded at once."""
    modules = libraries.awaited(INSTALLED[name])

    assert bool(modules) == (name not in EARLY)


LOADS = """
import sys
from importlib.metadata import entry_points
(entry,) = [each for each in entry_points(group="opentelemetry_instrumentor") if each.name == {name!r}]
for module in {modules!r}:
    assert module not in sys.modules, module
entry.load()().instrument(skip_dep_check=True)
print(*[module for module in {modules!r} if module in sys.modules])
"""


@pytest.mark.parametrize(
    "name",
    [
        # `make test` has one server, one client and one driver, and OpenAI.
        pytest.param(name, marks=[] if name in USUAL else [pytest.mark.slow])
        for name in sorted(INSTALLED.keys() - EARLY - {"httpx2"})
    ],
)
def test_an_instrumentation_imports_the_modules_that_it_waits_for(name):
    """They are those of its library, and no others make it wait."""
    modules = libraries.awaited(INSTALLED[name])
    for module in modules:
        if importlib.util.find_spec(module.partition(".")[0]) is None:
            pytest.skip(f"{module} is not installed")
    program = LOADS.format(name=name, modules=modules)
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=60)

    assert result.stdout.split() == list(modules)


def entry(name, distribution, *requirements):
    """An entry point of a distribution with this metadata."""
    text = "\n".join(
        ["Metadata-Version: 2.1", f"Name: {distribution}", *(f"Requires-Dist: {each}" for each in requirements)]
    )
    made = EntryPoint(name, "subject_instrumentation:Instrumentor", "opentelemetry_instrumentor")
    vars(made)["dist"] = SimpleNamespace(name=distribution, read_text=lambda _file: text + "\n\nRequires-Dist: x\n")
    return made


REDIS = 'redis>=2.6; extra == "instruments"'


@pytest.mark.parametrize(
    ("made", "expected"),
    [
        (entry("redis", "opentelemetry-instrumentation-redis", REDIS), ("redis",)),
        (entry("redis", "Opentelemetry_Instrumentation.Redis", "wrapt", REDIS), ("redis",)),
        # Another distribution's.
        (entry("redis", "somebodys-instrumentation-redis", REDIS), ()),
        (entry("other", "opentelemetry-instrumentation-redis", REDIS), ()),
        # A release that instruments another library, too, or none.
        (entry("redis", "opentelemetry-instrumentation-redis", REDIS, "valkey; extra == 'instruments'"), ()),
        (entry("redis", "opentelemetry-instrumentation-redis", "redis"), ()),
        (entry("threading", "opentelemetry-instrumentation-threading"), ()),
        # Two distributions of one library.
        (
            entry(
                "psycopg2",
                "opentelemetry-instrumentation-psycopg2",
                'psycopg2>=2.7.3.1; extra == "instruments-any"',
                'psycopg2-binary>=2.7.3.1; extra == "instruments-any"',
            ),
            ("psycopg2",),
        ),
        # Two libraries of one instrumentation, with an entry point for each.
        (
            entry(
                "httpx2",
                "opentelemetry-instrumentation-httpx",
                "httpx>=0.18.0; extra == 'instruments-any'",
                "httpx2>=2.0.0; extra == 'instruments-any'",
            ),
            ("httpx2",),
        ),
        (EntryPoint("redis", "module:Name", "opentelemetry_instrumentor"), ()),
    ],
)
def test_what_is_not_known_is_loaded_at_once(made, expected):
    """The metadata says what a release instruments."""
    assert libraries.awaited(made) == expected


def test_the_names_are_normalized():
    """As they are compared."""
    for (instrumentation, _), known in libraries._KNOWN.items():
        for name in (instrumentation, *known):
            assert libraries._normalized(name) == name
        assert any(known.values())
        assert all(each.isascii() for each in known.values())


def test_no_module_that_an_instrumentation_waits_for_is_a_namespace():
    """A namespace package is not executed, so that nothing could be told of it."""
    for name in {module for known in libraries._KNOWN.values() for module in known.values() if module}:
        try:
            spec = importlib.util.find_spec(name)
        except ModuleNotFoundError:
            continue
        assert spec is None or hasattr(spec.loader, "exec_module"), name
        assert spec is None or spec.origin is not None, name
