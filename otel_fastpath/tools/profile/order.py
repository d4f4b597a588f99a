"""What the command tells the processes that it starts: to profile themselves, how long, and where to write."""

from __future__ import annotations

import json
import sys
from dataclasses import asdict, dataclass
from pathlib import Path

from otel_fastpath import settings
from otel_fastpath.patching import faults

# The processes find a copy of this on their path.
_SITECUSTOMIZE = Path(__file__).with_name("injected") / "sitecustomize.py"
# Under opentelemetry-instrument, which has a `sitecustomize` of its own, an entry point of a made-up distribution.
_METADATA = "Metadata-Version: 2.1\nName: otel-fastpath-profile\nVersion: 0\n"
_ENTRY_POINTS = "[opentelemetry_pre_instrument]\nfastpath-profile = otel_fastpath.tools.profile.order:obey\n"
# Programs that become another program, or only start some: what they do themselves is nothing of interest.
LAUNCHERS = frozenset({"opentelemetry-instrument"})


@dataclass(frozen=True)
class Order:
    """What to do.

    Attributes:
        folder: Where recordings are written.
        seconds: How long a process is profiled; None: until it ends.
        requests: The number of requests after which it ends earlier; 0: no number.
        rate: Samples in a second of CPU time.
    """

    folder: str
    seconds: float | None
    requests: int
    rate: float

    def as_text(self) -> str:
        """For the environment."""
        return json.dumps(asdict(self))


def write_injected(folder: Path) -> str:
    """Make what processes have to find on their path to obey an order.

    Args:
        folder: An existing folder to make it in.

    Returns:
        The path.

    Raises:
        OSError: It cannot be written.
    """
    made = folder / "injected"
    distribution = made / "otel_fastpath_profile-0.dist-info"
    distribution.mkdir(parents=True)
    made.joinpath("sitecustomize.py").write_bytes(_SITECUSTOMIZE.read_bytes())
    distribution.joinpath("METADATA").write_text(_METADATA, encoding="utf-8")
    distribution.joinpath("entry_points.txt").write_text(_ENTRY_POINTS, encoding="utf-8")
    return str(made)


def obey() -> None:
    """Profile this process if the environment says so; costs one look otherwise. Never raises."""
    text = settings.profile_order()
    if text:
        carry_out(text)


def carry_out(text: str) -> None:
    """Begin the profile that an order describes, once. Never raises."""
    try:
        order = Order(**json.loads(text))
        if (
            not Path(order.folder).is_dir()
            or Path(sys.orig_argv[1] if len(sys.orig_argv) > 1 else "").name in LAUNCHERS
        ):
            return
        from otel_fastpath.tools.profile import sampler, session  # noqa: PLC0415  # only where it is asked for

        if session.is_running():
            return
        try:
            session.ProfileSession(Path(order.folder), order.seconds, order.requests, order.rate).start()
        except sampler.ProfileError as error:
            sys.stderr.write(f"otel-fastpath: {error}\n")
    except Exception as error:
        faults.report("profile", error)
