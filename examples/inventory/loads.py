"""The requests of the three loads: the same ones, in the same order, to every service."""

import json
import random

from examples.demo.mix import Call

# The share of grants in each load; the other requests read.
LOADS = {"read": 0.0, "grant": 1.0, "mix": 0.2}
PLAYERS = 500
ITEMS = ("sword", "shield", "potion", "map")
# What every request names, whichever port it is sent to: the span of a request contains it.
_HEAD = "HTTP/1.1\r\nHost: inventory.example:8080\r\nUser-Agent: game/1.0\r\nAccept: application/json\r\n"


def calls(load: str, count: int, seed: int) -> list[Call]:
    """Make the requests of one round.

    Args:
        load: The name of the load.
        count: The number of requests.
        seed: The seed; rounds with the same seed are equal.
    """
    chance = random.Random(seed)  # noqa: S311  # it is to repeat, not to be unguessable
    return [_call(chance, is_grant=chance.random() < LOADS[load]) for _ in range(count)]


def _call(chance: random.Random, *, is_grant: bool) -> Call:
    path = f"/players/{chance.randint(1, PLAYERS)}/items"
    if not is_grant:
        return Call("read", f"GET {path} {_HEAD}\r\n".encode(), 200)
    body = json.dumps({"item": chance.choice(ITEMS), "amount": chance.randint(1, 9)})
    head = f"POST {path} {_HEAD}Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
    return Call("grant", f"{head}{body}".encode(), 201)
