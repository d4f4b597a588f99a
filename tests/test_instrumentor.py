"""`instrument()` applies everything, `uninstrument()` removes all of it, and neither ever raises."""

from __future__ import annotations

import importlib
import logging
import sys

import pytest
from opentelemetry import trace
from opentelemetry.sdk.trace import Tracer, TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from otel_fastpath import compiled as cores
from otel_fastpath.features import FEATURES
from otel_fastpath.instrumentor import FastpathInstrumentor
from otel_fastpath.metrics import set_up as metrics
from otel_fastpath.patching import interpreter
from otel_fastpath.trace import set_up as spans

PATCHED = ("trace.use_span", "tracer.start_span", "tracer.start_as_current_span")


def states(instrumentor):
    """Name -> state and reason."""
    return {row.name: (row.state.value, row.reason) for row in instrumentor.status()}


def is_stock(span):
    """Whether stock's own code made the span."""
    return type(span).__module__ == "opentelemetry.sdk.trace"


@pytest.fixture
def exporter():
    """The exporter of `provider`."""
    return InMemorySpanExporter()


@pytest.fixture
def provider(exporter):
    """A provider of the kind that services have."""
    made = TracerProvider(shutdown_on_exit=False)
    made.add_span_processor(BatchSpanProcessor(exporter))
    yield made
    made.shutdown()


def attributes_of_stock():
    """Every attribute of every module and class of OpenTelemetry that is imported, by identity and in order."""
    found = {}
    for name, module in list(sys.modules.items()):
        if name.partition(".")[0] != "opentelemetry" or module is None:
            continue
        found[name] = list(vars(module).items())
        for key, value in vars(module).items():
            # Not `isinstance`: it makes lazy objects, such as Django's settings, load what they stand for.
            if issubclass(type(value), type) and value.__module__ == name:
                found[f"{name}:{key}"] = list(vars(value).items())
    return found


def differences(before, after):
    """The differences between two results of `attributes_of_stock`."""
    changed = []
    for place, items in before.items():
        new = after.get(place, [])
        if [key for key, _ in items] != [key for key, _ in new]:
            changed.append((place, [key for key, _ in items], [key for key, _ in new]))
        changed += [(place, key) for (key, one), (_, other) in zip(items, new, strict=False) if one is not other]
    return changed


def test_each_core_is_put_in_place(instrumented, core, provider):
    """Spans come from the requested core."""
    assert cores.implementation()[0] == core
    assert {states(instrumented)[name] for name in PATCHED} == {("applied", "")}
    assert not is_stock(provider.get_tracer("test").start_span("span"))


def test_no_residue(instrumentor, core, provider, exporter):
    """On and off, three times: every attribute of stock is the very same object, and tracers are as they were."""
    tracer = provider.get_tracer("test")
    on_tracer = dict(vars(tracer))
    # What is imported for it stays imported.
    instrumentor.instrument(core=core)
    instrumentor.uninstrument()
    before = attributes_of_stock()
    for number in range(3):
        instrumentor.instrument(core=core)
        assert differences(before, attributes_of_stock())
        with tracer.start_as_current_span(f"span {number}") as span:
            assert not is_stock(span)
        assert vars(tracer) != on_tracer

        instrumentor.uninstrument()

        assert differences(before, attributes_of_stock()) == []
        assert vars(tracer) == on_tracer
        assert is_stock(tracer.start_span("stock"))
    provider.force_flush()
    assert [span.name for span in exporter.get_finished_spans()] == ["span 0", "span 1", "span 2"]
    assert {state for state, _ in states(instrumentor).values()} == {"off"}


def test_spans_outlive_being_taken_off(instrumented, provider, exporter):
    """A span and a scope that began before end correctly afterwards; a bound method that was kept still works."""
    tracer = provider.get_tracer("test")
    start = tracer.start_span
    scope = tracer.start_as_current_span("scope")
    span = scope.__enter__()
    early = tracer.start_span("early")

    instrumented.uninstrument()

    scope.__exit__(None, None, None)
    early.set_attribute("key", "value")
    early.end()
    late = start("late")
    late.end()
    assert not is_stock(span)
    assert is_stock(late)
    provider.force_flush()
    assert [each.name for each in exporter.get_finished_spans()] == ["scope", "early", "late"]


def test_twice_is_once(instrumented, caplog):
    """A second call of either changes nothing and raises nothing; stock's base class logs a warning."""
    patched = Tracer.start_span
    instrumented.instrument()
    assert Tracer.start_span is patched

    instrumented.uninstrument()
    stock = Tracer.start_span
    instrumented.uninstrument()

    assert Tracer.start_span is stock
    assert len([record for record in caplog.records if "while already" in record.getMessage()]) == 2


def test_a_core_can_be_changed(instrumentor):
    """Off with one and on with the other."""
    for core in ("py", "c", "py"):
        try:
            importlib.import_module("otel_fastpath.trace.context.scope_c")
        except ImportError:
            pytest.skip("the core is not compiled")
        instrumentor.instrument(core=core)
        span = TracerProvider(shutdown_on_exit=False).get_tracer("test").start_span("span")
        assert type(span).__mro__[1].__module__ == f"otel_fastpath.trace.spans.recorded{'_c' if core == 'c' else ''}"
        instrumentor.uninstrument()


def test_what_is_disabled_is_left_off(instrumentor, environ, provider):
    """By keyword or variable; the rest is on."""
    environ.setenv("OTEL_FASTPATH_DISABLED", "tracer.*")
    instrumentor.instrument()

    assert states(instrumentor)["tracer.start_span"] == ("off", "disabled by setting (tracer.*)")
    assert states(instrumentor)["trace.use_span"] == ("applied", "")
    assert is_stock(provider.get_tracer("test").start_span("span"))


@pytest.mark.parametrize(
    "disabled",
    ["tracer.start_span", "tracer.configuration", "tracer.start_as_current_span", "trace.use_span", "trace.*"],
)
def test_any_part_can_be_off(instrumentor, core, provider, exporter, disabled):
    """Patches are independent: spans are correct whichever patch is missing."""
    instrumentor.instrument(core=core, disabled=disabled)
    tracer = provider.get_tracer("test")

    with tracer.start_as_current_span("outer"), trace.use_span(tracer.start_span("inner"), end_on_exit=True):
        pass

    provider.force_flush()
    inner, outer = exporter.get_finished_spans()
    assert (inner.name, outer.name) == ("inner", "outer")
    assert inner.parent.span_id == outer.context.span_id


@pytest.mark.parametrize(
    ("variable", "value", "reason"),
    [
        ("OTEL_SDK_DISABLED", "true", "OTEL_SDK_DISABLED is true"),
        (
            "OTEL_PYTHON_DISABLED_INSTRUMENTATIONS",
            "flask,fastpath",
            "OTEL_PYTHON_DISABLED_INSTRUMENTATIONS names fastpath",
        ),
    ],
)
def test_everything_stays_stock(instrumentor, environ, logged, variable, value, reason):
    """With OpenTelemetry's own switches, no attribute is changed and nothing is logged."""
    before = attributes_of_stock()
    environ.setenv(variable, value)

    instrumentor.instrument()

    assert set(states(instrumentor).values()) == {("off", reason)}
    assert differences(before, attributes_of_stock()) == []
    assert logged() == []


def test_an_unknown_name_is_one_line(instrumentor, logged):
    """The other settings are used."""
    instrumentor.instrument(disabled="nothing,trace.use_span")

    (line,) = logged()
    assert "'nothing' is not valid; expected the name of a patch" in line
    assert states(instrumentor)["trace.use_span"][0] == "off"
    assert states(instrumentor)["tracer.start_span"][0] == "applied"


def test_a_bad_core_is_one_line(instrumentor, environ, logged):
    """The setting is ignored."""
    environ.setenv("OTEL_FASTPATH_CORE", "rust")
    instrumentor.instrument()

    (line,) = logged()
    assert line.startswith("OTEL_FASTPATH_CORE: 'rust' is not valid; expected c (compiled) or py (pure Python).")
    assert states(instrumentor)["tracer.start_span"][0] == "applied"


def test_a_core_that_was_asked_for_and_is_not_there_is_an_error(instrumentor, environ, logged, provider):
    """There is no fallback: one error line, nothing is patched, and the host runs."""
    environ.setitem(sys.modules, "otel_fastpath.trace.context.scope_c", None)
    environ.setenv("OTEL_FASTPATH_CORE", "c")
    before = attributes_of_stock()

    instrumentor.instrument()

    (line,) = logged(logging.ERROR)
    assert "the c core was asked for and cannot be imported" in line
    assert differences(before, attributes_of_stock()) == []
    assert {state for state, _ in states(instrumentor).values()} == {"off"}
    assert is_stock(provider.get_tracer("test").start_span("span"))
    environ.delenv("OTEL_FASTPATH_CORE")
    instrumentor.uninstrument()
    instrumentor.instrument()
    assert states(instrumentor)["tracer.start_span"][0] == "applied"


def test_a_core_that_is_not_there_is_replaced_quietly(instrumentor, environ, logged):
    """If no core was requested, the pure one is used; the reason is kept."""
    environ.setitem(sys.modules, "otel_fastpath.trace.context.scope_c", None)
    instrumentor.instrument()

    implementation, why_not = cores.implementation()
    assert implementation == "py"
    assert "trace.context.scope_c" in why_not
    assert states(instrumentor)["tracer.start_span"][0] == "applied"
    assert logged() == []


def test_two_versions_of_the_sdk_are_one_line(instrumentor, environ, tmp_path, logged):
    """The leftover of an old release is named with its folder; the source of the imported one decides."""
    info = tmp_path / "opentelemetry_sdk-1.30.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: opentelemetry-sdk\nVersion: 1.30.0\n")
    environ.syspath_prepend(tmp_path)

    instrumentor.instrument()

    (line,) = logged()
    assert line.startswith(f"opentelemetry-sdk is installed more than once: 1.30.0 in {tmp_path}, 1.")
    assert states(instrumentor)["tracer.start_span"] == ("applied", "")


def test_without_the_gil_the_core_stays_off(instrumentor, environ, logged, provider):
    """One line says why; patches that do not depend on the GIL are applied."""
    environ.setattr(interpreter, "WHY_NO_CORE", "no GIL")
    instrumentor.instrument()

    assert logged() == ["Most of otel-fastpath is left off: no GIL."]
    assert states(instrumentor)["tracer.start_span"] == ("off", "no GIL")
    assert is_stock(provider.get_tracer("test").start_span("span"))


@pytest.mark.parametrize("asked", [None, "py"])
def test_on_a_free_threaded_build_the_core_is_on_where_it_is_asked_for(instrumentor, environ, asked):
    """It is experimental there."""
    environ.setattr(interpreter, "WHY_ON_REQUEST", "experimental")
    instrumentor.instrument(core=asked)

    assert states(instrumentor)["tracer.start_span"] == (("applied", "") if asked else ("off", "experimental"))


@pytest.mark.usefixtures("provider")
def test_the_settings_reach_the_hot_code(instrumentor):
    """The code that makes plans and recorders uses the settings of the last `instrument()`."""
    importlib.import_module("opentelemetry.sdk.metrics")
    for disabled in ("trace.use_span", "span.*"):
        instrumentor.instrument(disabled=disabled)
        core, _ = cores.implementation()

        assert spans._ready(core).planner.settings.disabled == {disabled}
        assert metrics.ready(core).settings.disabled == {disabled}
        instrumentor.uninstrument()


def test_a_fault_in_our_own_set_up_is_one_line(instrumentor, environ, logged):
    """A module of ours that cannot be loaded leaves OpenTelemetry as it is."""

    def broken():
        raise ZeroDivisionError

    environ.setattr("otel_fastpath.instrumentor._features", broken)
    instrumentor.instrument()

    (line,) = logged(logging.ERROR)
    assert line == "otel-fastpath could not be applied; OpenTelemetry runs unchanged."
    instrumentor.uninstrument()


@pytest.mark.parametrize(
    "feature", [feature for feature in FEATURES if feature.without], ids=lambda feature: feature.name
)
def test_a_feature_that_cannot_start_is_one_line(instrumentor, environ, logged, provider, feature):
    """The others are applied, and everything is removed again."""
    before = vars(Tracer)["start_span"]
    environ.setattr(type(feature), "start", lambda *_: 1 // 0)
    instrumentor.instrument()

    assert logged(logging.ERROR) == [feature.without]
    assert not is_stock(provider.get_tracer("test").start_span("span"))
    instrumentor.uninstrument()
    assert vars(Tracer)["start_span"] is before


@pytest.fixture
def wrap():
    """Wraps Tracer.start_span as another instrumentation would; gives the wrapper and the names it has seen."""
    original = vars(Tracer)["start_span"]
    seen = []

    def put():
        below = Tracer.start_span

        def start_span(self, name, *args, **kwargs):
            seen.append(name)
            return below(self, name, *args, **kwargs)

        Tracer.start_span = start_span
        return start_span, seen

    yield put
    Tracer.start_span = original


@pytest.mark.parametrize("theirs_first", [True, False])
def test_the_order_of_instrumentors_does_not_matter(wrap, instrumentor, provider, exporter, logged, theirs_first):
    """Another wrapper of the same method is called for each span and stays in place, whichever comes first."""
    if theirs_first:
        theirs, seen = wrap()
    instrumentor.instrument()
    if not theirs_first:
        theirs, seen = wrap()
    tracer = provider.get_tracer("test")
    with tracer.start_as_current_span("first"):
        tracer.start_span("second").end()
    instrumentor.uninstrument()
    tracer.start_span("third").end()

    assert seen == ["first", "second", "third"]
    assert Tracer.start_span is theirs
    provider.force_flush()
    assert [span.name for span in exporter.get_finished_spans()] == ["second", "first", "third"]
    assert logged() == []


def test_it_is_a_singleton_like_every_instrumentor(instrumentor):
    """Every call of the class returns the instance that knows what is patched."""
    assert FastpathInstrumentor() is instrumentor
    assert list(instrumentor.instrumentation_dependencies()) == []


def test_what_others_opt_in_to_is_not_settled_by_ours(instrumentor, monkeypatch):
    """OTEL_SEMCONV_STABILITY_OPT_IN can be set in code after ours; once another has settled it, it stays."""
    from opentelemetry.instrumentation import _semconv

    stability = _semconv._OpenTelemetrySemanticConventionStability
    database = _semconv._OpenTelemetryStabilitySignalType.DATABASE
    monkeypatch.setattr(stability, "_initialized", False)
    monkeypatch.setattr(stability, "_OTEL_SEMCONV_STABILITY_SIGNAL_MAPPING", {})
    monkeypatch.delenv("OTEL_SEMCONV_STABILITY_OPT_IN", raising=False)
    instrumentor.instrument()

    monkeypatch.setenv("OTEL_SEMCONV_STABILITY_OPT_IN", "database")
    # As every instrumentor does.
    stability._initialize()
    assert stability._get_opentelemetry_stability_opt_in_mode(database).value == "database"

    instrumentor.uninstrument()
    instrumentor.instrument()
    assert stability._initialized
    assert stability._get_opentelemetry_stability_opt_in_mode(database).value == "database"
