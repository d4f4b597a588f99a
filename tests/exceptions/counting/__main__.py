"""`python -m counting WAY [handled]`: run every scenario and print what was counted, as JSON.

A process of its own, because a test runner raises exceptions, too: in import hooks, for one.
"""

from __future__ import annotations

import json
import sys

from counting.catalogue import SCENARIOS
from counting.scenario import count


def main(way: str, *more: str) -> None:
    """Run the scenarios."""
    found = {}
    for name, scenario in SCENARIOS.items():
        if scenario.warm:
            scenario.run()
        found[name] = count(scenario.run, way, handled="handled" in more)
    sys.stdout.write(json.dumps(found))


main(*sys.argv[1:])
