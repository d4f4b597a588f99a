"""A Lambda function, and the process that runs it: set up as the layer of opentelemetry-lambda does.

python shop_function.py stock|c|py FILE
"""

from __future__ import annotations

import sys


def handler(event, context):
    """Answer an event; say what is there."""
    from opentelemetry import trace  # where a function has it

    trace.get_current_span().set_attribute("function", context.function_name)
    if event.get("fails"):
        raise LookupError("no such order")
    return {"statusCode": 200, "body": "{}"}


def main(core, file):
    """Instrument, then run the handler as Lambda's runtime does."""
    from awslambdaric.__main__ import main as run  # not in the module that has the handler
    from opentelemetry import metrics, trace
    from opentelemetry.instrumentation.aws_lambda import AwsLambdaInstrumentor
    from opentelemetry.sdk.metrics import MeterProvider
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import BatchSpanProcessor, ConsoleSpanExporter

    with open(file, "a", encoding="utf-8") as output:  # noqa: PTH123
        exporter = ConsoleSpanExporter(out=output, formatter=lambda span: span.to_json(indent=None) + "\n")
        provider = TracerProvider()
        provider.add_span_processor(BatchSpanProcessor(exporter, schedule_delay_millis=3_600_000))
        trace.set_tracer_provider(provider)
        metrics.set_meter_provider(MeterProvider())
        # It imports the module of the handler, which instruments meanwhile.
        AwsLambdaInstrumentor().instrument()
        if core != "stock":
            from otel_fastpath import FastpathInstrumentor

            off = {
                row.name: row.reason for row in FastpathInstrumentor().status() if row.name.startswith("aws_lambda.")
            }
            assert list(off.values()) == ["", "", ""]
        run([sys.argv[0], "shop_function.handler"])


if __name__ == "__main__":
    sys.path.insert(0, __file__.rpartition("/")[0])
    main(*sys.argv[1:])
elif sys.argv[1:2] in (["c"], ["py"]):
    # As docs/lambda.md says.
    from otel_fastpath import FastpathInstrumentor

    FastpathInstrumentor().instrument(core=sys.argv[1])
