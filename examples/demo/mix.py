"""The requests that the demo sends: the same ones, in the same order, to every service."""

import json
import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

# The host that every request names, whichever port it is sent to: the span of a request contains it.
HOST = "shop.example:8000"
CATEGORIES = ("lamp", "chair", "table", "shelf")
FAULTY_MODELS = ("fault-400", "fault-429", "fault-500", "no-such-model")
Request = tuple[str, str, dict[str, Any] | None, int]


@dataclass(frozen=True)
class Mix:
    """The requests to a service.

    Attributes:
        shares: The number of requests of each kind in a hundred.
        request: Makes one of a kind: the method, the path, the body, and the status that has to come back.
    """

    shares: Mapping[str, int]
    request: Callable[[str, random.Random], Request]


@dataclass(frozen=True)
class Call:
    """One request as it goes over the wire, and the status that has to come back."""

    kind: str
    wire: bytes
    status: int


def _to_shop(kind: str, rng: random.Random) -> Request:
    item = rng.randint(1, 400)
    question = f"Tell me about item {item} please"
    failing = {"text": question, "model": rng.choice(FAULTY_MODELS)}
    requests: dict[str, Request] = {
        "hello": ("GET", f"/hello?name=customer{item}", None, 200),
        "read_item": ("GET", f"/items/{item}", None, 200),
        "list_items": ("GET", f"/items?category={CATEGORIES[item % 4]}&limit=10", None, 200),
        "count_view": ("POST", f"/items/{item}/views", None, 200),
        "chat": ("POST", "/chat", {"text": question}, 200),
        "stream": ("POST", "/chat/stream", {"text": question}, 200),
        "assistant": ("POST", "/assistant", {"text": question}, 200),
        "no_item": ("GET", f"/items/{item + 1000}", None, 404),
        "stock_error": ("POST", "/chat", failing, 502),
        "no_route": ("GET", "/nowhere", None, 404),
        "fault": ("GET", "/fault", None, 500),
    }
    return requests[kind]


def _to_orders(kind: str, rng: random.Random) -> Request:
    number = rng.randint(1, 400)
    customer = f"customer{number % 40}"
    order = {"customer": customer, "item": CATEGORIES[number % 4], "quantity": 2}
    requests: dict[str, Request] = {
        "read_order": ("GET", f"/orders/{number}", None, 200),
        "list_orders": ("GET", f"/customers/{customer}/orders", None, 200),
        "create_order": ("POST", "/orders", order, 201),
        "question": ("POST", f"/orders/{number}/questions", {"text": f"When does order {number} arrive?"}, 200),
        "no_order": ("GET", "/orders/1000000", None, 404),
        "no_price": ("POST", "/orders", {**order, "item": "sofa"}, 502),
    }
    return requests[kind]


SHOP = Mix(
    {
        "hello": 25,
        "read_item": 25,
        "list_items": 10,
        "count_view": 5,
        "chat": 12,
        "stream": 8,
        "assistant": 5,
        "no_item": 3,
        "stock_error": 3,
        "no_route": 2,
        "fault": 2,
    },
    _to_shop,
)
ORDERS = Mix(
    {"read_order": 45, "list_orders": 20, "create_order": 15, "question": 12, "no_order": 5, "no_price": 3}, _to_orders
)


def calls(count: int, seed: int, mix: Mix = SHOP) -> list[Call]:
    """Make the requests of one round.

    Args:
        count: The number of requests; a hundred contains every kind in its proportion.
        seed: The seed; rounds with the same seed are equal.
        mix: The kinds of requests.

    Returns:
        The requests, in the order in which they are sent.
    """
    rng = random.Random(seed)  # noqa: S311 - it is to repeat, not to be unguessable
    every = [kind for kind, share in mix.shares.items() for _ in range(share)]
    kinds = [every[index % len(every)] for index in range(count)]
    rng.shuffle(kinds)
    return [_call(kind, mix, rng) for kind in kinds]


def _call(kind: str, mix: Mix, rng: random.Random) -> Call:
    method, path, body, status = mix.request(kind, rng)
    return Call(kind, _wire(method, path, body, _traceparent(rng)), status)


def _traceparent(rng: random.Random) -> str | None:
    """A fifth of the callers are traced themselves; a fifth of those decided not to sample."""
    traced = rng.random() < 0.2  # noqa: PLR2004
    sampled = rng.random() < 0.8  # noqa: PLR2004
    return f"00-{rng.getrandbits(128):032x}-{rng.getrandbits(64):016x}-{sampled:02x}" if traced else None


def _wire(method: str, path: str, body: dict[str, Any] | None, traceparent: str | None) -> bytes:
    head = [f"{method} {path} HTTP/1.1", f"host: {HOST}", "user-agent: demo", "accept: */*"]
    if path == "/fault":
        # uvicorn always closes the connection after an error, but announces it only if the request asks for it.
        head.append("connection: close")
    if traceparent is not None:
        head.append(f"traceparent: {traceparent}")
    content = b"" if body is None else json.dumps(body).encode()
    if body is not None:
        head += ["content-type: application/json", f"content-length: {len(content)}"]
    elif method == "POST":
        head.append("content-length: 0")
    return "\r\n".join([*head, "", ""]).encode() + content
