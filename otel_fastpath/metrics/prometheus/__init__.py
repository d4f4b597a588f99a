"""The Prometheus exporter: `opentelemetry.exporter.prometheus`, and the pages that `prometheus_client` writes."""
