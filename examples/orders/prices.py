"""The server that the order service asks for prices.

python -m examples.orders.prices --port 8090
"""

import argparse

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

PRICES = {"lamp": "24.90", "chair": "79.00", "table": "149.00", "shelf": "65.50"}


async def read_price(request: Request) -> Response:
    """GET /prices/{item}."""
    item = request.path_params["item"]
    return JSONResponse({"price": PRICES[item]}) if item in PRICES else JSONResponse({"detail": "no such item"}, 404)


app = Starlette(routes=[Route("/prices/{item}", read_price)])


def main() -> None:
    """Serve on loopback until stopped."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--port", type=int, default=8090)
    port = parser.parse_args().port
    # Otherwise, it closes an idle connection after five seconds, which may be when the order service uses it again.
    uvicorn.run(app, host="127.0.0.1", port=port, access_log=False, log_level="warning", timeout_keep_alive=600)


if __name__ == "__main__":
    main()
