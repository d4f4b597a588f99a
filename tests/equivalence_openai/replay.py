"""Replays what the stock instrumentation's own tests recorded of OpenAI, with it and with ours, and compares.

    make suite NAME=openai

The recordings are in its source distribution, which is fetched into the cache; nothing of it is kept here. What a
client asked is asked again, and is answered as it was.
"""
# ruff: noqa: T201  # a program that prints

from __future__ import annotations

import base64
import hashlib
import json
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import httpx2
import yaml

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
sys.path[:0] = [str(HERE), str(HERE.parent / "genai" / "openai_http"), str(ROOT / "tests" / "upstream")]

from both import KINDS, run, take, wait  # noqa: E402  # found only from here on
from genaicheck.differences import NEVER_SET  # noqa: E402  # likewise
from harness import released  # noqa: E402  # likewise
from telemetry import Kept, ours, stock  # noqa: E402  # likewise

if TYPE_CHECKING:
    from collections.abc import Iterator

DISTRIBUTION, VERSION = "opentelemetry-instrumentation-genai-openai", "1.3b0"
CAPTURE = "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"
MODES = ("no_content", "span_and_event")


def interactions() -> dict[str, list[dict[str, Any]]]:
    """Name of a recording -> what was asked and answered."""
    folder = released.sdist(DISTRIBUTION, VERSION) / "tests" / "cassettes"
    return {
        file.stem: yaml.safe_load(file.read_text(encoding="utf-8"))["interactions"]
        for file in sorted(folder.glob("*.yaml"))
    }


def answering(recorded: dict[str, Any]) -> Any:
    """A handler that answers as recorded."""
    response = recorded["response"]
    body = response["body"]["string"]
    headers = {
        name: values[0]
        for name, values in response["headers"].items()
        if name.lower() not in {"content-encoding", "transfer-encoding", "content-length"}
    }

    def handle(_request: Any) -> Any:
        content = body.encode() if isinstance(body, str) else body
        return httpx2.Response(response["status"]["code"], content=content, headers=headers)

    return handle


def asking(recorded: dict[str, Any]) -> Any:
    """A scenario that asks what was asked; None where it is not of the shared surface."""
    request = recorded["request"]
    path = request["uri"].partition("/v1/")[2].partition("?")[0]
    text = request["body"]
    body = json.loads(text) if text else {}

    async def scenario(client: Any) -> str:
        if path.startswith("responses/"):
            method, args = client.responses.retrieve, (path.partition("/")[2],)
        else:
            methods = {
                "chat/completions": client.chat.completions.create,
                "responses": client.responses.create,
                "embeddings": client.embeddings.create,
            }
            method, args = methods[path], ()
        try:
            answer = await wait(method(*args, **body))
            if body.get("stream"):
                await take(answer)
        except Exception as error:
            return repr(error)
        return ""

    is_shared = path in {"chat/completions", "responses", "embeddings"} or path.startswith("responses/")
    return scenario if is_shared and "/v1/" in request["uri"] else None


def told(instrumented: Any, kind: str, recorded: dict[str, Any], **options: Any) -> dict[str, Any]:
    """What is emitted for one recorded request, without what ours adds on purpose."""
    transport = httpx2.MockTransport(answering(recorded))
    client = httpx2.AsyncClient(transport=transport) if kind == "async" else httpx2.Client(transport=transport)
    kept = Kept()
    with instrumented(kept, **options):
        outcome = run(kind, asking(recorded), api_key="sk-test", max_retries=0, http_client=client)
    seen = kept.seen()
    kept.shut_down()
    for each in (*seen["spans"], *seen["events"]):
        for name in NEVER_SET:
            each["attributes"].pop(name, None)
    return {"outcome": outcome, **seen}


def deliberate(told_by_stock: Any) -> Any:
    """What stock's tells, with what ours tells otherwise on purpose: see docs/differences.md."""
    if isinstance(told_by_stock, list):
        return [deliberate(each) for each in told_by_stock]
    if not isinstance(told_by_stock, dict):
        return told_by_stock
    found = {key: deliberate(value) for key, value in told_by_stock.items()}
    if found.get("type") == "blob":
        content = found["content"]
        data = base64.b64decode(content) if isinstance(content, str) else content
        found["content"] = f"sha256:{hashlib.sha256(data).hexdigest()} ({len(data)} bytes)"
    if found.get("gen_ai.request.encoding_formats") == ("base64",):
        # It counts the letters of the packed vector; four bytes make a number.
        found["gen_ai.embeddings.dimension.count"] = found["gen_ai.embeddings.dimension.count"] * 3 // 4 // 4
    return found


def unlike(wanted: Any, found: Any, path: str = "") -> Iterator[str]:
    """Where two values differ."""
    if isinstance(wanted, dict) and isinstance(found, dict):
        for key in sorted(wanted.keys() | found.keys()):
            yield from unlike(wanted.get(key), found.get(key), f"{path}/{key}")
    elif isinstance(wanted, list) and isinstance(found, list) and len(wanted) == len(found):
        for number, (before, after) in enumerate(zip(wanted, found, strict=True)):
            yield from unlike(before, after, f"{path}/{number}")
    elif wanted != found:
        yield f"{path}: {found!r} instead of {wanted!r}"


def main() -> int:
    """Replay all, and say what differs."""
    asked = wrong = 0
    for name, recorded in interactions().items():
        for number, each in enumerate(recorded):
            if asking(each) is None:
                print(f"{name}, {number}: not of the shared surface")
                continue
            for mode in MODES:
                os.environ[CAPTURE] = mode
                for kind in KINDS:
                    asked += 1
                    expected = deliberate(told(stock, kind, each))
                    found = told(ours, kind, each, taken_over=True)
                    if expected != found:
                        wrong += 1
                        print(f"{name}, {number}, {mode}, {kind}:", *unlike(expected, found), sep="\n  ")
    print(f"{asked} requests replayed with each, {wrong} told otherwise")
    return 1 if wrong or not asked else 0


if __name__ == "__main__":
    sys.exit(main())
