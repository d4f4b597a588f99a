"""Settings come from keywords, then variables, then defaults; a bad one is a line in the log and never an exception."""

from __future__ import annotations

import importlib
import os

import pytest
from odd_values import ODD, ODD_IDS

from otel_fastpath.db.options import DatabaseOptions
from otel_fastpath.db.options import parse as parse_options
from otel_fastpath.settings import Config, Setting, from_env, loads_nothing

COUNTED = Setting("counted", loads_all=True)
NAMES = ("trace.use_span", "tracer.start_span", "versions.openai")


def test_nothing_is_set(logged):
    """Everything is on, with the best core."""
    assert from_env({}) == Config()
    assert Config().off("trace.use_span") is None
    assert logged() == []


def test_the_process_environment_is_read_by_default(environ):
    """Without a mapping the variables are those of the process."""
    environ.setenv("OTEL_FASTPATH_CORE", "py")

    assert from_env().core == "py"


@pytest.mark.parametrize(
    ("value", "names"),
    [
        ("trace.use_span", {"trace.use_span"}),
        (" trace.use_span , tracer.*,, ", {"trace.use_span", "tracer.*"}),
        (["trace.use_span", " versions.openai "], {"trace.use_span", "versions.openai"}),
        ({"trace.use_span"}, {"trace.use_span"}),
        ("", set()),
        ((), set()),
        (None, set()),
    ],
)
def test_names_are_lists_or_comma_separated(logged, value, names):
    """Spaces and empty items are ignored."""
    assert from_env({}, disabled=value).disabled == names
    if value is None or isinstance(value, str):
        assert from_env({"OTEL_FASTPATH_DISABLED": value or ""}).disabled == names
    assert logged() == []


@pytest.mark.parametrize("value", [3, object()])
def test_names_of_another_kind_are_reported(logged, value):
    """The line names the setting, the value, what is expected and what happens."""
    assert from_env({}, disabled=value).disabled == frozenset()

    (line,) = logged()
    assert line.startswith(
        f"instrument(disabled=...): {value!r} is not valid; expected names of patches, or one comma-"
    )
    assert line.endswith("It is ignored.")


def test_names_beside_one_of_another_kind_hold(logged):
    """A list with a part that is no name is used without that part."""
    assert from_env({}, disabled=["trace.*", 3]).disabled == {"trace.*"}

    (line,) = logged()
    assert line == "instrument(disabled=...): 3 is not valid; expected names of patches. It is ignored."


@pytest.mark.parametrize("value", ["c", "py", "C", " Py "])
def test_a_core_is_asked_for_by_name(logged, value):
    """Upper and lower case are accepted."""
    asked = value.strip().lower()

    assert from_env({}, core=value).core == from_env({"OTEL_FASTPATH_CORE": value}).core == asked
    assert logged() == []


@pytest.mark.parametrize("value", ["rust", "cpp", 1, b"c", ["c"], False])
def test_a_core_that_does_not_exist_is_reported(logged, value):
    """The best available core is used, and the line says so."""
    assert from_env({}, core=value).core is None

    (line,) = logged()
    assert line.startswith(f"instrument(core=...): {value!r} is not valid; expected c (compiled) or py (pure Python).")
    assert line.endswith("The compiled core is used if it is available.")


@pytest.mark.parametrize("value", ["same", "full", "FULL", " Same "])
def test_the_telemetry_is_the_same_or_full(logged, value):
    """The same unless the other is asked for; upper and lower case are accepted."""
    asked = value.strip().lower()

    assert from_env({}, telemetry=value).telemetry == from_env({"OTEL_FASTPATH_TELEMETRY": value}).telemetry == asked
    assert from_env({"OTEL_FASTPATH_TELEMETRY": "full"}, telemetry="same").telemetry == "same"
    assert from_env({}).telemetry == from_env({"OTEL_FASTPATH_TELEMETRY": ""}, telemetry=None).telemetry == "same"
    assert logged() == []


@pytest.mark.parametrize("value", ["all", "off", True, 1, ["full"], b"full"])
def test_other_telemetry_is_reported(logged, value):
    """A value that is not valid brings nothing that was not there before."""
    assert from_env({}, telemetry=value).telemetry == "same"

    (line,) = logged()
    assert line == (
        f"instrument(telemetry=...): {value!r} is not valid; expected same (what the service emitted before) or full "
        "(all that otel-fastpath can tell). same is used."
    )


def test_a_bad_variable_is_reported_under_its_own_name(logged):
    """The line names the variable that was set."""
    from_env({"OTEL_FASTPATH_CORE": "rust"})

    (line,) = logged()
    assert line.startswith("OTEL_FASTPATH_CORE: 'rust' is not valid")


def test_keywords_come_before_variables():
    """This also holds if the keyword names less."""
    environ = {"OTEL_FASTPATH_CORE": "c", "OTEL_FASTPATH_DISABLED": "trace.*"}

    assert from_env(environ, core="py", disabled="") == Config(core="py")
    assert from_env(environ, core=None, disabled=None) == Config(core="c", disabled=frozenset({"trace.*"}))


def test_unknown_keywords_and_variables_are_reported(logged):
    """A misspelt setting does not go unnoticed; each is one line with the three names that look most like it."""
    environ = {"OTEL_FASTPATH_DISABLE": "x", "OTEL_FASTPATH_EXTENSION": "off", "OTHER": "x"}
    from_env(environ, ("asyncpg", "openai"), cores="c")

    keyword, variable = logged()
    assert keyword == (
        "instrument(...): 'cores' is not valid; expected the name of a setting; nearest: core, proven, openai. "
        "It is ignored."
    )
    assert variable == (
        "environment: 'OTEL_FASTPATH_DISABLE' is not valid; expected the name of a setting; nearest: "
        "OTEL_FASTPATH_DISABLED, OTEL_FASTPATH_START_LINE, OTEL_FASTPATH_CORE. It is ignored."
    )


@pytest.mark.parametrize("name", ["otel-fastpath", "otel_fastpath", "FastPath", "fast-path"])
def test_another_spelling_of_our_own_name_is_reported(logged, name):
    """OpenTelemetry's list wants it exactly; other instrumentations' names are none of our business."""
    settings = from_env({"OTEL_PYTHON_DISABLED_INSTRUMENTATIONS": f"fastapi, {name}"})

    assert settings.stock == ""
    (line,) = logged()
    assert line.startswith(f"OTEL_PYTHON_DISABLED_INSTRUMENTATIONS: {name!r} is not valid; expected fastpath, which is")


def test_what_all_instrumentors_are_given_is_no_mistake(logged):
    """A loop over instrumentors passes its providers to each of them."""
    from_env({}, tracer_provider=object(), meter_provider=None, logger_provider=object())

    assert logged() == []


def test_patterns_switch_off():
    """A name or a pattern as for files; the reason names it."""
    settings = from_env({"OTEL_FASTPATH_DISABLED": "tracer.*,versions.openai"})

    assert {name: settings.off(name) for name in NAMES} == {
        "trace.use_span": None,
        "tracer.start_span": "disabled by setting (tracer.*)",
        "versions.openai": "disabled by setting (versions.openai)",
    }


def test_names_that_match_nothing_are_reported(logged):
    """One line for each, with the names that look most like it; the others hold."""
    names = (*NAMES, "metrics.counter")
    settings = from_env({"OTEL_FASTPATH_DISABLED": "trace.use-span,tracer.*,metric"}).check_names(lambda: names)

    assert settings.disabled == {"tracer.*"}
    told = (
        "OTEL_FASTPATH_DISABLED (disabled=): {} is not valid; expected the name of a patch, or a pattern of names; {}"
    )
    assert logged() == [
        told.format(f"{name!r}", f"nearest: {', '.join(near)}. It is ignored.")
        for name, near in (
            ("metric", ("metrics.counter", "trace.use_span", "versions.openai")),
            ("trace.use-span", ("trace.use_span", "tracer.start_span", "metrics.counter")),
        )
    ]


@pytest.mark.parametrize("value", ["true", "TRUE", " True "])
def test_a_disabled_sdk_leaves_everything_stock(value):
    """In the spellings that the SDK itself takes."""
    settings = from_env({"OTEL_SDK_DISABLED": value})

    assert {settings.off(name) for name in NAMES} == {"OTEL_SDK_DISABLED is true"}


@pytest.mark.parametrize("value", ["", "false", "1", "yes"])
def test_other_values_do_not_disable_the_sdk(value):
    """As in the SDK, only "true" is true."""
    assert from_env({"OTEL_SDK_DISABLED": value}).stock == ""


@pytest.mark.parametrize(("value", "is_stock"), [("fastpath", True), ("flask, fastpath", True), ("flask", False)])
def test_a_disabled_instrumentation_stays_off_when_called(value, is_stock):
    """The name of our entry point leaves everything stock, however we are started."""
    settings = from_env({"OTEL_PYTHON_DISABLED_INSTRUMENTATIONS": value})

    assert bool(settings.stock) == is_stock
    assert not loads_nothing({"OTEL_PYTHON_DISABLED_INSTRUMENTATIONS": value})


def test_all_instrumentations_disabled_is_no_word_against_a_call():
    """`*` keeps opentelemetry-instrument from loading any; who calls `instrument()` means it."""
    environ = {"OTEL_PYTHON_DISABLED_INSTRUMENTATIONS": "*"}

    assert loads_nothing(environ)
    assert from_env(environ).stock == ""


@pytest.mark.parametrize("mode", ["on", "off", "defer", " Off "])
def test_a_library_has_a_mode_and_options(logged, mode):
    """By keyword or variable."""
    for settings in (
        from_env({}, ("subject",), subject=mode, subject_options="a,b"),
        from_env({"OTEL_FASTPATH_SUBJECT": mode, "OTEL_FASTPATH_SUBJECT_OPTIONS": "a,b"}, ("subject",)),
    ):
        assert settings.mode("subject") == mode.strip().lower()
        assert settings.options("subject") == "a,b"
    assert (from_env({}, ("subject",)).mode("subject"), from_env({}, ("subject",)).options("subject")) == ("", "")
    assert logged() == []


@pytest.mark.parametrize("mode", ["maybe", 3, True])
def test_a_bad_mode_is_one_line(logged, mode):
    """The line names the setting, the value, what is expected and what is used instead."""
    assert from_env({}, ("subject",), subject=mode).mode("subject") == ""

    (line,) = logged()
    assert line.startswith(
        f"instrument(subject=...): {mode!r} is not valid; expected one of on, off, defer. Using the default"
    )


def test_a_library_without_a_wrapper_has_no_settings(logged):
    """What names it is misspelt."""
    assert from_env({"OTEL_FASTPATH_SUBJECT": "off"}, ("other",), subject="off").libraries == {}
    assert len(logged()) == 2


def test_opentelemetrys_own_lists_are_read():
    """The names, without spaces and empty places."""
    settings = from_env(
        {"OTEL_SEMCONV_STABILITY_OPT_IN": "database, http,", "OTEL_PYTHON_DISABLED_INSTRUMENTATIONS": "asyncpg , x"}
    )

    assert settings.semconv == {"database", "http"}
    assert settings.disabled_instrumentations == {"asyncpg", "x"}


@pytest.mark.parametrize("value", ODD, ids=ODD_IDS)
@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("disabled", "names of patches, or one comma-separated string"),
        ("core", "c (compiled) or py (pure Python)"),
        ("telemetry", "same (what"),
        ("status_folder", "a folder that exists, as str or Path"),
        ("profile_signal", "one of SIGUSR1, SIGUSR2"),
        ("redis", "one of on, off, defer"),
    ],
)
def test_a_value_of_any_class_is_ignored_alone(logged, name, expected, value):
    """Also one that cannot be compared, read or printed: it is reported as any other, and the other settings hold."""
    asked = {"core": "py"} if name != "core" else {"telemetry": "full"}

    assert from_env({}, ["redis"], **asked, **{name: value}) == Config(**asked, loads_all="telemetry" in asked)
    (line,) = logged()
    assert line.startswith(f"instrument({name}=...): ")
    assert f" is not valid; expected {expected}" in line


@pytest.mark.parametrize("value", ODD, ids=ODD_IDS)
def test_settings_that_their_feature_reads_may_be_of_any_class(logged, value):
    """There they are compared, and asked whether they are true: that does not raise."""
    config = from_env({}, ["redis", "openai"], [COUNTED], counted=value, redis_options=value, openai_options=value)
    assert config.loads_all
    assert parse_options("redis", config.options("redis"), DatabaseOptions) == DatabaseOptions()
    assert len(logged()) == 1


def test_a_feature_has_settings_of_its_own(logged):
    """As keyword argument or variable; what its function returns for nothing, if it is not set."""
    half = Setting("half", lambda _title, value: float(value or 0) / 2)

    assert from_env({}, (), [half, COUNTED], half="3").features == {"half": 1.5, "counted": ""}
    assert from_env({"OTEL_FASTPATH_HALF": "3"}, (), [half]).features == {"half": 1.5}
    assert not from_env({}, (), [half, COUNTED], half="3").loads_all
    assert from_env({}, (), [half, COUNTED], counted="errors").loads_all
    assert logged() == []


def test_a_folder_is_text(logged, tmp_path):
    """The name of one in bytes is no setting, as of any other."""
    assert from_env({}, status_folder=os.fsencode(tmp_path)).status_folder == ""
    (line,) = logged()
    assert "expected a folder that exists, as str or Path" in line


def test_names_before_the_one_that_cannot_be_read_hold(logged):
    """An iterator may raise, as any code of the application's."""

    def names():
        yield "trace.*"
        raise RuntimeError("broken")

    assert from_env({}, disabled=names()).disabled == {"trace.*"}
    (line,) = logged()
    assert line.startswith("instrument(disabled=...): <generator")


@pytest.mark.parametrize(
    ("place", "effect"), [("wrapping.gevent", "It stays off."), ("db.redis", "Using the default: otel-fastpath")]
)
def test_what_a_bad_mode_does(logged, place, effect):
    """What is off by default stays off."""
    pytest.importorskip(f"otel_fastpath.{place}")
    name = place.rpartition(".")[2]
    from_env({f"OTEL_FASTPATH_{name.upper()}": "yes"}, ["gevent", "redis"])
    (line,) = logged()
    assert effect in line
    library = importlib.import_module(f"otel_fastpath.{place}").LIBRARY
    assert library.is_on_request is (effect == "It stays off.")
