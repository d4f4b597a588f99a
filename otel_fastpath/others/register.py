"""The patches of third-party instrumentations."""

from __future__ import annotations

from typing import Final

from otel_fastpath.others import patches_openinference, patches_openllmetry, patches_version_lookups
from otel_fastpath.patching.room import Room

ROOM: Final = Room(
    "others",
    patches=(
        *patches_version_lookups.PATCHES,
        *patches_openllmetry.PATCHES,
        *patches_openinference.PATCHES,
    ),
)
