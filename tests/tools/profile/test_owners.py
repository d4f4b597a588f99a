"""Who a sample belongs to: telemetry from its first frame on, until it calls what it wraps."""

from __future__ import annotations

import sys
import textwrap

import pytest

from otel_fastpath.patching.swapping import swap
from otel_fastpath.tools.profile.attribution import modules, passing
from otel_fastpath.tools.profile.attribution.owners import REST, Frame, Owner, is_importing, owner
from otel_fastpath.tools.profile.attribution.samples import samples
from otel_fastpath.tools.profile.profile_file import Recording

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

    def instrument(tracer):
        wrapped_send = Session.send

        def send(session, request):
            note(request.headers.get("host"))
            return wrapped_send(session, request)

    def submit(*args):
        function = args[0]
        return copy_context().run(function, *args[1:])

    class Kept:
        def __init__(self, response, handler):
            self.anything = response
            self.on_call = handler

        def read(self, size):
            describe(getattr(self.anything, "size"))
            self.anything.note(size)
            return self.anything.read(size)

    def call(state):
        state.matches(1)
        return state.on_call(2)
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
     (20, 21, True), (20, 22, False), (24, 25, True), (24, 26, True), (31, 32, False), (31, 33, True), (35, 37, True),
     (44, 45, False), (44, 46, False), (44, 47, True), (49, 50, False), (49, 51, True)],
)  # fmt: skip
def test_a_wrapper_calls_what_it_was_given(source, first_line, line, is_passing):
    """Arguments, variables around the function, attributes, `super()`, iterated and awaited results; under any name."""
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


def test_below_a_clients_hook_is_whoever_called_the_client(source):
    """A request of the application is its own; the request of an exporter is telemetry's, below the same hook."""
    client = [other("requests.sessions"), source(1, 3), other("requests.sessions"), other("socket")]

    assert owner([other("shop"), *client]) == REST
    assert owner([other("threading"), exporter("worker"), *client]) == Owner(1, 2)


def exporter(name):
    """A frame of an exporter, or of what calls it."""
    return Frame("opentelemetry.sdk.made_up", name, "/nowhere.py", 1, 2)


def test_a_processor_of_the_application_is_telemetry(source):
    """What the SDK was given is part of telemetry, whoever wrote it: without telemetry, nobody would call it."""
    sdk = source(1, 3, module="opentelemetry.sdk.trace")

    assert owner([other("shop"), sdk, other("shop.processors")]) == Owner(1, 2)


def test_a_function_of_c_that_was_given_is_the_applications(source):
    """A driver's `execute` may have no frame: its time is found in the hook, at the line that calls it."""
    assert owner([other("shop"), source(1, 3)]) == REST
    assert owner([other("shop"), source(1, 2)]) == Owner(1, -1)
    # A loop over what was given is the hook's own work.
    assert owner([other("shop"), source(20, 21)]) == Owner(1, -1)


def test_a_hook_that_has_just_begun_is_telemetry(source):
    """It is at its first line, as a function that hands its calls on, but has called nothing."""
    assert owner([other("shop"), source(6, 6)]) == Owner(1, -1)
    assert owner([other("shop"), source(6, 6), other("shop.views")]) == REST


def test_a_function_that_hands_its_calls_on_has_its_own_name_and_passes_on(tmp_path):
    """The code of a function of stock that is replaced where somebody else holds it."""
    path = tmp_path / "stock.py"
    path.write_text("class Stock:\n    def method(self):\n        return 1\n", encoding="utf-8")
    namespace = {}
    exec(compile(path.read_text(), str(path), "exec"), namespace)  # noqa: S102  # a module of its own
    method = namespace["Stock"].method
    seen = []
    swap.hand_on(method, lambda _self: seen.append(sys._getframe(1)))
    try:
        namespace["Stock"]().method()
    finally:
        swap.revive(method)
    (frame,) = seen
    code = frame.f_code

    assert (code.co_name, code.co_filename) == ("method", str(path))
    if sys.version_info >= (3, 11):
        assert code.co_qualname == "Stock.method"
    assert passing.passes_on(str(path), code.co_firstlineno, frame.f_lineno)


def recording(*frames, compiled=()):
    """A recording with one stack in the main thread."""
    stack = [(list(range(len(frames))), 1.0)]
    return Recording(1, "3.13", 1, 1, 0, 0, 0, 1, 0, list(frames), [stack], [], {}, compiled=list(compiled))


@pytest.fixture
def is_telemetry_at(tmp_path):
    """Whether the sample is telemetry's if a function of this file, at this line, seems to call the compiled core."""

    def found(text, first_line, line, names):
        path = tmp_path / "shop.py"
        path.write_text(text, encoding="utf-8")
        stack = [
            Frame("shop", "work", str(path), first_line, line),
            Frame("otel_fastpath.core", "(compiled)", "", 0, 0),
        ]
        (sample,) = samples([recording(*stack, compiled=names)])
        return sample.is_telemetry

    return found


def test_a_compiled_function_that_cannot_have_been_called_is_left_out(is_telemetry_at):
    """On the C stack of the standard library's JSON encoder, there may be what a compiled function has left there."""
    text = "def work(counter):\n    encode({})\n    counter.add(1)\n"

    # At its first line, the function may have begun after the compiled one.
    assert [is_telemetry_at(text, 1, line, ["add"]) for line in (1, 2, 3)] == [True, False, True]


def test_what_another_module_made_is_no_compiled_function(is_telemetry_at):
    """As `json.decoder` calls its scanner, whose C frames may have such leftovers, too; what was given may be one."""
    text = "class Decoder:\n def __init__(self, app):\n  self.scan, self.app = scanner.make(self), app\n"
    text += " def decode(self):\n  self.scan(1)\n  self.app(1)\n"

    assert [is_telemetry_at(text, 4, line, ["end"]) for line in (5, 6)] == [False, True]


def test_the_compiled_core_owns_its_samples():
    """A compiled function has no frame: the sample ends with one that stands for its module."""
    compiled = Frame("otel_fastpath.trace.spans.span", "(compiled)", "", 0, 0)

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
        ("otel_fastpath.db.asyncpg.hooks", modules.TELEMETRY, "otel-fastpath: asyncpg"),
        ("otel_fastpath.db.call_wrappers", modules.TELEMETRY, "otel-fastpath: db"),
        ("otel_fastpath.db.queries.sql", modules.TELEMETRY, "otel-fastpath: db"),
        ("otel_fastpath.http.servers.server_metrics", modules.TELEMETRY, "otel-fastpath: http"),
        ("otel_fastpath.genai.openai.reading.models", modules.TELEMETRY, "otel-fastpath: OpenAI"),
        ("otel_fastpath.wrapping.call_span", modules.TELEMETRY, "otel-fastpath: calls"),
        ("otel_fastpath.tools.profile.sampler", modules.NEUTRAL, None),
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
