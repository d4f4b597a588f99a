"""A profile of a block of code, in the process itself."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

from otel_fastpath.tools.profile.sampler import RATE, Sampler

if TYPE_CHECKING:
    from collections.abc import Iterator

    from otel_fastpath.tools.profile.profile_file import Recording
    from otel_fastpath.tools.profile.report import Report


class Profile:
    """The profile of a block; `report` is there after the block has ended."""

    def __init__(self) -> None:
        self._recording: Recording | None = None

    @property
    def report(self) -> Report:
        """The report.

        Raises:
            RuntimeError: The block has not ended yet.
        """
        if self._recording is None:
            raise RuntimeError("the profile has not ended: the report is there after the block")
        from otel_fastpath.tools.profile import analysis  # noqa: PLC0415  # not in the block

        return analysis.report([self._recording])


@contextlib.contextmanager
def profiling(rate: float = RATE) -> Iterator[Profile]:
    """Profile the block: where does its telemetry spend CPU time?

        with profiling() as profile:
            work()
        print(profile.report.headline)

    Args:
        rate: Samples in a second of CPU time, from 1 to 1000; most kernels take at most 250.

    Yields:
        The profile; its report is there after the block.

    Raises:
        ProfileError: This is not the main thread, or another profiler is at work in this process.
        ValueError: The rate is out of its range.
    """
    from otel_fastpath.tools.profile.session import recorded  # noqa: PLC0415  # imports what the report needs

    if not 1 <= rate <= 1000:  # noqa: PLR2004  # as documented
        raise ValueError(f"rate={rate}: expected a number from 1 to 1000")
    profile, sampler = Profile(), Sampler(rate)
    sampler.start()
    try:
        yield profile
    finally:
        sampler.stop()
        profile._recording = recorded(sampler)
