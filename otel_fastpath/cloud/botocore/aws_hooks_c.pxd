# C types for the compiled twin of aws_hooks.py.
from otel_fastpath.cloud.botocore.aws_calls_c cimport AwsCall
