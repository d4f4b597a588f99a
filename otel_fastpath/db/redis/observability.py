"""redis-py's own metrics: where they have the durations of commands, ours has none."""

from __future__ import annotations

import functools
import sys
from typing import TYPE_CHECKING, Any, Final

from otel_fastpath.db.redis.query_plans import DATABASE
from otel_fastpath.patching.outcome import call_guarded

if TYPE_CHECKING:
    from otel_fastpath.wrapping.library import Setup

_PLACE: Final = "redis-py's own metrics"


class _Last:
    """The set-up that is in use.

    Attributes:
        setup: The `Setup`; None: there was none yet.
    """

    setup: Setup | None = None


def configure(setup: Setup) -> None:
    """Work with this set-up from now on."""
    _Last.setup = setup
    DATABASE.configure(setup)
    if call_guarded(_PLACE, has_durations):
        DATABASE.active.durations = None


def has_durations() -> bool:
    """Whether redis-py records the durations of commands itself."""
    module = sys.modules.get("redis.observability.providers")
    instance = getattr(module, "_observability_instance", None)
    manager = None if instance is None else instance.get_provider_manager()
    if manager is None:
        return False
    from redis.observability.config import MetricGroup  # noqa: PLC0415  # a wrapper does not import its library

    return bool(manager.config.is_enabled() and manager.config.metric_groups & MetricGroup.COMMAND)


def make_change(original: Any) -> Any:
    """Wrap a method that turns redis-py's metrics on or off."""

    @functools.wraps(original)
    def change(*args: Any, **kwargs: Any) -> Any:
        try:
            return original(*args, **kwargs)
        finally:
            call_guarded(_PLACE, _reconfigure)

    return change


def _reconfigure() -> None:
    active = DATABASE.active
    if active is not None and _Last.setup is not None and (active.durations is None) != has_durations():
        configure(_Last.setup)
