"""The example of docs/celery.md prints a line for each span."""

import pytest


def test_the_example_prints_its_spans(output_of):
    """One trace, from what sends through what runs to what is sent again."""
    pytest.importorskip("celery", reason="Celery is not installed")
    output = output_of("celery_tasks", PYTHONWARNINGS="ignore")

    assert output.splitlines() == [
        "order",
        "  apply_async/shop.charge",
        "    run/shop.charge  SUCCESS",
        "  apply_async/shop.ship",
        "    run/shop.ship  RETRY",
        "      apply_async/shop.ship",
        "        run/shop.ship  SUCCESS",
    ]
