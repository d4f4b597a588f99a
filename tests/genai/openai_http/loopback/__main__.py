"""Serves until stopped; prints its port on the first line."""

from __future__ import annotations

import argparse
import email
import json
import socket
from typing import TYPE_CHECKING, Any

import uvicorn
from starlette.applications import Starlette
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from . import orders
from .answers import answer
from .streams import STREAMED, sent

if TYPE_CHECKING:
    from starlette.requests import Request

METHODS = ["GET", "POST", "DELETE", "PUT", "PATCH"]
BINARY = ("audio/speech", "/content")
# What was asked, for tests of what reaches the provider.
requests: list[dict[str, Any]] = []


async def body_of(request: Request) -> dict[str, Any]:
    """The body, read as JSON or as a form; of files their names."""
    if request.headers.get("content-type", "").startswith("multipart/form-data"):
        head = f"Content-Type: {request.headers['content-type']}\r\n\r\n".encode()
        parts = email.message_from_bytes(head + await request.body()).get_payload()
        fields = [(part.get_param("name", header="content-disposition"), part) for part in parts]
        body = {str(name): part.get_filename() or part.get_payload() for name, part in fields}
        return {**body, "stream": body.get("stream") == "true"}
    text = await request.body()
    return dict(json.loads(text)) if text else {}


async def serve(request: Request) -> Response:
    """Answer anything below /v1."""
    path = request.path_params["path"].split("/deployments/", 1)[-1]
    wanted = orders.read(request.headers)
    body = await body_of(request)
    attempt = int(request.headers.get("x-stainless-retry-count", "0"))
    headers = {"x-request-id": "req_loopback", "openai-processing-ms": "1"}
    if wanted.status and (wanted.times < 0 or attempt < wanted.times):
        error = {"message": "Refused on purpose.", "type": "loopback", "param": None, "code": f"code_{wanted.status}"}
        return JSONResponse({"error": error}, wanted.status, {**headers, "retry-after-ms": "1"})
    streams = body.get("stream") or request.query_params.get("stream") == "true"
    kind = "responses" if path.startswith("responses/resp_") else path
    if streams and kind in STREAMED:
        return StreamingResponse(sent(request, kind, body, wanted), media_type="text/event-stream", headers=headers)
    if path.endswith(BINARY):
        return Response(b"binary" * 100, media_type="application/octet-stream", headers=headers)
    return JSONResponse(answer(path, body, wanted, is_post=request.method == "POST"), headers=headers)


async def remember(request: Request) -> Response:
    """Answer and keep what was asked."""
    if request.url.path == "/asked":
        asked, requests[:] = list(requests), []
        return JSONResponse(asked)
    if "x-remember" in request.headers:
        requests.append({"path": request.url.path, "headers": dict(request.headers), "body": await body_of(request)})
    return await serve(request)


app = Starlette(
    routes=[
        Route("/asked", remember, methods=["GET"]),
        Route("/v1/{path:path}", remember, methods=METHODS),
        Route("/openai/{path:path}", remember, methods=METHODS),
    ]
)


def main() -> None:
    """Serve on loopback."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--port", type=int, default=0)
    with socket.socket() as listening:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind(("127.0.0.1", parser.parse_args().port))
        listening.listen(512)
        print(listening.getsockname()[1], flush=True)  # noqa: T201  # whoever started it reads it
        config = uvicorn.Config(app, access_log=False, log_level="critical", timeout_graceful_shutdown=1)
        uvicorn.Server(config).run([listening])


if __name__ == "__main__":
    main()
