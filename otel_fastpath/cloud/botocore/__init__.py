"""`opentelemetry-instrumentation-botocore`: calls of AWS by botocore and by aiobotocore."""
