"""The setting of the limit."""

from __future__ import annotations

import pytest
from odd_values import ODD, ODD_IDS

from otel_fastpath.settings import from_env
from otel_fastpath.shedding.register import FEATURE


def _share(environ, **keywords):
    return from_env(environ, (), FEATURE.settings, **keywords).features["max_cpu"]


@pytest.mark.parametrize(("value", "share"), [("3%", 0.03), (" 0.5 % ", 0.005), (0.03, 0.03), ("0.2", 0.2)])
def test_the_limit_of_the_cpu_is_a_share(logged, value, share):
    """As a percentage, or as a fraction."""
    assert _share({}, max_cpu=value) == pytest.approx(share)
    assert _share({"OTEL_FASTPATH_MAX_CPU": str(value)}) == pytest.approx(share)
    assert _share({}) == _share({"OTEL_FASTPATH_MAX_CPU": ""}, max_cpu=None) == 0
    assert logged() == []


@pytest.mark.parametrize("value", ["3", "100%", "0%", "-3%", "nan", "3 percent", True, 3, [3], b"3%"])
def test_other_limits_of_the_cpu_are_reported(logged, value):
    """What is not a share is no limit."""
    assert _share({}, max_cpu=value) == 0

    (line,) = logged()
    assert line == (
        f"instrument(max_cpu=...): {value!r} is not valid; expected a percentage below 100, such as 3%. "
        "Telemetry is not limited."
    )


@pytest.mark.parametrize("value", ODD, ids=ODD_IDS)
def test_a_limit_of_any_class_is_ignored_alone(logged, value):
    """Also one that cannot be compared, read or printed."""
    assert _share({}, max_cpu=value) == 0
    (line,) = logged()
    assert line.startswith("instrument(max_cpu=...): ")
    assert " is not valid; expected a percentage below 100" in line
