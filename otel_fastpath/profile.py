"""Where a block of code spends the CPU on telemetry: a context manager, and the report that it makes."""

from __future__ import annotations

import sys

from otel_fastpath.tools.profile import block, report
from otel_fastpath.tools.profile.block import Profile, profiling
from otel_fastpath.tools.profile.report import Hook, Report, Saving, Share
from otel_fastpath.tools.profile.sampler import ProfileError

__all__ = ["Hook", "Profile", "ProfileError", "Report", "Saving", "Share", "profiling"]

# The modules of 0.2.0 that had these names.
sys.modules.update({f"{__name__}.block": block, f"{__name__}.report": report})
