"""The example of docs/aws.md prints a line for each span."""

import pytest


def test_the_example_prints_its_spans(output_of):
    """One trace, of calls that succeed and one that fails, sync and async."""
    for name in ("moto", "aiobotocore"):
        pytest.importorskip(name, reason=f"{name} is not installed")
    output = output_of("aws_calls", PYTHONWARNINGS="ignore")

    assert output.splitlines() == [
        "order",
        "  DynamoDB.CreateTable  200",
        "  DynamoDB.PutItem  200",
        "  S3.CreateBucket  200",
        "  S3.GetObject  404",
        "  SQS.CreateQueue  200",
        "  SQS.SendMessage  200",
        "  DynamoDB.GetItem  200",
    ]
