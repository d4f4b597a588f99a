"""The example of docs/grpc.md prints a line for each span."""

import pytest


def test_the_example_prints_its_spans(output_of):
    """One trace, from a client through a server, of a call that succeeds, one that fails, and a stream."""
    pytest.importorskip("grpc", reason="grpcio is not installed")
    output = output_of("grpc_orders", PYTHONWARNINGS="ignore")

    assert output.splitlines() == [
        "order  INTERNAL",
        "  /shop.Orders/Charge  CLIENT",
        "    /shop.Orders/Charge  SERVER",
        "  /shop.Orders/Charge  CLIENT  ERROR",
        "    /shop.Orders/Charge  SERVER  ERROR",
        "  /shop.Orders/Track  CLIENT",
        "    /shop.Orders/Track  SERVER",
    ]
