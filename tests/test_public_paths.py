"""Names that users import stay where they were, also where their code has moved."""

from __future__ import annotations

from importlib import import_module

import pytest

# docs/api.md and the pages of the features, in this release and in 0.2.0.
PATHS = {
    "otel_fastpath": ("FastpathInstrumentor", "bind"),
    "otel_fastpath.lazy": ("lazy",),
    "otel_fastpath.status": ("Status", "collect", "as_text", "as_json"),
    "otel_fastpath.exceptions": ("Settings", "start", "stop", "is_counting", "snapshot", "uncaught"),
    "otel_fastpath.profile": ("profiling", "Profile", "ProfileError", "Report", "Share", "Hook", "Saving"),
    "otel_fastpath.profile.block": ("profiling", "Profile"),
    "otel_fastpath.profile.report": ("Report", "Share", "Hook", "Saving"),
    "otel_fastpath.budget": ("read", "check", "calibrate", "Declaration", "Report", "nothing", "async_nothing"),
    "otel_fastpath.gevent": ("with_context",),
    "otel_fastpath.libraries.gevent": ("with_context",),
}


@pytest.mark.parametrize("module", PATHS)
def test_a_public_name(module):
    """It is there, and a name that never was is an error."""
    if module.endswith("gevent"):
        pytest.importorskip("gevent")
    found = import_module(module)

    assert all(hasattr(found, name) for name in PATHS[module])
    assert not hasattr(found, "nothing_of_this_name")
