"""Who a sample belongs to: telemetry from its first frame on, until it calls what it wraps."""

from __future__ import annotations

import textwrap

import pytest

from otel_fastpath.profile import modules, passing
from otel_fastpath.profile.owners import REST, Frame, Owner, is_importing, owner

SOURCE = """\
    def wrapper(wrapped, instance, args, kwargs):
        describe(instance)
        return wrapped(*args, **kwargs)

    class Middleware:
        async def __call__(self, scope, receive, send):
            found = route.matches(scope)
            await self.app(scope, receive, send)

        def send(self, request):
            return super().send(request)

    def around(original):
        @wraps(original)
        def inner(self):
            helper(self)
            return original(self)
        return inner

    def stream(response):
        for chunk in response:
            note(chunk)

    async def create(wrapped, args):
        result = wrapped(*args)
        return await result
"""


@pytest.fixture
def source(tmp_path):
    """A file with wrappers; returns the frame of a function of telemetry at a line of it."""
    path = tmp_path / "wrappers.py"
    path.write_text(textwrap.dedent(SOURCE), encoding="utf-8")

    def frame(first_line, line, module="opentelemetry.instrumentation.made_up"):
        return Frame(module, "function", str(path), first_line, line)

    return frame


def other(module, name="function"):
    """A frame of some other module."""
    return Frame(module, name, "/nowhere.py", 1, 1)


@pytest.mark.parametrize(
    ("first_line", "line", "is_passing"),
    [(1, 2, False), (1, 3, True), (6, 7, False), (6, 8, True), (10, 11, True), (14, 16, False), (14, 17, True),
     (20, 21, True), (20, 22, False), (24, 25, True), (24, 26, True)],
)  # fmt: skip
def test_a_wrapper_calls_what_it_was_given(source, first_line, line, is_passing):
    """Arguments, variables around the function, `self.app`, `super()`, iterated and awaited results."""
    frame = source(first_line, line)

    assert passing.passes_on(frame.file, first_line, line) is is_passing


def test_without_a_source_nothing_is_passed_on(tmp_path):
    """A module without a readable source has no wrappers: what it calls is its own."""
    broken = tmp_path / "broken.py"
    broken.write_text("def (", encoding="utf-8")

    assert not passing.passes_on(str(tmp_path / "missing.py"), 1, 1)
    assert not passing.passes_on(str(broken), 1, 1)


def test_the_application_behind_a_wrapper_is_the_application(source):
    """The server calls the middleware, which calls the application."""
    assert owner([other("uvicorn"), source(6, 8), other("contextlib"), other("shop")]) == REST


def test_a_helper_of_another_package_is_telemetry(source):
    """The middleware asks a route of the framework; the hook is the middleware, and the call is the route's."""
    assert owner([other("uvicorn"), source(6, 7), other("starlette.routing")]) == Owner(1, 2)


def test_the_standard_library_belongs_to_its_caller(source):
    """Of telemetry, of the application, and of nobody."""
    assert owner([other("shop"), source(1, 2), other("json")]) == Owner(1, 2)
    assert owner([other("shop"), other("json")]) == REST
    assert owner([other("asyncio.runners")]) == REST


def test_a_hook_inside_of_the_application_is_its_own(source):
    """The application calls a client whose hook is telemetry again."""
    assert owner([source(6, 8), other("shop"), source(1, 2)]) == Owner(2, -1)


def test_the_compiled_core_owns_its_samples():
    """A compiled function has no frame: the sample ends with one that stands for its module."""
    compiled = Frame("otel_fastpath.trace.span", "(compiled)", "", 0, 0)

    assert owner([other("shop"), compiled]) == Owner(1, -1)


def test_imports_are_recognised():
    """What is imported is not what a request costs."""
    assert is_importing([other("shop"), other("importlib._bootstrap", "_find_and_load"), other("json")])
    assert not is_importing([other("shop"), other("json")])


@pytest.mark.parametrize(
    ("module", "kind", "title"),
    [
        ("opentelemetry.instrumentation.openai.utils", modules.TELEMETRY, "OpenAI instrumentation"),
        ("opentelemetry.instrumentation.made_up", modules.TELEMETRY, "made_up instrumentation"),
        ("opentelemetry.sdk.trace.export", modules.TELEMETRY, "SDK: spans"),
        ("otel_fastpath.libraries.db.asyncpg.hooks", modules.TELEMETRY, "otel-fastpath: asyncpg"),
        ("otel_fastpath.libraries.db.calls", modules.TELEMETRY, "otel-fastpath: db"),
        ("otel_fastpath.libraries.call_span", modules.TELEMETRY, "otel-fastpath: calls"),
        ("otel_fastpath.profile.sampler", modules.NEUTRAL, None),
        ("traceloop.sdk", modules.TELEMETRY, "Traceloop"),
        ("wrapt.wrappers", modules.NEUTRAL, ""),
        ("json.decoder", modules.NEUTRAL, ""),
        ("opentelemetryish", modules.APPLICATION, ""),
        ("shop", modules.APPLICATION, ""),
    ],
)
def test_telemetry_is_known_by_its_modules(module, kind, title):
    """OpenTelemetry's, ours and other vendors'; the standard library and what wraps methods are neutral."""
    assert modules.kind(module) == kind
    if title is not None:
        assert modules.title(module) == title
