"""`opentelemetry-instrumentation-aws-lambda`: the handler of a function of AWS Lambda."""
