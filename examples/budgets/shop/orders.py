"""The business logic of the service."""

import json
from typing import Any

PRICES = {"chair": 1900, "table": 12900, "lamp": 4500}


def place(items: list[str], rounds: int = 20) -> dict[str, Any]:
    """Compute an order, and convert it to JSON and back, as a service does."""
    order: dict[str, Any] = {}
    for number in range(rounds):
        lines = [{"item": item, "cents": PRICES[item], "number": number} for item in items]
        order = json.loads(json.dumps({"lines": lines, "cents": sum(PRICES[item] for item in items)}))
    return order
