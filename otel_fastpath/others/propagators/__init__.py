"""The propagators of B3, Jaeger and AWS X-Ray: `opentelemetry-propagator-b3`, `-jaeger` and `-aws-xray`."""
