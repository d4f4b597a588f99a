"""Where a service's telemetry spends its CPU: `otel-fastpath profile`, and a context manager for one's own programs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from otel_fastpath.profile.block import Profile as Profile
    from otel_fastpath.profile.block import profiling as profiling
    from otel_fastpath.profile.sampler import ProfileError as ProfileError

__all__ = ["Profile", "ProfileError", "profiling"]


def __getattr__(name: str) -> Any:
    # Importing the package does nothing: a service that is not profiled imports no more than this.
    if name in {"Profile", "profiling"}:
        from otel_fastpath.profile import block  # noqa: PLC0415  # see above

        return getattr(block, name)
    if name == "ProfileError":
        from otel_fastpath.profile.sampler import ProfileError  # noqa: PLC0415  # see above

        return ProfileError
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
